"""Rotation: a log goes on in a new file; the old file moves into the archive and is kept for ever.

The new file begins with the old file's last event, a `books_closed`, at its own position: the event
records the chain's hash and the tree's peaks. Cursors and the newest checkpoint move along. The
format is that of every log: its first row is inserted before the triggers that would refuse it. The
rename that gives the new file the log's name is the commit point. The next start undoes what a kill
left before it, and after it only has to make the old file read-only. The order, each step on the
disk before the next:

1. make the new file under another name, and check it like any log that is opened;
2. move the old file's WAL into the old file, and remove the WAL, which SQLite would otherwise use
   with the new file;
3. give the old file a second name in the archive;
4. give the new file the log's name;
5. make the old file read-only.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from events.errors import LogRefused, LogUnwritable
from events.log.connections import LogFiles
from events.log.disk import (
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    PRIVATE_READ_ONLY,
    SIDE_FILES,
    remove_database,
    sync,
)
from events.log.idempotency_index import RequestIndex, index_of
from events.log.newest_anchor import start_of_file
from events.log.open_checks import Tail, check_log
from events.log.schema import APPLICATION_ID, SCHEMA, SCHEMA_VERSION
from events.log.segments import Segments, archive_folder, find_segments, segment_name, segments_in

__all__ = [
    "SegmentRotation",
    "WriterSegments",
    "finish_rotation",
    "make_next",
    "next_file_of",
    "put_in_place",
    "require_no_segments",
]

_NEXT: Final = ".next"
_WRITE_BITS: Final = 0o222
_EVENT: Final = "SELECT * FROM event WHERE position = ?"
_NEWEST_CHECKPOINT: Final = "SELECT size, note FROM checkpoint ORDER BY size DESC LIMIT 1"


def next_file_of(log: Path) -> Path:
    """Return the path at which a log's next file is made."""
    return log.with_name(log.name + _NEXT)


