"""The event log of one table: one append-only SQLite file, one writer, one commit per append.

WAL with `synchronous=FULL`: an append returns when its events are on the disk. If it raises,
nothing that it tried to store may be acknowledged. The newest commits are in `<log>-wal` until
SQLite moves them: copy both files, or use SQLite's own backup.

Use an `EventLog` from the thread that opened it. By convention the file is `table.sqlite`.
"""

import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from events.errors import (
    InputError,
    LogConflict,
    LogRefused,
    LogUnwritable,
    OurBug,
    UnreadableEvent,
)
from events.log.connections import LogFiles
from events.log.disk import PRIVATE_FILE, PRIVATE_FOLDER, remove_database, sync
from events.log.lock import WriterLock
from events.log.open_checks import Tail, check_log
from events.log.rotation import (
    SegmentRotation,
    WriterSegments,
    finish_rotation,
    require_no_segments,
)
from events.log.schema import APPLICATION_ID, ORIGIN, OWN_ACTORS, SCHEMA, SCHEMA_VERSION, SCHEMAS
from events.log.verify import RecordJudge
from events.log.vouching import LogKeys
from events.proof.chain import next_hash
from events.types import (
    MAX_EVENT_BYTES,
    AcceptedRequest,
    BooksClosed,
    Pending,
    Stored,
    decode_entry,
)

__all__ = [
    "RESTORING_SUFFIX",
    "EventLog",
    "create",
    "upgrade",
]

_NEW_SUFFIX: Final = ".new"
RESTORING_SUFFIX: Final = ".restoring"
"""The suffix of a restored log's name until the copy is verified and takes its place."""


