"""Every house rule can fail: each is shown something bad and must name it, and something good."""

import textwrap

import pytest

from tests.house import code, folders, rooms, whole
from tests.house.sources import Source

# By name, so that searching the tree for exceptions does not find these.
NOQA, IGNORE, PRAGMA = "noqa", "type: ignore", "pragma: no cover"


def _source(path: str, text: str) -> Source:
    return Source(path, textwrap.dedent(text))


@pytest.mark.parametrize(
    ("path", "statement", "complaint"),
    [
        ("events/a.py", "import table_core", "events must not import table_core"),
        ("events/a.py", "from baccarat.cli.main import main", "events must not import baccarat"),
        ("table_core/a.py", "from shoe_driver import link", "must not import shoe_driver"),
        ("shoe_driver/a.py", "import table_core.coup", "must not import table_core"),
        ("table_core/a/b.py", "from .. import displays\nimport displays", "import displays"),
        ("cage/a.py", "import property.x", "cage must not import property"),
        ("simulators/a.py", "import baccarat.cli", "simulators must not import baccarat"),
        ("cage/a.py", "import simulators", "cage must not import simulators"),
        ("baccarat/a.py", "import benchmarks", "baccarat must not import benchmarks"),
        ("baccarat/a.py", "from tests.x import y", "baccarat must not import tests"),
        ("events/a.py", "def f():\n    import table_core", "must not import table_core"),
        ("cage/a.py", "import importlib\nimportlib.import_module('x')", "an import by name"),
    ],
)
def test_an_import_against_the_arrows_is_named(path: str, statement: str, complaint: str) -> None:
    assert complaint in "\n".join(rooms.crossed_rooms(_source(path, statement)))


@pytest.mark.parametrize(
    ("path", "statement"),
    [
        ("table_core/a.py", "from events.cards import Card\nimport table_core.b"),
        ("table_core/service/a.py", "from . import b\nfrom ..c import d"),
        ("simulators/a.py", "import shoe_driver, table_core, events"),
        ("baccarat/a.py", "import simulators, displays, cage, property"),
        ("tests/a.py", "import simulators, baccarat, tests.b"),
    ],
)
def test_an_import_along_the_arrows_is_allowed(path: str, statement: str) -> None:
    assert list(rooms.crossed_rooms(_source(path, statement))) == []


@pytest.mark.parametrize(
    "statement",
    [
        "import asyncio",
        "from time import monotonic",
        "import random",
        "import os.path",
        "from pathlib import Path",
        "import structlog",
        "from concurrent.futures import Future",
        "async def f(): ...",
        "from datetime import datetime\ndatetime.now()",
        "open('x')",
        "print('x')",
        "def f(path):\n    return path.read_bytes()",
        "def f():\n    global x\n    x = 1",
    ],
)
@pytest.mark.parametrize(
    "path", ["events/cards.py", "table_core/state/coup.py", "shoe_driver/framing/registry.py"]
)
def test_an_impurity_is_named(path: str, statement: str) -> None:
    assert list(rooms.impurities(_source(path, statement)))


@pytest.mark.parametrize(
    "path",
    ["events/log/store.py", "events/clock.py", "table_core/service/run.py", "baccarat/run.py"],
)
def test_shells_may_touch_the_world(path: str) -> None:
    assert list(rooms.impurities(_source(path, "import asyncio, time\nprint(time.time())"))) == []


def test_a_pure_module_that_imports_a_shell_is_named() -> None:
    good = _source("events/a.py", "from events.clock import rfc3339\nfrom events.cards import Card")
    bad = _source("events/b.py", "from events.clock import SystemClock\nfrom events import log")
    others = (_source(f"events/{name}.py", "") for name in ("clock", "cards", "log"))
    tree = {source.module: source for source in (good, bad, *others)}
    assert list(rooms.leaning_on_shells(good, tree)) == []
    assert len(list(rooms.leaning_on_shells(bad, tree))) == 2


def test_an_undeclared_package_is_named() -> None:
    source = _source("events/a.py", "import json, yaml.nodes, events.cards, msgspec, serial")
    brings = {"yaml": ["PyYAML"], "msgspec": ["msgspec"], "serial": ["pyserial"]}
    found = list(rooms.undeclared(source, brings, {"msgspec", "pyserial"}))
    assert found == ["events/a.py:1: yaml is not among the declared dependencies"]


