"""A fake disk for the table's log: SQLite in memory, used through the product's own `LogFiles`.

The schema, the triggers, every statement and the handling of every refusal are the product's. Only
the disk is fake: its connection outlives the process that used it, as a file does. A commit may
find the disk full, or its fsync may fail, and then nobody knows which bytes were stored.
"""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from events.errors import LogRefused
from events.log.connections import LogFiles
from events.log.lock import WriterLock
from events.log.newest_anchor import newest_anchor, start_of_file
from events.log.open_checks import Tail
from events.log.schema import APPLICATION_ID, SCHEMA, SCHEMA_VERSION
from events.log.store import EventLog
from events.proof.chain import next_hash
from events.types import Pending, Stored, decode_data, decode_envelope
from simulators.world.parts.fault_injector import ArmedFaults
from simulators.world.parts.lateness import LATE_LOG
from table_core.service.snapshots import snapshot_path

__all__ = [
    "DISK_FULL",
    "SNAPSHOT_LOST",
    "SNAPSHOT_OLD",
    "SNAPSHOT_TORN",
    "SYNC_FAILED",
    "SYNC_FAILED_STORED",
    "LogDisk",
    "WorldLog",
]

SNAPSHOT_LOST: Final = "snapshot_lost"
SNAPSHOT_OLD: Final = "snapshot_old"
SNAPSHOT_TORN: Final = "snapshot_torn"
DISK_FULL: Final = "log_disk_full"
SYNC_FAILED: Final = "log_sync_failed"
SYNC_FAILED_STORED: Final = "log_sync_failed_stored"
"""The fsync fails as well, and the commit is stored all the same."""

_EVENTS: Final = "SELECT * FROM event WHERE position > ? ORDER BY position"
_COMMIT: Final = "COMMIT"


class _Connection(sqlite3.Connection):
    """SQLite on a disk that may refuse a commit."""

    trouble: ArmedFaults | None = None

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql == _COMMIT and self.trouble is not None and self.trouble.armed:
            self._commit_or_not(self.trouble)
        return super().execute(sql, *values)

    def _commit_or_not(self, trouble: ArmedFaults) -> None:
        trouble.trigger(LATE_LOG)
        if trouble.trigger(DISK_FULL):
            raise _failure("database or disk is full", sqlite3.SQLITE_FULL)
        if trouble.trigger(SYNC_FAILED):
            raise _failure("disk I/O error", sqlite3.SQLITE_IOERR)
        if trouble.trigger(SYNC_FAILED_STORED):
            super().execute(_COMMIT)
            raise _failure("disk I/O error", sqlite3.SQLITE_IOERR)


def _failure(text: str, code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


class _NoLock(WriterLock):
    """A lock that does nothing: the world runs one process on the disk at a time."""

    def __init__(self) -> None:
        """Take no lock."""

    def sign(self) -> None:
        """Write no sign: nobody would read it."""

    def release(self, *, undo: bool = False) -> None:
        """Release nothing."""


class _Files(LogFiles):
    """The product's files, over a connection that stays open when they are closed."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        super().__init__(path, _NoLock(), db)

    def close(self, why: str = "closed") -> None:
        """Detach from the connection; the disk stays."""
        if self._closed is None:
            self._closed = why


class WorldLog(EventLog):
    """The product's log; it reports the events that it stores."""

    told: Callable[[tuple[Stored, ...]], None]

    def append(
        self,
        expected: int,
        entries: Sequence[Pending],
        request: tuple[str, bytes] | None = None,
    ) -> tuple[Stored, ...]:
        """See `EventLog.append`."""
        stored = super().append(expected, entries, request)
        self.told(stored)
        return stored


class LogDisk:
    """Stores one table's log across its processes' lives.

    Args:
        path: the log's path; real snapshots are kept next to it.
        origin: `<site>/<table>`.
        trouble: the disk's next faults.
    """

    def __init__(self, path: Path, origin: str, trouble: ArmedFaults) -> None:
        self.path = path
        self._origin = origin
        self._snapshots: list[bytes] = []  # the snapshots next to the log at a start
        self._db = sqlite3.connect(":memory:", isolation_level=None, factory=_Connection)
        self._db.execute("BEGIN")
        self._db.execute(f"PRAGMA application_id={APPLICATION_ID}")
        self._db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        for statement in SCHEMA.values():
            self._db.execute(statement)
        self._db.executemany("INSERT INTO meta VALUES (?, ?)", [("origin", origin), ("session", 0)])
        self._db.execute("COMMIT")
        self._db.trouble = trouble

    def open(self, told: Callable[[tuple[Stored, ...]], None]) -> WorldLog:
        """Open the log as a starting process does; undo a killed process's transaction.

        Args:
            told: called with the events that the process stores from now on.

        Raises:
            LogRefused: the log differs from what was stored.
        """
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._remember_snapshot()
        log = WorldLog(self.path, self._origin, self._tail(), _Files(self.path, self._db))
        log.told = told
        return log

    def spoil_snapshot(self, how: str, rng: Random) -> None:
        """Lose the snapshot next to the log, tear it, or replace it with an older one."""
        self._remember_snapshot()
        path = snapshot_path(self.path)
        if how == SNAPSHOT_LOST or not self._snapshots:
            path.unlink(missing_ok=True)
        elif how == SNAPSHOT_TORN:
            newest = self._snapshots[-1]
            path.write_bytes(newest[: rng.randrange(len(newest))])
        else:
            path.write_bytes(rng.choice(self._snapshots))

    def _remember_snapshot(self) -> None:
        path = snapshot_path(self.path)
        found = path.read_bytes() if path.exists() else b""
        if found and found not in self._snapshots:
            self._snapshots.append(found)

    def stored(self, after: int) -> list[Stored]:
        """Return the events on the disk after a position, whatever any process believes."""
        return list(map(Stored._make, self.rows(after)))

    def rows(self, after: int) -> list[tuple[object, ...]]:
        """Return `stored` as the disk has it."""
        return self._db.execute(_EVENTS, (after,)).fetchall()

    def save(self, path: Path) -> None:
        """Write the log as a file of its own."""
        self._db.execute("VACUUM INTO ?", (str(path),))

    def close(self) -> None:
        """Close the disk at the world's end."""
        self._db.close()

    def _tail(self) -> Tail:
        start = newest_anchor(self._db) or start_of_file(self._db, self._origin)
        position, head, tree = start
        for stored in self.stored(position):
            position += 1
            head = next_hash(head, stored.stored)
            if (stored.position, stored.hash) != (position, head):
                raise LogRefused(f"position {position}: missing, or the chain breaks", position)
            decode_data(decode_envelope(stored.stored))
            tree.add(stored.stored)
        anchor = start.position + 1 if start.position else 0
        return Tail(position, head, tree, SCHEMA_VERSION, start.position + 1, anchor)
