"""Every state of the link times everything that can happen to it."""

from pathlib import Path

import pytest

from shoe_driver.decode import Decoder
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.link.states import ALLOWS, BREAKS, TRANSITIONS, LinkInput, LinkState, next_state
from shoe_driver.profiles.catalogue import load_profile
from tests.support.shoe.shoe_bytes import said

# From the page: down, open (held, nothing proven), up (a valid frame since), stalled (silent past
# its limit). A dash is refused and changes nothing.
TABLE = """
            opened   frame    silence   lost    restarted
down        open     -        -         -       down
open        -        up       stalled   down    down
up          -        up       stalled   down    down
stalled     -        up       -         down    down
"""
PAGE = Path(__file__).parents[4] / "docs/shoe/connect.md"


def rows() -> list[tuple[str, str, str]]:
    head, *lines = (line.split() for line in TABLE.strip().splitlines())
    return [
        (state, happening, then)
        for state, *cells in lines
        for happening, then in zip(head, cells, strict=True)
    ]


@pytest.mark.parametrize(("state", "happening", "then"), rows())
def test_transition(state: str, happening: str, then: str) -> None:
    reached = next_state(LinkState(state), LinkInput(happening))
    assert (reached.value if reached else "-") == then


def test_the_table_is_whole() -> None:
    assert len(rows()) == len(LinkState) * len(LinkInput)
    assert len(TRANSITIONS) == sum(then != "-" for _, _, then in rows())


def test_what_breaks_continuity_is_loss_restart_and_reopening() -> None:
    assert {(state.value, happening.value) for state, happening in BREAKS} == {
        ("down", "opened"),
        ("open", "lost"),
        ("open", "restarted"),
        ("up", "lost"),
        ("up", "restarted"),
        ("stalled", "lost"),
        ("stalled", "restarted"),
    }


def test_the_page_says_what_each_state_allows() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "|" in line]
    rows = {row[0]: row[-2:] for row in cells if row[0] in {state.value for state in LinkState}}
    assert rows == {
        state.value: ["yes" if allowed.betting else "no", "yes" if allowed.cards else "no"]
        for state, allowed in ALLOWS.items()
    }


@pytest.mark.parametrize(
    ("profile", "ought"), [("enq-bcc", False), ("text-line", False), ("ref-crc", True)]
)
def test_outside_a_deal_only_a_device_with_a_beat_ought_to_speak(profile: str, ought: bool) -> None:
    decoder = Decoder(load_profile(profile))
    assert decoder.device_should_send is ought
    decoder.feed(Record(RecordKind.OPEN, 0, 0, b"x"))
    silent = decoder.feed(Record(RecordKind.SILENCE, 1, 1, b"3001"))
    assert said(silent) == ["link_stalled 3001"]
    assert decoder.link is LinkState.STALLED