def test_a_long_function_is_named() -> None:
    body = "def f():\n" + "    x = 1\n" * 69
    assert list(code.too_long(Source("cage/a.py", body))) == []
    assert list(code.too_long(Source("cage/a.py", body + "    x = 1\n")))
    assert list(code.too_long(Source("cage/a.py", "async " + body + "    x = 1\n")))


def test_a_module_without_a_docstring_is_named() -> None:
    assert list(code.undocumented(_source("cage/a.py", "x = 1")))
    assert list(code.undocumented(_source("cage/a.py", '"""What it is."""'))) == []


@pytest.mark.parametrize(
    "text",
    [
        "def f(): ...",
        "__all__ = []\ndef f(): ...",
        "__all__ = ['f', 'g']\ndef f(): ...",
        "__all__ = ['f', 'f']\ndef f(): ...",
        "__all__ = ['f']\ndef f(): ...\nx: int = 1",
        "__all__ = ['f']\ndef f(): ...\nx, (y, z) = 1, (2, 3)",
        "__all__ = ['a']\nif True:\n    a = 1\nelse:\n    b = 2",
        "__all__ = ['a']\ntry:\n    a = 1\nexcept OSError:\n    b = 2",
        "__all__ = ['Card']\nfrom events.cards import Card",
        "__all__ = [name for name in 'ab']\na = b = 1",
        "__all__ = ('f',)\ndef f(): ...",
    ],
)
def test_an_inexact_all_is_named(text: str) -> None:
    assert list(code.inexact_all(Source("cage/a.py", text)))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("cage/a.py", "__all__ = ['A', 'f', 'x']\nclass A: ...\ndef f(): ...\nx = 1\n_y = 2"),
        ("cage/a.py", "__all__: list[str] = []\nimport os\nfrom x import y"),
        ("cage/a.py", "__all__ = ['f']\ndef f():\n    hidden = 1"),
        ("cage/__init__.py", "__all__ = ['A']\nfrom cage.a import A"),
        ("tests/a.py", "def f(): ..."),
    ],
)
def test_an_exact_all_is_allowed(path: str, text: str) -> None:
    assert list(code.inexact_all(Source(path, text))) == []


def test_printing_is_for_the_command_alone() -> None:
    for text in ("print(1)", "import sys\nsys.stdout.write('x')"):
        assert list(code.printing(Source("simulators/a.py", text)))
        assert list(code.printing(Source("baccarat/a.py", text))) == []


@pytest.mark.parametrize(
    "text",
    [
        f"x = 1  # {NOQA}",
        f"x = 1  # {NOQA}: S101",
        f"x = 1  # {IGNORE}[misc]",
        f"x = 1  # {IGNORE}  # because it is so",
        f"x = 1  # {PRAGMA}",
        f"# ruff: {NOQA}",
        "import pytest\n@pytest.mark.skip\ndef test_a(): ...",
        "import pytest\n@pytest.mark.skipif(1 > 0)\ndef test_a(): ...",
        "import pytest\npytest.skip()",
        "import pytest\n@pytest.mark.xfail(strict=True)\ndef test_a(): ...",
    ],
)
def test_an_exception_without_a_reason_is_named(text: str) -> None:
    assert list(code.unreasoned(Source("tests/a.py", text)))


@pytest.mark.parametrize(
    "text",
    [
        f"x = 1  # {NOQA}: S101 - the table is ours",
        f"x = 1  # {NOQA}: PLR0911, C901 - one row a case",
        f"x = 1  # {IGNORE}[misc]  # the stub is wrong about this",
        f"x = 1  # {PRAGMA} - needs a second user",
        "import pytest\n@pytest.mark.skipif(1 > 0, reason='needs root')\ndef test_a(): ...",
        "import pytest\npytest.skip('needs another uid')",
        f"x = '# {NOQA}'",
    ],
)
def test_an_exception_with_its_reason_is_allowed(text: str) -> None:
    assert list(code.unreasoned(Source("tests/a.py", text))) == []


