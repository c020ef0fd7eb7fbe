"""Whatever can stand on the bus stands in the documents too."""

import typing

import pytest

from events.commands.registry import COMMANDS
from events.types.registry import TABLE_EVENTS
from events.types.shoe_reports import AnyReport
from tests.house.sources import texts
from tests.tools.reference import made_again

KINDS = {kind.__struct_config__.tag for kind in typing.get_args(AnyReport)}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("docs/reference/topics.md", {name for name, _ in TABLE_EVENTS}),
        ("docs/reference/topics.md", set(COMMANDS)),
        ("docs/shoe/profiles.md", KINDS),
    ],
    ids=["events", "commands", "reports"],
)
def test_every_word_of_the_bus_is_documented(document: str, words: set[str]) -> None:
    text = texts()[document]
    assert sorted(word for word in words if f"`{word}`" not in text) == []


@pytest.mark.parametrize("document", ["docs/reference/topics.md", "docs/reference/access.md"])
def test_a_table_that_is_made_is_what_would_be_made_now(document: str) -> None:
    kept = texts()[document]
    assert "<!-- made: end -->" in kept
    assert kept == made_again(kept), "the commands have changed: make reference"
