"""The idempotency index: which requests the closed files hold, so that a repeated one is known.

A request that was accepted years ago must be recognised when it is sent again. Searching hundreds
of files for each new request would take too long, and carrying all requests from file to file would
never make a file small. The index maps a transaction's id to its position; the body to compare with
stays in the closed file. The index records the position and the chain hash at which it ends. If
the log does not continue there, the index is thrown away and built again. A verification compares
it with the closed files: a request that it forgets would be carried out again.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final, Self

from events.errors import LogRefused, LogUnwritable
from events.log.closed_file import open_file
from events.log.disk import PRIVATE_FILE, remove_database
from events.log.schema import odd_rows, rows_made_by, rows_of
from events.log.segments import Segment

__all__ = ["AT_ONCE", "RequestIndex", "forgery_in", "index_of", "positions_of", "surplus_in"]

AT_ONCE: Final = 256
"""The requests that are looked up together."""
_KNOWN: Final = "SELECT position FROM request WHERE transaction_id = ?"
_ALL: Final = "SELECT transaction_id, position FROM request"
_ANY_OF: Final = f"{_ALL} WHERE transaction_id IN ({', '.join('?' * AT_ONCE)})"
_NOT_BEHIND: Final = (
    "SELECT count(*) FROM request WHERE NOT (typeof(position) = 'integer' AND position > ?)"
)
_TABLES: Final = (
    "CREATE TABLE request (transaction_id TEXT PRIMARY KEY, position INTEGER) WITHOUT ROWID",
    "CREATE TABLE until (position INTEGER NOT NULL, hash BLOB NOT NULL)",
)


def index_of(folder: Path, origin: str) -> Path:
    """Return the path of the index, in the folder of the closed files."""
    return folder / f"{origin.replace('/', '.')}-requests.sqlite"


class RequestIndex:
    """An open index. Use `RequestIndex.open`."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self._path = path
        self._db = db

    @classmethod
    def open(cls, path: Path, files: Iterable[Segment], position: int, head: bytes) -> Self:
        """Open or build the index over all `files`, which end at `position` with the hash `head`.

        Raises:
            LogRefused: the index must be built, and a file cannot be read.
            LogUnwritable: the disk refused.
        """
        try:
            found = _opened(path, position, head)
            if found is not None:
                return cls(path, found)
            remove_database(path)
            path.touch(PRIVATE_FILE)
            with ExitStack() as stack:
                index = cls(path, stack.enter_context(closing(_connect(path))))
                index._make(files, position, head)
                stack.pop_all()
        except (sqlite3.Error, OSError) as error:
            raise LogUnwritable(f"{path}: cannot make the index of requests: {error}") from error
        return index

    def find(self, cause: str) -> int | None:
        """Return the position of a request's last event; None if no closed file holds the request.

        Raises:
            LogRefused: the index cannot be read; a restart builds it again.
        """
        try:
            row = self._db.execute(_KNOWN, (cause,)).fetchone()
        except sqlite3.Error as error:
            told = f"{self._path}: cannot be read: {error}; remove it and start again"
            raise LogRefused(told) from error
        return None if row is None else int(row[0])

    def add(self, requests: Iterable[tuple[str, int]], position: int, head: bytes) -> None:
        """Add the requests of one more file, which ends at `position` with the hash `head`.

        Raises:
            sqlite3.Error: the disk refused, and nothing was added.
        """
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.executemany("INSERT OR REPLACE INTO request VALUES (?, ?)", requests)
            self._reach(position, head)
            self._db.execute("COMMIT")
        except sqlite3.Error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close it. Safe to call twice."""
        self._db.close()

    def _make(self, files: Iterable[Segment], position: int, head: bytes) -> None:
        self._db.execute("BEGIN")
        for statement in _TABLES:
            self._db.execute(statement)
        for file in files:
            self._take(file)
        self._reach(position, head)
        self._db.execute("COMMIT")

    def _take(self, file: Segment) -> None:
        try:
            with closing(open_file(file.path)) as closed:
                rows = [(cause, position) for cause, _, position in closed.requests()]
        except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
            raise LogRefused(f"{file.path}: unreadable: {error}", file.first) from error
        self._db.executemany("INSERT OR REPLACE INTO request VALUES (?, ?)", rows)

    def _reach(self, position: int, head: bytes) -> None:
        self._db.execute("DELETE FROM until")
        self._db.execute("INSERT INTO until VALUES (?, ?)", (position, head))


def positions_of(db: sqlite3.Connection, causes: Sequence[str | None]) -> dict[str, object]:
    """Return what a file or an index has as the last position of each request that it has.

    Args:
        db: has the table `request`.
        causes: the transaction ids, `AT_ONCE` at the most.
    """
    return dict(db.execute(_ANY_OF, (*causes, *[None] * (AT_ONCE - len(causes)))))


def forgery_in(path: Path, db: sqlite3.Connection, last: int) -> str | None:
    """Return what an index has otherwise than a closed file; None where it agrees.

    An index that is missing, damaged, or ends before the file is not compared: the next opening
    builds it again.

    Args:
        path: the index.
        db: the closed file.
        last: the position of its last event.
    """

    def compare(index: sqlite3.Connection) -> str | None:
        requests = db.execute(_ALL)
        while some := requests.fetchmany(AT_ONCE):
            known = positions_of(index, [cause for cause, _ in some])
            for cause, position in some:
                if known.get(cause) != position:
                    return f"has request {cause!r} otherwise than the log"
        return None

    return _compared(path, last, compare)


def surplus_in(path: Path, last: int, requests: int) -> str | None:
    """Return what an index has beyond the requests of the closed files; None where it has no more.

    Args:
        path: the index.
        last: the position at which the newest closed file ends.
        requests: how many all of them have.
    """

    def count(index: sqlite3.Connection) -> str | None:
        ((known,),) = index.execute(_NOT_BEHIND, (last,))
        return f"has {known} requests, but the log {requests}" if known > requests else None

    return _compared(path, last, count)


def _compared(
    path: Path, last: int, compare: Callable[[sqlite3.Connection], str | None]
) -> str | None:
    if not path.exists():
        return None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as index:
            index.text_factory = _decoded
            ends = [end for (end,) in index.execute("SELECT position FROM until")]
            if [type(end) for end in ends] != [int]:
                return "does not say where it ends"
            return compare(index) if ends[0] >= last else None
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return None


def _decoded(stored: bytes) -> str:
    """Read damaged text too: it is another text than the log's."""
    return stored.decode(errors="replace")


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute("PRAGMA trusted_schema=OFF")
        db.execute("PRAGMA synchronous=FULL")
    except sqlite3.Error:
        db.close()
        raise
    return db


def _opened(path: Path, position: int, head: bytes) -> sqlite3.Connection | None:
    """Open the existing index, if it is whole and goes exactly as far as it must."""
    if not path.exists():
        return None
    try:
        db = _connect(path)
    except sqlite3.DatabaseError:
        return None  # damaged: it is built again
    try:
        made = odd_rows(rows_of(db.execute), rows_made_by(_TABLES)) == ([], [])
        if made and db.execute("SELECT * FROM until").fetchall() == [(position, head)]:
            return db
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        pass  # damaged: it is built again
    db.close()
    return None
