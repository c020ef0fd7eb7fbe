"""The lists of CONTRIBUTING, `Adding things`: short, and of files that are there."""

import re

import pytest

from tests.house.sources import ROOT

MOST = 5
_PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
_ADDING = re.search(r"^## Adding things\n(.*?)^## ", _PAGE, re.MULTILINE | re.DOTALL)
assert _ADDING is not None
SECTIONS = dict(
    re.findall(r"^### ([^\n]+)\n(.*?)(?=^### |\Z)", _ADDING[1], re.MULTILINE | re.DOTALL)
)
# A path or a file's name; one that has a place to fill in, such as NAME, is not looked for.
_FILE = re.compile(r"`([a-z0-9_./-]+\.(?:py|toml|md|json|yml|css|js))`")


@pytest.mark.parametrize("what", SECTIONS)
def test_a_list_is_short_and_each_entry_names_its_file(what: str) -> None:
    entries = re.findall(r"^\d+\. (.+)$", SECTIONS[what], re.MULTILINE)
    assert 0 < len(entries) <= MOST
    assert [entry for entry in entries if not re.match(r"`[\w./-]+`", entry)] == []


@pytest.mark.parametrize("what", SECTIONS)
def test_the_files_and_tests_that_it_names_are_there(what: str) -> None:
    named = [name for name in _FILE.findall(SECTIONS[what]) if "/" in name]
    places = (ROOT, ROOT / "tests", ROOT / "tests" / "unit")
    assert named
    assert [name for name in named if not any((at / name).is_file() for at in places)] == []
