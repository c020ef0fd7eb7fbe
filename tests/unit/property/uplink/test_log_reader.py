"""A log as its uplink sees it: when there may be more, and what follows behind a head."""

import os
from pathlib import Path

import pytest

from events.errors import InputError
from property.hub.replicated_event import Head
from property.uplink.log_reader import UplinkLogReader
from tests.support.clock import FakeClock
from tests.support.machine.waiting import until_blocking
from tests.support.property.feeds import TableLogs, log_rows

ORIGIN = "harbour/b7"


def test_every_commit_shows(tmp_path: Path) -> None:
    with TableLogs(tmp_path, [ORIGIN]) as logs:
        source = UplinkLogReader(logs.paths[ORIGIN], ORIGIN, FakeClock(0, now_us=1_000_000))
        head = Head.beginning(ORIGIN)
        assert source.changed()
        for _ in range(50):
            # Two commits within a tick of the file system's clock cannot be told from one: those
            # are found at the next look.
            _after_the_tick(logs.paths[ORIGIN])
            logs.grow(ORIGIN)
            assert source.changed()
            found = source.read(head, 0)
            head = found.events[-1].head
            assert not source.changed()
        # A log that is closed and opened again has other files.
        logs.reopen(ORIGIN, lambda _: None)
        logs.grow(ORIGIN)
        assert source.changed()
        assert [each.position for each in source.read(head, 0).events] == [51]


def _after_the_tick(path: Path) -> None:
    wal = Path(f"{path}-wal")
    probe = path.with_name("probe")

    def later() -> bool:
        probe.write_bytes(b"x")
        return not wal.exists() or probe.stat().st_mtime_ns > wal.stat().st_mtime_ns

    until_blocking(later, "the file system's clock goes on")


def test_a_commit_that_becomes_visible_late_is_found_though_no_file_changes(tmp_path: Path) -> None:
    clock = FakeClock(0, now_us=1_000_000)
    with TableLogs(tmp_path, [ORIGIN]) as logs:
        logs.grow(ORIGIN)
        source = UplinkLogReader(logs.paths[ORIGIN], ORIGIN, clock)
        head = source.read(Head.beginning(ORIGIN), 0).events[-1].head
        wal = Path(f"{logs.paths[ORIGIN]}-wal")
        # As if the next commit's bytes had been there already, and its sync took its time.
        status = wal.stat()
        logs.grow(ORIGIN)
        os.utime(wal, ns=(status.st_atime_ns, status.st_mtime_ns))
        source._seen = source._stamp()
        assert not source.changed()
        clock.now_us += 200_000
        assert source.changed()
        assert [each.position for each in source.read(head, 0).events] == [2]


def test_behind_a_change_it_is_looked_again_and_then_no_more(tmp_path: Path) -> None:
    clock, began, looks = FakeClock(0, now_us=1_000_000), 0, []
    with TableLogs(tmp_path, [ORIGIN]) as logs:
        logs.grow(ORIGIN)
        source = UplinkLogReader(logs.paths[ORIGIN], ORIGIN, clock)
        head = source.read(Head.beginning(ORIGIN), 0).events[-1].head
        began = clock.now_us
        while clock.now_us < began + 60_000_000:
            if source.changed():
                looks.append(clock.now_us - began)
                assert source.read(head, 0).events == []
            clock.now_us += 50_000
    assert looks == [150_000, 750_000, 3_150_000, 12_750_000]


def test_a_log_without_a_writer_is_read_once(tmp_path: Path) -> None:
    clock = FakeClock(0, now_us=1_000_000)
    with TableLogs(tmp_path, [ORIGIN]) as logs:
        logs.grow(ORIGIN)
    source = UplinkLogReader(logs.paths[ORIGIN], ORIGIN, clock)
    assert len(source.read(Head.beginning(ORIGIN), 0).events) == 1
    clock.now_us += 60_000_000
    assert not source.changed()


def test_what_follows_is_read_batch_by_batch(tmp_path: Path) -> None:
    with TableLogs(tmp_path, [ORIGIN]) as logs:
        logs.grow(ORIGIN, 1203)
        source = UplinkLogReader(logs.paths[ORIGIN], ORIGIN, FakeClock(0, now_us=1_000_000))
        head, sizes, rows = Head.beginning(ORIGIN), [], []
        more = True
        while more:
            found = source.read(head, 0)
            sizes.append(len(found.events))
            rows += [(each.position, each.stored, each.hash) for each in found.events]
            head, more = found.events[-1].head, found.more
            assert source.changed() == more
        assert sizes == [500, 500, 203]
        assert rows == log_rows(logs.paths[ORIGIN])
        source.forget()
        assert source.changed()


def test_a_log_that_is_not_there_or_another_tables_is_refused(tmp_path: Path) -> None:
    with TableLogs(tmp_path, [ORIGIN]) as logs:
        missing = UplinkLogReader(
            tmp_path / "missing.sqlite", ORIGIN, FakeClock(0, now_us=1_000_000)
        )
        assert missing.changed()
        with pytest.raises(InputError, match="no such file"):
            missing.read(Head.beginning(ORIGIN), 0)
        other = UplinkLogReader(logs.paths[ORIGIN], "harbour/b8", FakeClock(0, now_us=1_000_000))
        with pytest.raises(InputError, match="the log of harbour/b7, and not of harbour/b8"):
            other.read(Head.beginning("harbour/b8"), 0)
        with pytest.raises(InputError, match="the log of harbour/b7"):
            other.at(1)