def make_next(log: Path, old: sqlite3.Connection, origin: str, position: int) -> Tail:
    """Make and check the file that goes on after `position`; call `put_in_place` next.

    Args:
        log: the log's file.
        old: an open connection to it.
        origin: `<site>/<table>`.
        position: the position of its last event, a `books_closed`.

    Raises:
        LogRefused: the new file is not a log to go on with.
        OSError, sqlite3.Error: the disk refused.
    """
    new = next_file_of(log)
    remove_database(new)
    new.touch(PRIVATE_FILE)
    with closing(sqlite3.connect(new, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("BEGIN")
        db.execute(f"PRAGMA application_id={APPLICATION_ID}")
        db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        tables = {name: made for name, made in SCHEMA.items() if made.startswith("CREATE TABLE")}
        for statement in tables.values():
            db.execute(statement)
        for table, query in (
            ("meta", "SELECT * FROM meta"),
            ("cursor", "SELECT * FROM cursor"),
            ("checkpoint", _NEWEST_CHECKPOINT),
        ):
            db.executemany(f"INSERT INTO {table} VALUES (?, ?)", old.execute(query))  # noqa: S608 - our names
        (row,) = old.execute(_EVENT, (position,)).fetchall()
        db.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", row)
        for name, statement in SCHEMA.items():
            if name not in tables:
                db.execute(statement)
        db.execute("COMMIT")
    sync(new)
    tail = check_log(new, origin)
    with closing(sqlite3.connect(f"{new.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
        begins = start_of_file(db, origin)
    if (begins.position, tail.position, tail.head) != (position - 1, position, row[5]):
        raise LogRefused(f"{new}: does not go on from the books at {position}", position)
    return tail


def put_in_place(log: Path, closed: Path, probe: Callable[[str], None]) -> None:
    """Move the old file into the archive, and give the new file the log's name.

    No connection to the log is open, and its WAL is empty.

    Args:
        log: the log's file; `make_next` has made the next one.
        closed: the old file's name in the archive, which exists.
        probe: called at each step.

    Raises:
        OSError: the disk refused; the log is the old file or, if only the end failed, the new.
    """
    wal = log.with_name(log.name + "-wal")
    if wal.exists() and wal.stat().st_size:
        raise OSError(f"{wal} is not empty")
    for suffix in SIDE_FILES:
        log.with_name(log.name + suffix).unlink(missing_ok=True)
    sync(log)
    sync(log.parent)
    probe("turn.wal_gone")
    os.link(log, closed)
    sync(closed.parent)
    probe("turn.linked")
    next_file_of(log).rename(log)
    probe("turn.renamed")
    sync(log.parent)
    closed.chmod(PRIVATE_READ_ONLY)
    sync(closed)
    probe("turn.done")


def finish_rotation(log: Path, origin: str) -> None:
    """Undo what a kill has left of a rotation before its rename, or finish what is left after it.

    The caller holds the writer's lock; no connection to the log is open.

    Raises:
        OSError: the disk refused.
    """
    remove_database(next_file_of(log))
    for file in segments_in(archive_folder(log), origin):
        try:
            status = file.path.lstat()
        except FileNotFoundError:
            continue  # packed at this very moment
        if log.exists() and os.path.samestat(status, log.stat()):
            file.path.unlink()  # only the second name: the file is still the log
            sync(file.path.parent)
        elif status.st_mode & _WRITE_BITS and status.st_nlink == 1 and not file.path.is_symlink():
            file.path.chmod(PRIVATE_READ_ONLY)


def require_no_segments(log: Path, origin: str) -> None:
    """Refuse a missing log that has closed files: a new log would begin again at position 1.

    Raises:
        LogRefused: there are closed files.
    """
    files = segments_in(archive_folder(log), origin)
    if files:
        raise LogRefused(
            f"{log}: missing, but {files[-1].path} is a closed file of it: restore a verified "
            "backup of the log, or move the closed files away for an empty one"
        )


_REQUESTS: Final = "SELECT transaction_id, position FROM request"


class WriterSegments:
    """The events and requests in a log's closed files. Use `WriterSegments.open`."""

    def __init__(self, archive: Segments, index: RequestIndex) -> None:
        self._archive = archive
        self.index = index

    @classmethod
    def open(cls, log: Path, origin: str, base: int, head: bytes) -> Self:
        """Open the closed files that the log goes on from.

        Args:
            log: the log's file.
            origin: `<site>/<table>`.
            base: the first position of that file, which is the last of the newest closed one.
            head: the chain's hash there.

        Raises:
            LogRefused: a file is missing, or the log does not go on from the newest.
            LogUnwritable: the index of their requests cannot be made.
        """
        folder = archive_folder(log)
        archive = Segments(origin, find_segments(folder, origin, base))
        with closing(archive):
            if not archive.ends_with(base, head):
                newest = archive.files[-1].path
                told = f"{newest}: its end is not what {log.name} goes on from, at {base}"
                raise LogRefused(f"{told}; put the right file back from a backup", base)
        index = RequestIndex.open(index_of(folder, origin), archive.files, base, head)
        return cls(archive, index)

    def rows(self, first: int, last: int) -> list[tuple[Any, ...]]:
        """As `Segments.rows`."""
        return self._archive.rows(first, last)

    def request(self, cause: str) -> tuple[bytes, int] | None:
        """Return the body and position of a request that a closed file holds, or None.

        Raises:
            LogRefused: the index or the file cannot be read.
        """
        position = self.index.find(cause)
        return None if position is None else self._archive.request(cause, position)

    def close(self) -> None:
        """Close the files. Safe to call twice."""
        self._archive.close()
        self.index.close()


class SegmentRotation(NamedTuple):
    """One rotation: the end of one file and the beginning of the next.

    Args:
        log: the log's file.
        origin: `<site>/<table>`.
        first: the file's first position.
        last: its last position, that of a `books_closed`.
        head: the chain's hash there.
    """

    log: Path
    origin: str
    first: int
    last: int
    head: bytes

    def make(
        self, files: LogFiles, past: WriterSegments | None, probe: Callable[[str], None]
    ) -> Path | None:
        """Close the file and go on in a new one; return None while a reader is in the way.

        Args:
            files: the open file.
            past: the files closed before it.
            probe: called at each step.

        Raises:
            LogUnwritable: the disk refused.
            LogRefused: something in the archive is in the way, or the new file is not a good log.
        """
        folder = archive_folder(self.log)
        closed = folder / segment_name(self.origin, self.first, self.last)
        if not files.settle():
            return None
        try:
            try:
                if closed.exists() or closed.is_symlink():
                    raise LogRefused(f"{closed}: is there already; find out whose it is")
                folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
                sync(self.log.parent)
                probe("turn.begun")
                files.use_connection(lambda db: make_next(self.log, db, self.origin, self.last))
                probe("turn.made")
                self._index(files, past, folder)
                probe("turn.indexed")
                if not files.settle():
                    return None
                files.exchange(lambda: put_in_place(self.log, closed, probe))
            finally:
                finish_rotation(self.log, self.origin)
        except (OSError, sqlite3.Error) as error:
            raise LogUnwritable(f"{self.log}: cannot begin a new file: {error}") from error
        return closed

    def _index(self, files: LogFiles, past: WriterSegments | None, folder: Path) -> None:
        requests = [(str(cause), int(position)) for cause, position in files.query(_REQUESTS)]
        with ExitStack() as stack:
            if past is None:
                path = index_of(folder, self.origin)
                remove_database(path)  # of a log that was here before
                index = RequestIndex.open(path, (), self.first, b"")
                stack.callback(index.close)
            else:
                index = past.index
            index.add(requests, self.last, self.head)
