"""A log as its uplink sees it: when there may be more, and what follows behind a head."""

from pathlib import Path

import pytest

from events.clock import SystemClock
from events.errors import InputError
from property.carried import Head
from property.uplink_log import LogSource
from tests.support.property_feeds import TableLogs, log_rows

ORIGIN = "harbour/b7"


class _Later:
    """A clock so far on that no commit is of this moment."""

    def utc_ns(self) -> int:
        return SystemClock().utc_ns() + 60 * 1_000_000_000

    def mono_us(self) -> int:
        return SystemClock().mono_us()


def test_every_commit_shows(tmp_path: Path) -> None:
    with TableLogs(tmp_path, [ORIGIN]) as logs:
        source = LogSource(logs.paths[ORIGIN], ORIGIN, _Later())
        head = Head.beginning(ORIGIN)
        assert source.changed()
        for _ in range(50):
            logs.grow(ORIGIN)
            assert source.changed()
            found = source.read(head, 0)
            head = found.events[-1].head
            assert not source.changed()
        # A checkpoint of SQLite's own empties the WAL, which begins anew.
        logs.reopen(ORIGIN, lambda _: None)
        logs.grow(ORIGIN)
        assert source.changed()
        assert [each.position for each in source.read(head, 0).events] == [51]


def test_a_commit_of_the_same_moment_is_looked_for_again(tmp_path: Path) -> None:
    with TableLogs(tmp_path, [ORIGIN]) as logs:
        logs.grow(ORIGIN)
        status = Path(f"{logs.paths[ORIGIN]}-wal").stat()

        class Now(_Later):
            def utc_ns(self) -> int:
                return status.st_mtime_ns + 1_000

        source = LogSource(logs.paths[ORIGIN], ORIGIN, Now())
        source.read(Head.beginning(ORIGIN), 0)
        assert source.changed()


def test_what_follows_is_read_batch_by_batch(tmp_path: Path) -> None:
    with TableLogs(tmp_path, [ORIGIN]) as logs:
        logs.grow(ORIGIN, 1203)
        source = LogSource(logs.paths[ORIGIN], ORIGIN, _Later())
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
        missing = LogSource(tmp_path / "missing.sqlite", ORIGIN, _Later())
        assert missing.changed()
        with pytest.raises(InputError, match="no such file"):
            missing.read(Head.beginning(ORIGIN), 0)
        other = LogSource(logs.paths[ORIGIN], "harbour/b8", _Later())
        with pytest.raises(InputError, match="the log of harbour/b7, and not of harbour/b8"):
            other.read(Head.beginning("harbour/b8"), 0)
        with pytest.raises(InputError, match="the log of harbour/b7"):
            other.at(1)
