"""The buttons of dealer and pit: of commands that there are, for the people who may give them."""

import json
import re
from pathlib import Path

import pytest

from displays.consoles.routes import CONSOLE_PAGES
from events.commands.registry import COMMANDS, ROW_OF, Row
from tests.support.table.commands import DECIDED

JS = Path(__file__).parents[3] / "displays" / "static" / "js"
SCRIPTS = {path.name: path.read_text("utf-8") for path in sorted(JS.rglob("*.js"))}
ACTS = SCRIPTS["command_buttons.js"]
WORDS = json.loads((JS.parent / "words" / "en.json").read_text("utf-8"))
BUTTON = re.compile(r'\["(\w+)"(?:, \{ ([^}]*) \})?\]')
# The count room has no page; the screens' own service notes its record of logins.
WITHOUT_A_PAGE = {"count_drop", "note_logins"}


def buttons(page: str) -> list[tuple[str, str]]:
    """(command, how) of each button of a page."""
    (block,) = re.findall(rf"^  {page}: {{\n(.*?)^  }},$", ACTS, re.MULTILINE | re.DOTALL)
    return BUTTON.findall(block)


def asked_for() -> set[str]:
    """The commands of one press, and those that a form asks details for."""
    (simple,) = re.findall(r"^const SIMPLE = (.*?)^]\);$", ACTS, re.MULTILINE | re.DOTALL)
    (forms,) = re.findall(r"^const FORMS = {\n(.*?)^};$", ACTS, re.MULTILINE | re.DOTALL)
    (chips,) = re.findall(r"\[([^]]*)\]\.map\(\(command\)", forms)
    found = re.findall(r'^  \["(\w+)", ', simple, re.MULTILINE)
    found += re.findall(r"^  (\w+): ", forms, re.MULTILINE)
    return {*found, *re.findall(r'"(\w+)"', chips)}


@pytest.mark.parametrize("page", ["dealer", "pit"])
def test_a_button_knows_what_to_ask_and_is_shut_to_whoever_may_not_press_it(page: str) -> None:
    assert buttons(page)
    for command, how in buttons(page):
        form = re.search(r'form: "(\w+)"', how)
        assert (form[1] if form else command) in asked_for()
        lacks = CONSOLE_PAGES[f"/{page}"].roles - ROW_OF[COMMANDS[command]].roles
        assert ("roles: " in how) is bool(lacks), command
        label = re.search(r'label: "([\w.]+)"', how)
        assert (label[1] if label else f"command.{command}") in WORDS


@pytest.mark.parametrize("row", DECIDED, ids=lambda row: str(row.name))
def test_whatever_a_person_may_do_some_page_has_a_way_to(row: Row) -> None:
    used = any(f'"{row.name}"' in text or f"\n  {row.name}: " in text for text in SCRIPTS.values())
    assert used is (row.name not in WITHOUT_A_PAGE)
