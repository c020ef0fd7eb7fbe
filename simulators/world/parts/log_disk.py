"""The table's disk: a log in a SQLite of its own, in memory, behind the product's own `LogFiles`.

The schema, the triggers, every statement and all that becomes of a refusal are the product's. What
is faked is the disk alone: its connection outlives the process that used it, as a file does, and a
commit may find the disk full, or its fsync fail, and then nobody knows what was stored.
"""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from events.errors import LogRefused
from events.log.connections import LogFiles
from events.log.lock import WriterLock
from events.log.opening import Tail
from events.log.schema import APPLICATION_ID, SCHEMA, SCHEMA_VERSION
from events.log.snapshot_anchor import beginning_of, newest_books
from events.log.store import EventLog, Pending, Stored
from events.proof.chain import next_hash
from events.types.envelope import decode_data, decode_envelope
from simulators.world.parts.trouble import Trouble
from table_core.service.snapshot_anchor import snapshot_of

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
"""The fsync fails as well, and the commit is there all the same."""

_EVENTS: Final = "SELECT * FROM event WHERE position > ? ORDER BY position"
_COMMIT: Final = "COMMIT"


class _Connection(sqlite3.Connection):
    """SQLite on a disk that may refuse a commit."""

    trouble: Trouble | None = None

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql == _COMMIT and self.trouble is not None:
            self._commit_or_not(self.trouble)
        return super().execute(sql, *values)

    def _commit_or_not(self, trouble: Trouble) -> None:
        if trouble.strikes(DISK_FULL):
            raise _failure("database or disk is full", sqlite3.SQLITE_FULL)
        if trouble.strikes(SYNC_FAILED):
            raise _failure("disk I/O error", sqlite3.SQLITE_IOERR)
        if trouble.strikes(SYNC_FAILED_STORED):
            super().execute(_COMMIT)
            raise _failure("disk I/O error", sqlite3.SQLITE_IOERR)


def _failure(text: str, code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


class _NoLock(WriterLock):
    """One process of the world has the disk at a time: the world sees to that."""

    def __init__(self) -> None:
        """Nothing is held."""

    def sign(self) -> None:
        """There is nobody to read it."""

    def release(self, *, undo: bool = False) -> None:
        """There is nothing to let go."""


class _Files(LogFiles):
    """The product's, over a connection that stays when they are closed."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        super().__init__(path, _NoLock(), db)

    def close(self, why: str = "closed") -> None:
        """Nothing goes through them any more; the disk stays."""
        if self._closed is None:
            self._closed = why


class WorldLog(EventLog):
    """The product's log; it says what it has stored."""

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
    """Holds one table's log, whoever lives or dies.

    Args:
        path: where the log would be; beside it real snapshots are kept.
        origin: `<site>/<table>`.
        trouble: what the disk does next.
    """

    def __init__(self, path: Path, origin: str, trouble: Trouble) -> None:
        self.path = path
        self._origin = origin
        self._snapshots: list[bytes] = []  # that lay beside the log at a start
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
        """Open it as a process that starts does; what a killed one was at is undone.

        Args:
            told: what the process stores from now on.

        Raises:
            LogRefused: the log is not what was stored.
        """
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._remember_snapshot()
        log = WorldLog(self.path, self._origin, self._tail(), _Files(self.path, self._db))
        log.told = told
        return log

    def spoil_snapshot(self, how: str, rng: Random) -> None:
        """The snapshot beside the log is lost, torn, or one from before."""
        self._remember_snapshot()
        path = snapshot_of(self.path)
        if how == SNAPSHOT_LOST or not self._snapshots:
            path.unlink(missing_ok=True)
        elif how == SNAPSHOT_TORN:
            newest = self._snapshots[-1]
            path.write_bytes(newest[: rng.randrange(len(newest))])
        else:
            path.write_bytes(rng.choice(self._snapshots))

    def _remember_snapshot(self) -> None:
        path = snapshot_of(self.path)
        found = path.read_bytes() if path.exists() else b""
        if found and found not in self._snapshots:
            self._snapshots.append(found)

    def stored(self, after: int) -> list[Stored]:
        """What lies on the disk behind a position, whatever any process thinks of it."""
        return [Stored._make(row) for row in self._db.execute(_EVENTS, (after,))]

    def close(self) -> None:
        """The world is over."""
        self._db.close()

    def _tail(self) -> Tail:
        start = newest_books(self._db) or beginning_of(self._db, self._origin)
        position, head, tree = start
        for stored in self.stored(position):
            position += 1
            head = next_hash(head, stored.stored)
            if (stored.position, stored.hash) != (position, head):
                raise LogRefused(f"position {position}: missing, or the chain breaks", position)
            decode_data(decode_envelope(stored.stored))
            tree.add(stored.stored)
        return Tail(position, head, tree, SCHEMA_VERSION, start.position + 1)
