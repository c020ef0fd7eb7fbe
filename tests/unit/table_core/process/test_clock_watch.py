"""A clock that goes back is recorded; what passes, drifts or jumps forward is not."""

from pathlib import Path

import pytest

from events.log.store import EventLog
from events.mqtt.process import Instant
from events.mqtt.topics import Topics
from events.types import IrregularityRecorded
from table_core.process.clock_watch import ClockWatch
from table_core.rulebooks.shipped import load_rulebook
from table_core.service.table import Table

_S = 1_000_000_000


class Clock:
    """Two clocks that a test sets."""

    def __init__(self, utc_s: float = 1_000_000_000, mono_s: float = 50) -> None:
        self.utc_s, self.mono_s = utc_s, mono_s

    def utc_ns(self) -> int:
        return int(self.utc_s * _S)

    def mono_us(self) -> int:
        return int(self.mono_s * 1_000_000)

    @property
    def now(self) -> Instant:
        return Instant(self.utc_ns(), self.mono_us())

    def passes(self, seconds: float, *, utc: float | None = None) -> None:
        self.mono_s += seconds
        self.utc_s += seconds if utc is None else utc


@pytest.mark.parametrize(
    ("passes", "utc", "back"),
    [
        (5, 5, 0),  # as it should
        (5, 6.5, 0),  # forward
        (5, 3600, 0),  # far forward, or the machine slept
        (5, 4, 0),  # slowed by whoever keeps it
        (5, 3, 2),  # a step of two seconds
        (5, -3595, 3600),  # an hour: somebody set the zone's time
    ],
)
def test_a_step_back_is_seen_once(passes: float, utc: float, back: float) -> None:
    clock = Clock()
    watch = ClockWatch(clock.now, "")
    clock.passes(passes, utc=utc)
    assert watch.went_back_s(clock.now) == pytest.approx(back)
    clock.passes(5)
    assert watch.went_back_s(clock.now) == 0


def test_a_clock_behind_the_newest_event_is_seen_at_the_start() -> None:
    newest = "2001-09-09T02:46:40.000000000Z"  # 1,000,003,600 s
    now = Clock().now
    watch = ClockWatch(now, newest)
    assert watch.went_back_s(now) == pytest.approx(3600)
    assert watch.went_back_s(now) == 0


def test_the_table_records_it_and_goes_on(tmp_path: Path) -> None:
    clock = Clock()
    with EventLog.open(tmp_path / "table.sqlite", "harbour/b7") as log:
        table = Table(log, Topics("harbour", "b7"), load_rulebook("ez"), clock, roles={})
        before = log.position
        table.perform(table.writer.report_clock())
        assert log.position == before
        clock.passes(1, utc=-60)
        table.perform(table.writer.report_clock())
        table.perform(table.writer.report_clock())
        assert log.position == before + 1
        [stored] = log.read(before + 1)
        assert stored.type == IrregularityRecorded.TYPE
        assert b'"kind":"clock_stepped_back"' in stored.stored
        assert b"went back by 61.0 s" in stored.stored
    with EventLog.open(tmp_path / "table.sqlite", "harbour/b7") as log:
        later = Table(log, Topics("harbour", "b7"), load_rulebook("ez"), clock, roles={})
        later.perform(later.writer.report_clock())
        assert log.position == before + 1
