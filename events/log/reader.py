"""Read a log without its writer: event by event, checking the chain, holding nothing in memory.

For replays and reports. The log stays unchanged and may be in use. Every event read is checked
against the chain; a wrong event or a gap ends the reading with its position. `events.log.verify` is
the full verification and finds more.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final

from events.errors import LogRefused
from events.log.closed_file import LogFile, PlainFile, open_file
from events.log.newest_anchor import start_of_file
from events.log.read_only_copy import open_snapshot, readable_copy
from events.log.schema import APPLICATION_ID, ORIGIN, SCHEMA_VERSION, SCHEMAS
from events.log.segments import Segment, archive_folder, find_segments
from events.log.wal import wal_damage, wal_of
from events.proof.chain import next_hash, origin_hash
from events.types import Stored

__all__ = ["LogReader", "reading"]

# Damaged text may even be in SQLite's messages, and Python then fails to decode them.
_UNREADABLE: Final = (sqlite3.Error, UnicodeDecodeError)
_Rows = Callable[[LogFile, int], Iterator[Any]]
_VERIFY: Final = "`baccarat log verify` says more"


class LogReader:
    """A log as of one moment. Use `reading`.

    Args:
        path: the log's file, for messages.
        db: one snapshot of it.
        origin: `<site>/<table>`.
        end: the newest event's position, 0 if there is none.
        closed: the files closed before this one, in order.
    """

    def __init__(
        self,
        path: Path,
        db: sqlite3.Connection,
        origin: str,
        end: int,
        closed: tuple[Segment, ...] = (),
    ) -> None:
        self._path = path
        self._file = PlainFile(db)
        self.closed = closed
        self.origin = origin
        self.end = end

    def read(self) -> Iterator[Stored]:
        """Yield every event from the first to the newest, in order.

        Raises:
            LogRefused: an event is missing or differs from what was hashed; names its position.
        """
        return map(Stored._make, self._chained(_rows))

    def bare(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield only the position, the stored bytes and the chain's hash of each event.

        For long replays: the other columns are copies of fields in the bytes.
        """
        return self._chained(_bare)

    def bare_after(self, position: int, head: bytes) -> Iterator[tuple[int, bytes, bytes]]:
        """As `bare`, from the event after a position that was read before.

        Args:
            position: the last position that was read; 0 for none.
            head: the chain's hash there; the log must go on from it.
        """
        return self._chained(_bare, position, head)

    def at(self, position: int) -> tuple[bytes, bytes] | None:
        """Return the stored bytes and the chain's hash of one event; None if the log has none.

        Nothing is checked; reading the next event shows whether the chain goes on from it.

        Raises:
            LogRefused: the event cannot be read, or is not bytes.
        """
        try:
            for file in self._files(position - 1):
                row = next(iter(file.bare(position, position)), None)
                if row is None:
                    return None
                _, stored, digest = row
                if not isinstance(stored, bytes) or not isinstance(digest, bytes):
                    raise self._refusal("the stored bytes are no bytes", position)
                return stored, digest
        except _UNREADABLE as error:
            raise self._refusal(f"unreadable: {error}", position) from error
        return None

    def _chained(self, query: _Rows, after: int = 0, head: bytes = b"") -> Iterator[Any]:
        """Yield rows that begin with the position and end with bytes and hash."""
        expected, head = after + 1, head or origin_hash(self.origin)
        for file in self._files(after):
            try:
                # A continuing file begins with the last event of the file before it.
                if expected > after + 1:
                    self._require_seam(file, expected - 1, head)
                for row in query(file, expected):
                    if row[0] != expected:
                        raise self._refusal(f"missing, the next is {row[0]}", expected)
                    stored = row[-2]
                    if not isinstance(stored, bytes):
                        raise self._refusal("the stored bytes are no bytes", expected)
                    head = next_hash(head, stored)
                    if head != row[-1]:
                        raise self._refusal("the hash chain breaks here", expected)
                    yield row
                    expected += 1
            except _UNREADABLE as error:
                raise self._refusal(f"unreadable: {error}", expected) from error

    def _files(self, after: int = 0) -> Iterator[LogFile]:
        """Yield each file of the log that goes beyond a position, the oldest first."""
        for file in self.closed:
            if file.last <= after:
                continue
            try:
                with closing(open_file(file.path)) as opened:
                    yield opened
            except (sqlite3.Error, OSError) as error:
                position = getattr(error, "position", None) or file.first
                raise self._refusal(f"{file.path.name}: unreadable: {error}", position) from error
        yield self._file

    def _require_seam(self, file: LogFile, position: int, head: bytes) -> None:
        if file.first() != (position, head):
            raise self._refusal("the next file does not go on from this", position)

    def checkpoints(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield the stored checkpoints, unverified, each with the number of events it covers.

        Args:
            after: only those that cover more events than this.

        Raises:
            LogRefused: they cannot be read.
        """
        newest = after
        try:
            for file in self._files(after):
                # A file's newest checkpoint is carried on to the next file.
                for size, note in file.checkpoints(newest):
                    newest = size
                    yield size, note
        except _UNREADABLE as error:
            told = f"{self._path}: its checkpoints cannot be read: {error}; {_VERIFY}"
            raise LogRefused(told) from error

    def _refusal(self, what: str, position: int) -> LogRefused:
        return LogRefused(f"{self._path}: position {position}: {what}; {_VERIFY}", position)


def _rows(file: LogFile, first: int) -> Iterator[Any]:
    return file.rows(first)


def _bare(file: LogFile, first: int) -> Iterator[Any]:
    return file.bare(first)


@contextmanager
def reading(path: Path) -> Iterator[LogReader]:
    """Open the log at `path`, with its closed files, for reading; all files stay unchanged.

    Raises:
        InputError: there is no such file, or it is not a SQLite file.
        LogRefused: it is not a log of this build's format, its WAL is damaged, or a closed file is
            missing.
    """
    path = Path(os.path.realpath(path))
    with ExitStack() as stack:
        source = readable_copy(path, stack)
        try:
            damage = wal_damage(wal_of(source)) if source != path else None
            if damage is not None:
                raise LogRefused(f"{path}: {damage}; {_VERIFY}")
            db = stack.enter_context(closing(open_snapshot(source)))
            origin = _origin(path, db)
            (end,) = db.execute("SELECT coalesce(max(position), 0) FROM event").fetchone()
            base = start_of_file(db, origin).position
            closed = find_segments(archive_folder(path), origin, base + 1) if base else ()
        except _UNREADABLE as error:
            raise LogRefused(f"{path}: not a whole SQLite file: {error}; {_VERIFY}") from error
        yield LogReader(path, db, origin, end, closed)


def _origin(path: Path, db: sqlite3.Connection) -> str:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise LogRefused(f"{path}: holds no event log; name a table's log")
    if version not in SCHEMAS:
        raise LogRefused(f"{path}: format {version}; this build reads {SCHEMA_VERSION}")
    row = db.execute("SELECT value FROM meta WHERE name = 'origin'").fetchone()
    if row is None or not isinstance(row[0], str) or not ORIGIN.match(row[0]):
        raise LogRefused(f"{path}: its origin is no <site>/<table>; {_VERIFY}")
    return str(row[0])
