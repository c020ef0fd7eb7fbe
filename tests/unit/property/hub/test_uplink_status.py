"""What an uplink says of itself, read back; and what is no such word."""

import msgspec
import pytest

from events.errors import InputError
from property.health.verdict import LATE_S
from property.hub.uplink_status import (
    QUIET_S,
    REPEATED_S,
    UplinkStatus,
    UplinkStatusFilter,
    parse_uplink_status,
    stopped_status,
)

B7, B8 = "harbour/b7", "harbour/b8"
RUNNING, ENDED = UplinkStatus(state="running"), UplinkStatus(state="ended")
STOPPED = UplinkStatus(state="stopped", position=20, code="fork", reason="position 20 is another")


@pytest.mark.parametrize(
    "word",
    [
        STOPPED,
        UplinkStatus(state="running", position=2**53, certificate_ends_s=2**40),
        UplinkStatus(state="ended"),
    ],
)
def test_a_word_is_read_as_it_was_said(word: UplinkStatus) -> None:
    assert parse_uplink_status(msgspec.json.encode(word)) == word


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]" * 1000,
        b"[" * 100_000,
        b'{"state":"well"}',
        b'{"state":"running","more":1}',
        b'{"state":"running","position":-1}',
        b'{"state":"running","certificate_ends_s":-1}',
        b'{"state":"running","position":9223372036854775808}',
        b'{"state":"stopped","reason":"a\\u0000b"}',
        b'{"state":"stopped","reason":"a\\nharbour/b9: all is well"}',
        b'{"state":"stopped","reason":"\\u001b[2J"}',
        b'{"state":"stopped","code":"%s"}' % (b"x" * 1001),
    ],
)
def test_what_is_no_word_is_refused_in_a_line(data: bytes) -> None:
    with pytest.raises(InputError) as refused:
        parse_uplink_status(data)
    assert "\n" not in str(refused.value)


def test_a_lost_word_does_not_make_an_uplink_silent() -> None:
    assert LATE_S >= 3 * REPEATED_S


def test_whatever_the_reason_is_made_of_it_can_be_read() -> None:
    word = stopped_status("fork", 20, "two\nlines \x1b[2J \ud800 " + "x" * 5_000)
    assert parse_uplink_status(msgspec.json.encode(word)) == word
    assert word.reason.startswith("two lines ?[2J ? x")


ENDED_BY = UplinkStatus(state="ended", by="ann")
TURNS = [
    (at + later, B7, word, word is STOPPED)
    for at in range(0, 1_000, 20)
    for word, later in ((STOPPED, 0), (RUNNING, 10))
]
# When one begins to hear; then each word, at which second, and whether it is recorded.
HEARD: dict[str, tuple[float, list[tuple[float, str, UplinkStatus, bool]]]] = {
    "a stop is recorded each time and its end once it is sure": (
        1_000,
        [
            (1_001, B7, STOPPED, True),
            (1_021, B7, STOPPED, True),
            (1_021 + QUIET_S, B7, RUNNING, False),
            (1_022 + QUIET_S, B7, RUNNING, True),
            (1_042 + QUIET_S, B7, RUNNING, False),  # it is known
        ],
    ),
    "two uplinks of a table do not set it right by turns": (
        0,
        [*TURNS, (2_000, B7, ENDED, False), (2_000, B7, ENDED_BY, True)],
    ),
    "who has just begun to hear takes nobody's word for an end": (
        500,
        [
            (501, B7, RUNNING, False),
            (501, B8, ENDED, False),
            (501 + QUIET_S, B7, RUNNING, True),
            (1_000 + QUIET_S, B7, RUNNING, True),  # another worker may have died since
        ],
    ),
}


@pytest.mark.parametrize(("begun", "words"), HEARD.values(), ids=HEARD)
def test_which_words_are_recorded(
    begun: float, words: list[tuple[float, str, UplinkStatus, bool]]
) -> None:
    heard = UplinkStatusFilter(begun)
    for at, table, word, counts in words:
        assert heard.counts(table, word, at) is counts, (at, word)
