"""A log's open files: the lock, the SQLite connection, transactions, and what a failed write means.

A write that the disk refuses is rolled back and raised as `LogUnwritable`. After a full or
read-only disk the file is unchanged, and the next write may succeed. After any other failure, above
all a failed fsync, nobody knows what the disk holds: the kernel may have dropped the page and
report the next fsync as good. So the files are closed; the next opening reads what is there.
"""

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final, Self

from events.errors import LogRefused, LogUnwritable, OurBug
from events.log.disk import sync
from events.log.lock import WriterLock

__all__ = ["LogFiles"]

_HARMLESS: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_READONLY})
_PRIMARY_CODE: Final = 0xFF  # the low byte of a SQLite code is its kind; the rest is detail

# Readers hold no lock against a WAL writer; the only wait is for a connection that is closing.
_BUSY_S: Final = 0.25
# A WAL that grew behind a slow reader shrinks to this when the reader has gone; SQLite itself would
# leave it as it is until the log is closed. It takes in the WAL at 4 MB.
_WAL_KEPT: Final = 8 * 1024 * 1024


class LogFiles:
    """The log's files, open for writing. Use `LogFiles.open`."""

    def __init__(self, path: Path, lock: WriterLock, db: sqlite3.Connection) -> None:
        self._path = path
        self._lock = lock
        self._db = db
        self._closed: str | None = None

    @classmethod
    def open(cls, path: Path, lock: WriterLock) -> Self:
        """Open the log at `path`, which the caller has checked, and keep its lock.

        Raises:
            OSError, sqlite3.Error: the disk refuses writes; the caller still owns the lock.
        """
        # SQLite opens an unwritable file as read-only and reports that at the first append only.
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "the file is read-only", str(path))
        with ExitStack() as stack:
            db = stack.enter_context(closing(_connect(path)))
            _force(db, path)
            lock.sign()
            stack.pop_all()
        return cls(path, lock, db)

    @property
    def closed(self) -> bool:
        """Whether the caller or a failure has closed the files."""
        return self._closed is not None

    @contextmanager
    def writing(self, what: str) -> Iterator[sqlite3.Connection]:
        """Run one transaction: committed and on the disk at the end of the block, or rolled back.

        Args:
            what: completes the message "cannot ...".

        Raises:
            LogUnwritable: the disk refused, or the files are closed.
            sqlite3.IntegrityError: a trigger refused.
        """
        self.require_open(what)
        db = self._db
        try:
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        except sqlite3.IntegrityError:
            self._undo(db)
            raise
        except sqlite3.ProgrammingError as error:
            self._undo(db)
            raise OurBug(f"{self._path}: cannot {what}: {error}") from error
        except sqlite3.Error as error:
            if error.sqlite_errorcode & _PRIMARY_CODE in _HARMLESS:
                self._undo(db)
            else:
                self._fence(error)
            raise LogUnwritable(f"{self._path}: cannot {what}: {error}") from error
        except BaseException:
            self._undo(db)
            raise

    def settle(self) -> bool:
        """Move the WAL's content into the main file; return False while a reader is in the way.

        Raises:
            LogUnwritable: the disk refused.
        """
        self.require_open("take in the WAL")
        db = self._db
        try:
            db.execute("PRAGMA busy_timeout=0")  # the table does not wait for a reader
            try:
                (busy, _, _) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                db.execute(f"PRAGMA busy_timeout={round(_BUSY_S * 1000)}")
        except sqlite3.Error as error:
            self._fence(error)
            raise LogUnwritable(f"{self._path}: cannot take in the WAL: {error}") from error
        return not busy

    def exchange(self, place: Callable[[], None]) -> None:
        """Close the file, let `place` exchange it, and open it again. Call `settle` first.

        Raises:
            LogUnwritable: the disk refused. If nobody can know which file is in place, or none can
                be opened, the files are closed.
        """
        self.require_open("exchange the file")
        before = self._path.stat().st_ino
        self._db.close()
        failed: OSError | None = None
        try:
            place()
        except OSError as error:
            failed = error
        try:
            self._db = _connect(self._path)
            kept = self._path.stat().st_ino == before
        except (sqlite3.Error, OSError) as error:
            self._fence(error)
            raise LogUnwritable(f"{self._path}: cannot open the new file: {error}") from error
        if failed is not None:
            if not kept:
                self._fence(failed)
            raise LogUnwritable(f"{self._path}: cannot exchange the file: {failed}") from failed

    def use_connection(self, act: Callable[[sqlite3.Connection], object]) -> None:
        """Let `act` read through the open connection.

        Raises:
            LogUnwritable: the files are closed; anything that `act` raises passes through.
        """
        self.require_open("read")
        act(self._db)

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a query.

        Raises:
            LogRefused: the file cannot be read any more.
            LogUnwritable: the files are closed.
        """
        self.require_open("read")
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise LogRefused(f"{self._path}: cannot read: {error}") from error

    def close(self, why: str = "closed") -> None:
        """Close the files and release the lock. Safe to call twice."""
        if self._closed is None:
            self._closed = why
            self._db.close()
            self._lock.release()

    def require_open(self, what: str) -> None:
        """Raise LogUnwritable, "cannot ...", if the files are closed."""
        if self._closed is not None:
            raise LogUnwritable(f"{self._path}: cannot {what}: {self._closed}")

    def _undo(self, db: sqlite3.Connection) -> None:
        try:
            if db.in_transaction:  # some failures roll back by themselves
                db.execute("ROLLBACK")
        except sqlite3.Error as error:
            self._fence(error)

    def _fence(self, error: Exception) -> None:
        self.close(f"closed after {error}; open it again")


def _connect(path: Path) -> sqlite3.Connection:
    uri = f"{path.as_uri()}?mode=rw"
    db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_BUSY_S)
    try:
        db.execute("PRAGMA trusted_schema=OFF")
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute(f"PRAGMA journal_size_limit={_WAL_KEPT}")
    except sqlite3.Error:
        db.close()
        raise
    return db


def _force(db: sqlite3.Connection, path: Path) -> None:
    """Force to the disk what an earlier writer committed and may never have forced.

    A writer killed between its write and its fsync leaves events that everybody reads, and a power
    cut would take them back. If a reader keeps part of them in the WAL, the WAL is forced.
    """
    (_, held, taken) = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if taken < held:
        sync(path.with_name(f"{path.name}-wal"))