def test_a_test_that_asserts_nothing_is_named() -> None:
    source = _source(
        "tests/test_a.py",
        """
        def test_bad(): run()
        def test_good(): assert run()
        def test_raises():
            with pytest.raises(ValueError): run()
        def test_by_a_helper(): outer()
        def outer(): inner()
        def inner(): assert True
        """,
    )
    found = list(code.asserting_nothing(source, code.asserting_functions([source])))
    assert [line.partition(": ")[2] for line in found] == ["test_bad asserts nothing"]


def test_dead_modules_are_named() -> None:
    alive = {
        "baccarat/__init__.py": "",
        "baccarat/__main__.py": "from baccarat.cli.main import main",
        "baccarat/cli/main.py": "TABLE = {'run': 'baccarat.cli.run:run'}",
        "baccarat/cli/run.py": "from table_core.state import coup",
        "table_core/__init__.py": "",
        "table_core/state/coup.py": "",
        "simulators/noise.py": "",
        "tests/test_a.py": "import simulators.noise\nimport table_core.c",
    }
    dead = {
        "table_core/a.py": "import table_core.b",
        "table_core/b.py": "import table_core.a",
        "table_core/c.py": "",
    }
    found = whole.dead_modules([Source(*item) for item in (alive | dead).items()])
    assert [line.partition(":")[0] for line in found] == sorted(dead)


def test_dead_data_is_named() -> None:
    tree = [Source("table_core/a.py", "files('table_core').joinpath('rulebooks')\n'schema.json'")]
    paths = ["table_core/rulebooks/ez.toml", "table_core/schema.json", "table_core/py.typed"]
    assert list(whole.dead_data([*paths, "README.md", "deploy/x.conf"], tree)) == []
    dead = ["table_core/roads/r.json", "table_core/other.json", "shoe_driver/rulebooks/a.toml"]
    assert len(list(whole.dead_data(dead, tree))) == len(dead)


def test_a_script_that_no_page_names_is_named() -> None:
    texts = {
        "displays/templates/a.html": '<script src="/static/js/a.js">',
        "displays/static/js/a.js": 'import { b } from "./b.js"',
    }
    tree = [Source("displays/http/pages.py", "render('a.html')")]
    paths = [f"displays/static/js/{name}.js" for name in "abc"]
    assert list(whole.dead_data(paths, tree, texts)) == [
        "displays/static/js/c.js:1: no module of displays reads it"
    ]


def test_lost_documents_and_broken_links_are_named() -> None:
    documents = {
        "README.md": "[a](docs/a.md) [adr](docs/develop/adr) [code](events/) [web](https://example.org/x)",
        "docs/a.md": "[up](../README.md#top) [gone](b.md) [here](#part)",
        "docs/develop/adr/README.md": "[one](0001-x.md 'title')",
        "docs/develop/adr/0001-x.md": "",
        "docs/lost.md": "",
    }
    found = list(whole.lost_documents(documents, [*documents, "events/a.py"]))
    assert found == [
        "docs/a.md:1: the link to b.md leads nowhere",
        "docs/lost.md:1: no document links to it",
    ]


def test_named_tests_that_do_not_exist_are_named() -> None:
    texts = {"tests/a.py": "def test_b() -> None:\n"}
    named = "`tests/a.py::test_b`, [a](../tests/a.py), `tests/c.py`, `tests/a.py::test_d`"
    assert list(whole.lost_tests({"R.md": named}, texts)) == [
        "R.md:1: there is no test tests/c.py",
        "R.md:1: there is no test tests/a.py::test_d",
    ]


def test_commands_that_do_not_exist_are_named() -> None:
    makefile = "demo: x ## a table\n\tdo\ntest: ## the suite\nhidden:\n"
    readme = "```\nmake demo ROUNDS=3\n.venv/bin/baccarat settle\n```\n`make fly`, prose: make up"
    guide = "`baccarat walk`, ``baccarat log verify x`` and `python -m baccarat settle`"
    found = whole.unknown_commands({"R.md": readme, "g.md": guide}, makefile, {"settle", "log"})
    assert [line.partition(": ")[2] for line in found] == [
        "there is no `make fly`",
        "there is no `baccarat walk`",
        "hidden has no `## explanation` for `make help`",
        "no document tells what `make test` is for",
    ]


