"""Whatever can stand on the bus stands in the documents too."""

import typing

import pytest

from events.commands.registry import COMMANDS
from events.types.registry import TABLE_EVENTS
from events.types.shoe_reports import AnyReport
from table_core.decide.authority import MAY
from tests.house.sources import texts

KINDS = {kind.__struct_config__.tag for kind in typing.get_args(AnyReport)}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("docs/bus.md", {name for name, _ in TABLE_EVENTS}),
        ("docs/bus.md", set(COMMANDS)),
        ("docs/shoe-link.md", KINDS),
    ],
    ids=["events", "commands", "reports"],
)
def test_every_word_of_the_bus_is_documented(document: str, words: set[str]) -> None:
    text = texts()[document]
    assert sorted(word for word in words if f"`{word}`" not in text) == []


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_documents_give_each_command_the_roles_that_may_ask_for_it(command: str) -> None:
    rows = [row for row in texts()["docs/bus.md"].splitlines() if f"`{command}`" in row]
    told = {
        role.strip() for row in rows if row.count("|") == 4 for role in row.split("|")[3].split(",")
    }
    roles = MAY[COMMANDS[command]]
    assert told == roles or (told == {"every role"} and len(roles) > 5)
