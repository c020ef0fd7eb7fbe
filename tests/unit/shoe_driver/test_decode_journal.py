"""From a journal's records to events: the link's happenings, times, and numbers that stay."""

import pytest

from events.errors import LogRefused
from events.types import ShoeEvent
from shoe_driver.decode import Decoder
from shoe_driver.journal.records import Record, RecordKind
from tests.support.shoe.shoe_bytes import NOISE, PROFILE, frame, frames, said


class Line:
    """Records of a journal, one after the other, and what they were decoded to."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.decoder = Decoder(PROFILE, "j1")
        self.events: list[ShoeEvent] = []

    @property
    def said(self) -> list[str]:
        return said(self.events)

    def add(self, kind: RecordKind, payload: str = "", at_ms: int = 0) -> list[str]:
        return self._add(Record(kind, at_ms * 1_000, at_ms * 1_000_000, payload.encode()))

    def arrive(self, data: bytes, at_ms: int) -> list[str]:
        return self._add(Record(RecordKind.DATA, at_ms * 1_000, at_ms * 1_000_000, data))

    def _add(self, record: Record) -> list[str]:
        self.records.append(record)
        events = self.decoder.feed(record)
        self.events += events
        return said(events)


def test_what_happens_on_the_link_is_numbered_with_the_rest() -> None:
    line = Line()
    assert line.add(RecordKind.OPEN, "pty:/x") == ["link_open pty:/x"]
    assert line.arrive(NOISE, 10) == []
    assert line.arrive(frame("1", b"D\x81\xb8"), 20) == [
        "frame_rejected noise FFFFFFFFC5FC 6",
        "link_up",
        "card_drawn player 1 8S",
    ]
    assert line.add(RecordKind.SILENCE, "60001", 70_000) == ["link_stalled 60001"]
    assert line.add(RecordKind.SILENCE, "60002", 70_001) == []
    assert line.arrive(frame("2", b"D\x91\xb8"), 70_010) == ["link_up", "card_drawn banker 1 8S"]
    assert line.arrive(b"\x05\x33", 70_020) == []
    assert line.add(RecordKind.CLOSE, "unplugged", 70_030) == [
        "frame_rejected broken_frame 0533 2",
        "link_down unplugged",
    ]
    assert line.add(RecordKind.CLOSE, "again", 70_040) == []
    assert [event.seq for event in line.events] == list(range(1, 10))
    assert [event.offset for event in line.events] == [0, 0, 6, 6, 14, 14, 14, 22, 24]
    assert line.events[-1].utc == "1970-01-01T00:01:10.030000000Z"


def test_a_driver_that_was_restarted_says_that_the_link_was_down() -> None:
    line = Line()
    line.add(RecordKind.OPEN, "pty:/x")
    line.arrive(frame("1", b"D\x81\xb8") + b"\x05\x32", 20)
    assert line.add(RecordKind.START) == [
        "frame_rejected broken_frame 0532 2",
        "link_down driver restarted",
    ]
    assert line.add(RecordKind.START) == []
    line.add(RecordKind.OPEN, "pty:/x")
    # The machine's clock may have begun anew: nothing counts as a copy of what was before.
    assert line.arrive(frame("1", b"D\x81\xb8"), 1) == [
        "link_up",
        "report_lost 2 1",
        "card_drawn player 1 8S",
    ]


def test_a_late_copy_is_a_copy_and_behind_a_reopened_port_it_is_none() -> None:
    line = Line()
    copy = frame("1", b"D\x81\xb8")
    line.add(RecordKind.OPEN, "pty:/x")
    assert line.arrive(copy, 0) == ["link_up", "card_drawn player 1 8S"]
    assert line.arrive(copy, 5_000) == []
    line.add(RecordKind.CLOSE, "unplugged", 5_001)
    line.add(RecordKind.OPEN, "pty:/x", 5_100)
    assert line.arrive(copy, 5_200) == ["link_up", "report_lost 2 1", "card_drawn player 1 8S"]
    line.add(RecordKind.CLOSE, "unplugged", 5_201)
    line.add(RecordKind.OPEN, "pty:/x", 5_202)
    assert line.arrive(copy, 5_450) == ["link_up"]  # within the shoe's own window it still is one


def header(rules: str) -> str:
    return f'{{"journal": "j1", "profile": ""{rules}}}'


@pytest.mark.parametrize(
    ("rules", "wanted"),
    [("", ["report_lost 2 1", "card_drawn player 1 8S"]), (', "rules": 2', [])],
    ids=["of before", "of now"],
)
def test_a_journal_is_read_by_the_rules_that_it_was_begun_with(
    rules: str, wanted: list[str]
) -> None:
    line = Line()
    line.add(RecordKind.HEADER, header(rules))
    line.arrive(frame("1", b"D\x81\xb8"), 0)
    assert line.arrive(frame("1", b"D\x81\xb8"), 316) == wanted
    line.add(RecordKind.HEADER, header(f'{rules}, "segment": 2'))
    line.arrive(frame("7", b"D\x81\xb8"), 9_000)
    assert len(line.arrive(frame("7", b"D\x81\xb8"), 9_316)) == len(wanted)


def test_a_journal_of_rules_that_only_a_newer_build_knows_is_refused() -> None:
    with pytest.raises(LogRefused, match="rules 3, and this build knows 2"):
        Line().add(RecordKind.HEADER, header(', "rules": 3'))


def test_half_a_frame_that_waited_too_long_is_broken() -> None:
    line = Line()
    line.add(RecordKind.OPEN, "pty:/x")
    whole = frame("1", b"D\x81\xb8")
    line.arrive(whole[:3], 0)
    assert line.decoder.pending
    assert line.add(RecordKind.QUIET, at_ms=1_001) == ["frame_rejected broken_frame 053144 3"]
    assert line.arrive(whole[3:] + whole, 1_500) == [
        "frame_rejected noise 81B8033446 5",
        "link_up",
        "card_drawn player 1 8S",
    ]


def test_silence_is_odd_only_while_cards_are_out() -> None:
    line = Line()
    seen = []
    for number, report in enumerate(frames("S, D burn 2C:0, D P1 --, E 2, I P1 9H, G player, P")):
        line.arrive(report, number * 1_000)
        seen.append(line.decoder.in_deal)
    assert seen == [False, False, True, True, True, False, False]


def test_two_power_ups_whose_copies_were_lost_are_two_by_their_times() -> None:
    line = Line()
    boot = frame("0", b"S")
    line.add(RecordKind.OPEN, "pty:/x")
    assert line.arrive(boot * 2, 0) == ["link_up", "shoe_booted"]
    assert line.arrive(boot, 4_000) == ["shoe_booted"]
