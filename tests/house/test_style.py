"""The house style, checked over the tree as it stands. The rules are the modules beside this."""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import packages_distributions
from itertools import chain

import click
import pytest

from baccarat.cli.main import cli
from tests.house import code, folders, rooms, whole
from tests.house.sources import ROOT, Source, our_files, sources, texts

Rule = Callable[[Source], Iterator[str]]


def _over_all(rule: Rule) -> list[str]:
    return list(chain.from_iterable(rule(source) for source in sources()))


def _none(complaints: Iterable[str]) -> None:
    found = sorted(complaints)
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    "rule",
    [
        rooms.crossed_rooms,
        rooms.impurities,
        code.too_long,
        code.undocumented,
        code.inexact_all,
        code.printing,
        code.unreasoned,
        code.unshown,
        code.open_patterns,
    ],
    ids=lambda rule: str(rule.__name__),
)
def test_no_module_breaks_the_rule(rule: Rule) -> None:
    _none(_over_all(rule))


def test_pure_modules_lean_on_pure_modules_only() -> None:
    tree = {source.module: source for source in sources()}
    _none(_over_all(lambda source: rooms.leaning_on_shells(source, tree)))


def test_folders_depend_on_one_another_in_one_direction() -> None:
    _none(folders.cycles(sources()))
    _none(_over_all(folders.against_the_layers))


def test_no_folder_is_crowded_and_each_says_what_it_holds() -> None:
    _none(folders.crowded(our_files()))
    _none(_over_all(folders.silent))


def test_one_public_class_name_has_one_meaning() -> None:
    _none(code.repeated_classes(sources()))


def test_every_import_is_a_declared_dependency() -> None:
    project = tomllib.loads(texts()["pyproject.toml"])["project"]
    product = {_distribution(line) for line in project["dependencies"]}
    development = product | {_distribution(x) for x in project["optional-dependencies"]["dev"]}
    brings = packages_distributions()
    _none(
        chain.from_iterable(
            rooms.undeclared(source, brings, product if source.is_product else development)
            for source in sources()
        )
    )


def _distribution(requirement: str) -> str:
    """`psycopg` of `psycopg[binary]>=3.2`."""
    return re.split(r"[\[<>=~! ]", requirement, maxsplit=1)[0].lower()


def test_every_test_asserts_something() -> None:
    asserting = code.asserting_functions(s for s in sources() if s.room == "tests")
    _none(_over_all(lambda source: code.asserting_nothing(source, asserting)))


def test_no_module_is_dead() -> None:
    assert set(whole.ENTRY_POINTS) <= {source.module for source in sources()}
    _none(whole.dead_modules(sources()))


def test_no_data_file_is_dead() -> None:
    _none(whole.dead_data(our_files(), sources(), texts()))


def _documents() -> dict[str, str]:
    return {path: text for path, text in texts().items() if path.endswith(".md")}


def test_every_document_is_found_by_links_from_the_readme() -> None:
    _none(whole.lost_documents(_documents(), our_files()))


def test_every_test_that_a_document_names_exists() -> None:
    _none(whole.lost_tests(_documents(), texts()))


def test_documents_and_makefile_show_commands_that_exist() -> None:
    commands = cli.list_commands(click.Context(cli))
    _none(whole.unknown_commands(_documents(), texts()["Makefile"], commands))


def test_no_file_holds_words_that_do_not_belong() -> None:
    _none(chain.from_iterable(whole.forbidden_words(*item) for item in texts().items()))


def test_every_lint_rule_switched_off_has_its_reason() -> None:
    _none(whole.unreasoned_ignores(texts()["pyproject.toml"]))


def test_the_walk_sees_this_file_and_skips_what_git_ignores() -> None:
    assert "tests/house/test_style.py" in our_files()
    assert not [path for path in our_files() if "__pycache__" in path or path.startswith(".venv")]
    assert (ROOT / "pyproject.toml").is_file()