@pytest.mark.parametrize(
    "halves",
    [
        "# TO|DO: later",
        "x = 1  # X|XX",
        "PATH = '/ro|ot/x'",
        "cd /ho|me/somebody",
        "see sha|red/design/bus.md",
        "--index-|url https://x",
        "https://pypi|.org/simple",
    ],
)
def test_words_that_do_not_belong_are_named(halves: str) -> None:
    text = halves.replace("|", "")
    assert list(whole.forbidden_words("a.md", f"fine\n{text}"))
    assert list(whole.forbidden_words("a.md", halves)) == []


def test_ordinary_words_are_allowed() -> None:
    text = "wake/worker, a/root/b, the roots, request/+/tmp, shared state, 0xXXXX, todos"
    assert list(whole.forbidden_words("a.md", text)) == []


def test_a_lint_rule_switched_off_without_a_reason_is_named() -> None:
    good = 'select = ["ALL"]\n    "EM",  # messages\nx = ["S311"]  # seeded\n    "hypothesis>=6",'
    assert list(whole.unreasoned_ignores(good)) == []
    assert list(whole.unreasoned_ignores('    "EM",')) == ["pyproject.toml:1: no reason beside EM"]


def _tree(files: dict[str, str]) -> list[Source]:
    return [Source(path, text) for path, text in files.items()]


def test_folders_that_import_one_another_are_named() -> None:
    files = {
        "cage/a/x.py": "from cage.b.y import Y",
        "cage/b/y.py": "from cage.c import Z",
        "cage/c.py": "from cage.a.w import W",
        "cage/a/w.py": "",
    }
    assert len(list(folders.cycles(_tree(files)))) == 3
    assert list(folders.cycles(_tree(files | {"cage/c.py": ""}))) == []


@pytest.mark.parametrize(
    ("path", "statement", "complaint"),
    [
        ("table_core/rules/a.py", "from table_core.state.coup import X", "rules imports state"),
        ("table_core/state/a.py", "from table_core.decide import b", "state imports decide"),
        ("table_core/fold/a.py", "import table_core.service.b", "fold imports service"),
        ("events/types/a.py", "from events.log.store import EventLog", "types imports log"),
        ("cage/new/a.py", "", "new has no place"),
    ],
)
def test_an_import_of_a_higher_layer_is_named(path: str, statement: str, complaint: str) -> None:
    assert complaint in "\n".join(folders.against_the_layers(_source(path, statement)))


def test_an_import_of_a_lower_layer_is_allowed() -> None:
    source = _source("table_core/decide/a.py", "from table_core.rules.draw import Hand")
    assert list(folders.against_the_layers(source)) == []


def test_a_crowded_folder_is_named() -> None:
    files = [f"cage/ledger/m{number}.py" for number in range(folders.FOLDER_FILES + 1)]
    assert list(folders.crowded(files)) == ["cage/ledger/: 26 files; a folder holds at most 25"]
    assert list(folders.crowded(files[1:])) == []


def test_a_folder_that_does_not_say_what_it_holds_is_named() -> None:
    assert list(folders.silent(_source("cage/ledger/__init__.py", '"""The ledger."""')))
    told = '"""The ledger: accounts and postings. Only the service may import it."""'
    assert list(folders.silent(_source("cage/ledger/__init__.py", told))) == []


def test_a_class_name_that_two_modules_define_is_named() -> None:
    files = {"cage/a.py": "class Entry: ...", "events/b.py": "class Entry: ..."}
    assert len(list(code.repeated_classes(_tree(files)))) == 1
    files["events/b.py"] = "class Envelope: ...\nclass _Entry: ..."
    assert list(code.repeated_classes(_tree(files))) == []


def test_a_line_with_a_text_in_it_is_shown() -> None:
    for part, wrong in (("log", 1), ("count:,", 0), ("show_text(log)", 0)):
        body = f'import click\nclick.echo(f"{{{part}}}")\n'
        assert len(list(code.unshown(Source("baccarat/cli/a.py", body)))) == wrong
