"""A clock that goes back is recorded; what passes, drifts or jumps forward is not."""

from pathlib import Path

import pytest

from events.log.store import EventLog
from events.mqtt.topics import Topics
from events.types import IrregularityRecorded
from table_core.process.clock_watch import ClockWatch
from table_core.rulebooks.shipped import load_rulebook
from table_core.service.table import Table
from tests.support.clock import FakeClock

_S = 1_000_000_000


def passes(clock: FakeClock, seconds: float, utc: float) -> None:
    """So many seconds by the monotonic clock, and so many by the other."""
    clock.passes(seconds)
    clock.epoch_ns += round((utc - seconds) * _S)


@pytest.mark.parametrize(
    ("by", "utc", "back"),
    [
        (5, 5, 0),  # as it should
        (5, 6.5, 0),  # forward
        (5, 3600, 0),  # far forward, or the machine slept
        (5, 4, 0),  # slowed by whoever keeps it
        (5, 3, 2),  # a step of two seconds
        (5, -3595, 3600),  # an hour: somebody set the zone's time
    ],
)
def test_a_step_back_is_seen_once(by: float, utc: float, back: float) -> None:
    clock = FakeClock()
    watch = ClockWatch(clock.now, "")
    passes(clock, by, utc)
    assert watch.went_back_s(clock.now) == pytest.approx(back)
    clock.passes(5)
    assert watch.went_back_s(clock.now) == 0


def test_a_clock_behind_the_newest_event_is_seen_at_the_start() -> None:
    newest = "2001-09-09T02:46:40.000000000Z"  # 1,000,003,600 s
    now = FakeClock(1_000_000_000 * _S).now
    watch = ClockWatch(now, newest)
    assert watch.went_back_s(now) == pytest.approx(3600)
    assert watch.went_back_s(now) == 0


def test_the_table_records_it_and_goes_on(tmp_path: Path) -> None:
    clock = FakeClock()
    with EventLog.open(tmp_path / "table.sqlite", "harbour/b7") as log:
        table = Table(log, Topics("harbour", "b7"), load_rulebook("ez"), clock, roles={})
        before = log.position
        table.perform(table.writer.report_clock())
        assert log.position == before
        passes(clock, 1, -60)
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
