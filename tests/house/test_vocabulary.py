"""Whatever can stand on the bus stands in the documents too."""

import re
import typing

import pytest

from events.commands.registry import COMMANDS
from events.types import AnyReport
from events.types.registry import TABLE_EVENTS
from tests.house.sources import texts
from tests.tools.reference import made_again

KINDS = {kind.__struct_config__.tag for kind in typing.get_args(AnyReport)}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("docs/reference/events.md", {name for name, _ in TABLE_EVENTS}),
        ("docs/reference/commands.md", set(COMMANDS)),
        ("docs/shoe/profiles.md", KINDS),
    ],
    ids=["events", "commands", "reports"],
)
def test_every_word_of_the_bus_is_documented(document: str, words: set[str]) -> None:
    text = texts()[document]
    assert sorted(word for word in words if f"`{word}`" not in text) == []


@pytest.mark.parametrize(
    "document",
    [
        path
        for path, text in texts().items()
        if "<!-- made: end -->" in text and path.endswith(".md")
    ],
)
def test_what_is_made_is_what_would_be_made_now(document: str) -> None:
    kept = texts()[document]
    assert kept == made_again(kept), "the types have changed: make reference"


def test_every_reference_page_that_can_be_made_is_made() -> None:
    pages = {path for path, text in texts().items() if "<!-- made: end -->" in text}
    named = {"access", "codes", "command-line", "commands", "configuration", "events", "topics"}
    assert pages >= {f"docs/reference/{name}.md" for name in named}


def test_every_refusal_has_a_meaning() -> None:
    assert re.findall(r"^\| `(\w+)` \| \|", texts()["docs/reference/codes.md"], re.MULTILINE) == []