def create(path: Path, origin: str) -> None:
    """Create the empty log of `origin`. The caller holds the writer's lock.

    The log is made under another name and renamed once it is on the disk, so a power cut leaves
    either no log or a whole one.

    Raises:
        LogRefused: there is a WAL without its log, and SQLite would throw its content away. Or a
            restore was interrupted after it had moved the old log away.
        OSError, sqlite3.Error: the disk refused.
    """
    for suffix in ("-wal", "-journal"):
        left = path.with_name(path.name + suffix)
        if left.exists():
            raise LogRefused(
                f"{path}: missing, but {left.name} is there and may hold events; "
                "put the two together again, or restore a verified backup"
            )
    restoring = path.with_name(path.name + RESTORING_SUFFIX)
    if restoring.exists():
        raise LogRefused(
            f"{path}: missing, and {restoring.name} is there: "
            "restore it once more, or remove that file for an empty log"
        )
    new = path.with_name(path.name + _NEW_SUFFIX)
    remove_database(new)  # left by an interrupted creation
    try:
        new.touch(PRIVATE_FILE)
        with closing(sqlite3.connect(new, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("BEGIN")
            db.execute(f"PRAGMA application_id={APPLICATION_ID}")
            db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            for statement in SCHEMA.values():
                db.execute(statement)
            meta = [("origin", origin), ("session", 0)]
            db.executemany("INSERT INTO meta VALUES (?, ?)", meta)
            db.execute("COMMIT")
        # The last connection that closes moves the WAL into the file and syncs it.
        new.rename(path)
        sync(path.parent)
    finally:
        remove_database(new)


def upgrade(db: sqlite3.Connection, version: int) -> None:
    """Add to a log of an older format what it lacks, within the caller's transaction.

    Its content stays unchanged: a new format only adds tables and triggers.
    """
    for name, statement in SCHEMA.items():
        if name not in SCHEMAS[version]:
            db.execute(statement)
    db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")


_READ_BATCH: Final = 256
# The newest events of this opening stay in memory: each is soon read by every publisher.
_NEWEST: Final = 64
_END: Final = "SELECT type, hash FROM event WHERE position = ?"
# A person's mistake about the path, as opposed to a refusal by the disk.
_WRONG_PATH: Final = (NotADirectoryError, FileExistsError, PermissionError)


class EventLog:
    """An open log. Use `EventLog.open`, then `close`, or a `with` block.

    Attributes:
        path: the file, links resolved.
        origin: `<site>/<table>`.
        position: the newest event's position, 0 if there is none.
        head: the newest hash of the chain.
        base: the first position of the file; earlier events are in closed files.
        checked_from: the first position that opening has checked; it trusted what is before.
        anchor: position of the `books_closed` whose state is trusted; 0 where there is none.
        adopts: whether the table has yet to vouch for what is there: no head was kept.
    """

    def __init__(self, path: Path, origin: str, tail: Tail, files: LogFiles) -> None:
        self.path = path
        self.origin = origin
        self.position, self.head, self._tree = tail.position, tail.head, tail.tree
        self.checked_from, self.anchor = tail.checked_from, tail.anchor
        self.adopts = tail.adopts
        self._files = files
        self._past: WriterSegments | None = None
        self._newest: deque[Stored] = deque(maxlen=_NEWEST)
        self.base = self._first_position()

    @classmethod
    def open(
        cls,
        path: Path,
        origin: str,
        trust: LogKeys | None = None,
        judging: Callable[[bool], RecordJudge] | None = None,
    ) -> Self:
        """Open the log of `origin` (`<site>/<table>`), or create it if there is no file.

        Args:
            path: the log's file.
            origin: `<site>/<table>`.
            trust: the table's keys and its head (`events.log.vouching`); None to trust the file.
            judging: see `check_log`.

        Raises:
            InputError: the origin or the path cannot be used.
            LogRefused: another writer has it, or this build may not write it; the file and its
                folder are unchanged.
            LogUnwritable: the disk refused.
        """
        if not ORIGIN.match(origin):
            raise InputError(
                f"origin {origin!r}: write <site>/<table> in lower-case letters, digits, - and _"
            )
        path = Path(os.path.realpath(path))  # one lock, whatever links lead here
        try:
            if path.is_dir():
                raise InputError(f"{path}: a folder; name the log's file in it")
            path.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
            lock = WriterLock.acquire(path)
            try:
                finish_rotation(path, origin)
                if not path.exists():
                    require_no_segments(path, origin)
                    create(path, origin)
                tail = check_log(path, origin, trust, judging)
                files = LogFiles.open(path, lock)
                if tail.version < SCHEMA_VERSION:
                    with files.writing("bring its format up") as db:
                        upgrade(db, tail.version)
                log = cls(path, origin, tail, files)
            except BaseException:
                lock.release(undo=True)
                raise
            try:
                log._open_past()
            except BaseException:
                log.close()
                raise
        except _WRONG_PATH as error:
            raise InputError(f"{path}: cannot keep a log here: {error.strerror}") from error
        except OSError as error:
            raise LogUnwritable(f"{path}: cannot open: {error.strerror}") from error
        except sqlite3.Error as error:
            raise LogUnwritable(f"{path}: cannot open: {error}") from error
        return log

    @property
    def closed(self) -> bool:
        """Whether the log must be opened again: it was closed, or a failure left it in doubt."""
        return self._files.closed

    @property
    def root(self) -> bytes:
        """The RFC 6962 root over all events."""
        return self._tree.root()

    @property
    def peaks(self) -> tuple[bytes, ...]:
        """The roots of the tree's perfect subtrees, which are enough to grow the tree further."""
        return self._tree.peaks

    def append(
        self,
        expected: int,
        entries: Sequence[Pending],
        request: tuple[str, bytes] | None = None,
    ) -> tuple[Stored, ...]:
        """Store `entries` after position `expected`, all of them or none, in one commit.

        Args:
            expected: the position at which the caller believes the log to end.
            entries: at least one.
            request: cause and body of the command that asked for the events, for `recorded`; None
                for events of the shoe or the core.

        Raises:
            LogConflict: the log ends elsewhere: there is another writer.
            LogUnwritable: the disk refused; nothing may be acknowledged.
            InputError: an event is longer than `MAX_EVENT_BYTES`.
            OurBug: nothing to append; bytes that contradict their columns, position or request, or
                that this build could not read again; or a request that is recorded already.
        """
        if expected != self.position:
            raise LogConflict(expected, self.position)
        if not entries:
            raise OurBug("an append without events")
        stored = tuple(self._chained(entries, request and request[0]))
        try:
            with self._files.writing(f"append at {expected + 1}") as db:
                db.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", stored)
                if request is not None:
                    row = (*request, stored[-1].position)
                    db.execute("INSERT INTO request VALUES (?, ?, ?)", row)
        except sqlite3.IntegrityError as error:
            ((actual,),) = self._files.query("SELECT coalesce(max(position), 0) FROM event")
            if actual != expected:
                raise LogConflict(expected, actual) from error
            raise OurBug(f"{self.path}: append at {expected + 1}: {error}") from error
        self.position, self.head = stored[-1].position, stored[-1].hash
        for event in stored:
            self._tree.add(event.stored)
        self._newest.extend(stored)
        return stored

    def read(self, start: int = 1, limit: int | None = None) -> Iterator[Stored]:
        """Yield at most `limit` events from position `start` on, up to the newest at the call.

        Raises:
            LogRefused: the file cannot be read any more.
            LogUnwritable: the log is closed.
        """
        # In batches: an open query would pin its snapshot and make the next append fail.
        sql = "SELECT * FROM event WHERE position BETWEEN ? AND ? ORDER BY position"
        end = self.position if limit is None else min(self.position, start + limit - 1)
        first = max(1, start)
        while first <= end:
            oldest = self.position - len(self._newest) + 1
            if first >= oldest:
                self._files.require_open("read")
                yield from tuple(islice(self._newest, first - oldest, end - oldest + 1))
                return
            last = min(end, first + _READ_BATCH - 1)
            if self._past is not None and first < self.base:
                last = min(last, self.base - 1)
                rows = self._past.rows(first, last)
            else:
                rows = self._files.query(sql, first, last)
            yield from map(self._event_of, rows)
            first = last + 1

    def _event_of(self, row: Sequence[Any]) -> Stored:
        """Return a row as an event; SQLite keeps values of any type in any column."""
        position, *_, stored, digest = row
        if isinstance(stored, bytes) and isinstance(digest, bytes):
            return Stored._make(row)
        told = f"{self.path}: position {position}: its bytes or its hash are no bytes"
        raise LogRefused(f"{told}; keep the file and restore a verified backup", position)

    def recorded(self, cause: str) -> AcceptedRequest | None:
        """Return the request accepted under this cause, `<user>/<transaction>`, or None."""
        rows = self._files.query(
            "SELECT body, position FROM request WHERE transaction_id = ?", cause
        )
        if rows:
            return AcceptedRequest._make(rows[0])
        found = self._past.request(cause) if self._past is not None else None
        return AcceptedRequest._make(found) if found else None

    def cursor(self, name: str) -> int:
        """Return the position that `name` has reached; 0 if it was never moved."""
        rows = self._files.query("SELECT position FROM cursor WHERE name = ?", name)
        return int(rows[0][0]) if rows else 0

    def cursors(self, prefix: str) -> dict[str, int]:
        """Return the position of each cursor whose name begins with `prefix`."""
        sql = "SELECT name, position FROM cursor WHERE substr(name, 1, ?) = ?"
        return dict(self._files.query(sql, len(prefix), prefix))

    def move_cursor(self, name: str, position: int | None) -> None:
        """Store the position that `name` has reached, or with None delete it; durable on return.

        Raises:
            LogUnwritable: the disk refused.
            OurBug: the log does not reach that far.
        """
        if not 0 <= (position or 0) <= self.position:
            raise OurBug(f"cursor {name!r} to {position}: the log ends at {self.position}")
        with self._files.writing(f"move cursor {name!r}") as db:
            if position is None:
                db.execute("DELETE FROM cursor WHERE name = ?", (name,))
            else:
                db.execute("REPLACE INTO cursor VALUES (?, ?)", (name, position))

    def store_checkpoint(self, note: bytes) -> None:
        """Store a signed checkpoint of the log as it is now; durable on return.

        Raises:
            LogUnwritable: the disk refused.
            OurBug: there is one of this position already, or the log is empty.
        """
        try:
            with self._files.writing(f"keep the checkpoint at {self.position}") as db:
                db.execute("INSERT INTO checkpoint VALUES (?, ?)", (self.position, note))
        except sqlite3.IntegrityError as error:
            raise OurBug(f"{self.path}: checkpoint at {self.position}: {error}") from error

    def newest_checkpoint(self) -> tuple[int, bytes] | None:
        """Return the newest checkpoint and the number of events it covers; None before the first.

        Raises:
            LogRefused, LogUnwritable: as `read`.
        """
        rows = self._files.query("SELECT size, note FROM checkpoint ORDER BY size DESC LIMIT 1")
        return (int(rows[0][0]), bytes(rows[0][1])) if rows else None

    def next_session(self) -> int:
        """Return the number of a new session: 1, 2, 3..., never the same twice.

        Raises:
            LogUnwritable: the disk refused.
        """
        with self._files.writing("begin a session") as db:
            db.execute("UPDATE meta SET value = value + 1 WHERE name = 'session'")
            row = db.execute("SELECT value FROM meta WHERE name = 'session'").fetchone()
        return int(row[0])

    def new_file(self, probe: Callable[[str], None] = lambda _: None) -> Path | None:
        """Rotate: go on in a new file, which begins with the `books_closed` just appended.

        Args:
            probe: called at each step.

        Returns:
            The old file's new path; None if there is nothing to close yet, or while somebody reads
                the file: then the log goes on in it.

        Raises:
            LogUnwritable: the disk refused. The log goes on in the old file, unless it is closed.
            LogRefused: something in the archive is in the way; the log goes on in the old file.
            OurBug: the newest event is not a `books_closed`.
        """
        if self.position <= self.base:
            return None
        ((kind, head),) = self._files.query(_END, self.position)
        if kind != BooksClosed.TYPE:
            raise OurBug(f"{self.path}: a new file begins with books, not with {kind}")
        turn = SegmentRotation(self.path, self.origin, self.base, self.position, head)
        closed = turn.make(self._files, self._past, probe)
        if closed is not None:
            self._close_past()
            self.base = self.checked_from = self.anchor = self.position
            self._open_past()
        return closed

    def close(self) -> None:
        """Close the file and release the lock. Safe to call twice."""
        self._close_past()
        self._files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _first_position(self) -> int:
        ((first,),) = self._files.query("SELECT coalesce(min(position), 1) FROM event")
        return int(first)

    def _open_past(self) -> None:
        """Find the closed files before this one; a log that lacks one of them is not opened."""
        if self.base > 1:
            ((kind, head),) = self._files.query(_END, self.base)
            if kind != BooksClosed.TYPE:  # only these begin a file: see `events.log.rotation`
                told = f"position 1: missing, and the log begins with {kind} at {self.base}"
                raise LogRefused(told, 1)
            self._past = WriterSegments.open(self.path, self.origin, self.base, head)

    def _close_past(self) -> None:
        if self._past is not None:
            self._past.close()
            self._past = None

    def _chained(self, entries: Sequence[Pending], cause: str | None) -> Iterator[Stored]:
        position, head = self.position, self.head
        for entry in entries:
            position += 1
            self._admit(position, entry, cause)
            head = next_hash(head, entry.stored)
            yield Stored(position, *entry, head)

    def _admit(self, position: int, entry: Pending, cause: str | None) -> None:
        """Refuse an event that would make the log unreadable."""
        if len(entry.stored) > MAX_EVENT_BYTES:
            raise InputError(
                f"{entry.type} at {position}: {len(entry.stored)} bytes, "
                f"at most {MAX_EVENT_BYTES} are stored in one event"
            )
        try:
            read = decode_entry(entry.stored)
        except UnreadableEvent as error:
            raise OurBug(f"append at {position}: {error}") from error
        says = (read.position, read.stream, read.data.TYPE, read.v, read.at)
        told = (position, self.origin, entry.type, entry.version, entry.at)
        if says != told:
            raise OurBug(f"append at {position}: the bytes say {says}, the caller {told}")
        asked = None if read.actor in OWN_ACTORS else read.cause
        if asked != cause:
            raise OurBug(f"append at {position}: the bytes are for request {asked}, not {cause}")
