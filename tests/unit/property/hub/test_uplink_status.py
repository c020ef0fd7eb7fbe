"""What an uplink says of itself, read back; and what is no such word."""

import msgspec
import pytest

from events.errors import InputError
from property.hub.uplink_status import (
    REPEATED_S,
    SILENT_S,
    UplinkStatus,
    UplinkStatusFilter,
    parse_uplink_status,
    stopped_status,
)

B7, B8 = "harbour/b7", "harbour/b8"
RUNNING, ENDED = UplinkStatus(state="running"), UplinkStatus(state="ended")
STOPPED = UplinkStatus(state="stopped", position=20, code="fork", reason="position 20 is another")


@pytest.mark.parametrize(
    "word", [STOPPED, UplinkStatus(state="running", position=2**53), UplinkStatus(state="ended")]
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


def test_a_lost_word_or_two_do_not_make_an_uplink_silent() -> None:
    assert SILENT_S > 3 * REPEATED_S


def test_whatever_the_reason_is_made_of_it_can_be_read() -> None:
    word = stopped_status("fork", 20, "two\nlines \x1b[2J \ud800 " + "x" * 5_000)
    assert parse_uplink_status(msgspec.json.encode(word)) == word
    assert word.reason.startswith("two lines ?[2J ? x")


def test_a_stop_is_recorded_each_time_and_its_end_once_it_is_sure() -> None:
    heard = UplinkStatusFilter(1_000.0)
    assert heard.counts(B7, STOPPED, 1_001.0)
    assert heard.counts(B7, STOPPED, 1_021.0)
    assert not heard.counts(B7, RUNNING, 1_021.0 + SILENT_S)
    assert heard.counts(B7, RUNNING, 1_022.0 + SILENT_S)
    assert not heard.counts(B7, RUNNING, 1_042.0 + SILENT_S)  # it is known


def test_two_uplinks_of_a_table_do_not_set_it_right_by_turns() -> None:
    heard = UplinkStatusFilter(0.0)
    for at in range(0, 1_000, 20):
        assert heard.counts(B7, STOPPED, float(at))
        assert not heard.counts(B7, RUNNING, at + 10.0)
    assert not heard.counts(B7, ENDED, 2_000.0)
    assert heard.counts(B7, UplinkStatus(state="ended", by="ann"), 2_000.0)


def test_who_has_just_begun_to_hear_takes_nobodys_word_for_an_end() -> None:
    heard = UplinkStatusFilter(500.0)
    assert not heard.counts(B7, RUNNING, 501.0)
    assert not heard.counts(B8, ENDED, 501.0)
    assert heard.counts(B7, RUNNING, 501.0 + SILENT_S)
    assert heard.counts(B7, RUNNING, 1_000.0 + SILENT_S)  # another worker may have died since
