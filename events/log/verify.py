"""Verify a log, with code independent of the writer's: is every stored byte unchanged and in place?

It hashes the stored bytes again, compares the column copies with them, reads every event in full,
and computes the RFC 6962 root to compare with checkpoints kept elsewhere. It finds every change,
deletion, swap and insertion. It finds a cut tail as far as the log's own cursors, requests and
checkpoints reach beyond the cut. Only such a checkpoint reveals a log that was cut or rewritten
whole, hashes included.

The log stays unchanged to the last byte. A log without a writer is copied first, with its WAL,
since SQLite would recover a killed writer's WAL in place. A log with a writer is read in place, as
of one moment.
"""

import os
import sqlite3
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, closing
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from events.errors import InputError, LogRefused, UnreadableEvent
from events.log.closed_file import is_packed
from events.log.idempotency_index import (
    AT_ONCE,
    forgery_in,
    index_of,
    positions_of,
    surplus_in,
)
from events.log.newest_anchor import ChainStart, start_at_anchor, start_of_file, start_of_log
from events.log.read_only_copy import open_snapshot, readable_copy
from events.log.schema import (
    APPLICATION_ID,
    CHECKPOINTS_SINCE,
    ORIGIN,
    OWN_ACTORS,
    SCHEMA_VERSION,
    SCHEMAS,
    odd_rows,
    rows_made_by,
    rows_of,
)
from events.log.segments import archive_folder, find_segments, open_segment
from events.log.vouching import MoneyMove, unsigned_fault
from events.log.wal import wal_damage, wal_of
from events.proof.chain import next_hash
from events.proof.checkpoint import (
    KeptCheckpoint,
    SignatureReach,
    VerifiedLog,
    first_fault,
    parse_checkpoint,
    signature_reach,
)
from events.proof.note import VerifierKey, parse_verifier_key, split_notes
from events.types import (
    MAX_EVENT_BYTES,
    BooksClosed,
    CheckpointKeyChanged,
    CoupSettled,
    Entry,
    Envelope,
    EventIds,
    TableEvent,
    decode_entry,
)
from events.types.registry import MONEY_TYPES

__all__ = [
    "BadFile",
    "HandOver",
    "Progress",
    "RecordJudge",
    "VerificationResult",
    "VerificationWalk",
    "not_ok",
    "parse_kept_checkpoints",
    "require_true_books",
    "stored_checkpoints",
    "verify",
    "verify_checkpoints",
    "verify_event",
    "verify_events",
    "verify_format",
    "verify_no_more_is_known",
    "verify_no_side_files",
    "verify_pages",
    "verify_size",
    "verify_wal",
]

_WAL_ATTEMPTS: Final = 5


class BadFile(Exception):  # noqa: N818 - named for what it is
    """The reason why a file is bad, in one line.

    Args:
        reason: one line for a person.
        position: the first that is wrong or missing; None if no single one is.
    """

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


def not_ok(position: int | None, reason: str | None) -> str:
    """Return in words that a log is bad, where and why."""
    where = f" at position {position:,}" if position else ""
    return f"NOT ok{where}: {reason}"


def verify_no_side_files(path: Path, *, closed: bool = False) -> None:
    """Verify that no side file exists that SQLite would play back; for a closed file, no WAL.

    Raises:
        BadFile: one exists.
    """
    journal = path.with_name(path.name + "-journal")
    if journal.exists():
        raise BadFile(f"{journal.name} lies beside it, a rollback journal that no log has")
    wal = wal_of(path)
    if closed and wal.exists() and wal.stat().st_size:
        raise BadFile(f"{wal.name} lies beside it, a WAL that no closed file has")


def verify_wal(path: Path) -> None:
    """Verify every frame of the WAL except those of the last commit.

    Raises:
        BadFile: a frame is wrong.
        InputError: the WAL cannot be read.
    """
    # A writer that goes on while its WAL is read may look like damage, but never twice the same.
    found = set()
    for _ in range(_WAL_ATTEMPTS):
        try:
            damage = wal_damage(wal_of(path))
        except OSError as error:
            raise InputError(f"{wal_of(path)}: cannot be read: {error}") from error
        if damage is None:
            return
        if damage in found:
            raise BadFile(damage)
        found.add(damage)


def verify_format(db: sqlite3.Connection) -> tuple[str, int, str | None]:
    """Verify that the file is one of our formats; return its origin, its format and what is odd.

    Raises:
        BadFile: the format or the tables are not ours.
    """
    (application,) = db.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise BadFile("a SQLite file, but no event log")
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > SCHEMA_VERSION:
        raise BadFile(f"format {version} is newer than this build knows ({SCHEMA_VERSION})")
    if version not in SCHEMAS:
        raise BadFile(f"format {version} is older than this build reads ({SCHEMA_VERSION})")
    odd = _odd_triggers(db, version)
    meta = dict(db.execute("SELECT name, value FROM meta").fetchall())
    origin, session = meta.get("origin"), meta.get("session")
    if not isinstance(origin, str) or not ORIGIN.match(origin):
        raise BadFile(f"the origin {origin!r} is no <site>/<table>")
    if not isinstance(session, int) or session < 0:
        raise BadFile(f"the session {session!r} is no number")
    return origin, int(version), odd


def _odd_triggers(db: sqlite3.Connection, version: int) -> str | None:
    """Return what is odd about the triggers; somebody who removed one has used that somewhere.

    Raises:
        BadFile: anything else in the schema is odd, so that nothing in the file means anything.
    """
    many, missing = odd_rows(rows_of(db.execute), rows_made_by(SCHEMAS[version].values()))
    told = None
    if many:
        names = ", ".join(sorted({str(row.name) for row in many}))
        told = f"{names} in the file's schema is not as format {version} has it"
    elif missing:
        told = f"missing in the file's schema: {', '.join(str(row.name) for row in missing)}"
    if told is not None and any(row.type != "trigger" for row in (*many, *missing)):
        raise BadFile(told)
    return told


def verify_size(copy: Path, db: sqlite3.Connection) -> None:
    """Verify that a file without a WAL is whole pages; hashes of its own cover a packed one.

    Raises:
        BadFile: it is not.
    """
    if is_packed(copy):
        return
    wal = wal_of(copy)
    if wal.exists() and wal.stat().st_size > 0:
        return  # the WAL may hold what the main file lacks
    (count,) = db.execute("PRAGMA page_count").fetchone()
    (size,) = db.execute("PRAGMA page_size").fetchone()
    if copy.stat().st_size != count * size:
        raise BadFile(f"{copy.stat().st_size} bytes long, but its pages take {count * size}")


def verify_pages(db: sqlite3.Connection) -> None:
    """Run SQLite's integrity check.

    Raises:
        BadFile: SQLite found something wrong.
    """
    (found,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise BadFile(f"not a whole SQLite file: {' '.join(found.split())}")


class RecordJudge(Protocol):
    """Judges the content of the events, which this module does not know."""

    def take(self, position: int, envelope: Envelope | Entry, event: TableEvent) -> None:
        """Judge the next event.

        Raises:
            BadFile: it does not follow from those before it.
        """

    def finish(self) -> None:
        """Judge what waits for more events; no more come.

        Raises:
            BadFile: as `take`.
        """


# Called with the number of verified events and the total.
Progress = Callable[[int, int], None]
_COLUMNS: Final = {
    "position": int,
    "type": str,
    "version": int,
    "at": str,
    "bytes": bytes,
    "hash": bytes,
}
_COLUMN_TYPES: Final = tuple(_COLUMNS.values())
_COPIED: Final = ("stream", "position", "type", "version", "at")
# Damaged text may even be in SQLite's messages, and Python then fails to decode them.
_UNREADABLE: Final = (sqlite3.Error, UnicodeDecodeError)
_PROGRESS_EVERY: Final = 10_000


class HandOver(NamedTuple):
    """A change of the key that signs a log.

    Args:
        position: of the event that announces the new key.
        before: the public key until there, `name+id+key`.
        after: the public key from there on.
    """

    position: int
    before: str
    after: str


class VerificationResult(NamedTuple):
    """The result of a verification.

    Args:
        ok: nothing is wrong.
        events: how many events the log has, 0 if that cannot be read.
        root: the RFC 6962 root over all stored bytes, in hex; None unless ok.
        first_bad: the first position that is wrong or missing; None if no single one is.
        reason: one line for a person; None if ok.
        checkpoints: how many agree with the log: all that there were, if ok.
        base: the first position that was verified: 1, or that of a file verified alone.
        origin: the log's own origin, `<site>/<table>`; empty if that cannot be read.
        newest: when the last event found sound was appended, RFC 3339; empty before the first.
        signed_to: how many events the signatures cover.
        keys: the public keys that signed, `name+id+key`.
        unsigned_settlements: how many settlements no signature covers.
        hand_overs: each change of the key that signs.
    """

    ok: bool
    events: int
    root: str | None
    first_bad: int | None
    reason: str | None
    checkpoints: int = 0
    base: int = 1
    origin: str = ""
    newest: str = ""
    signed_to: int = 0
    keys: tuple[str, ...] = ()
    unsigned_settlements: int = 0
    hand_overs: tuple[HandOver, ...] = ()


class VerificationWalk:
    """The state gathered while walking the events, file by file.

    Args:
        origin: `<site>/<table>`.
        total: how many events there are in all.
        progress: called now and then.
        judge: of the content of the events.

    Attributes:
        money: each event by which money moves.
    """

    def __init__(
        self,
        origin: str,
        total: int,
        progress: Progress | None,
        judge: RecordJudge | None = None,
    ) -> None:
        self.origin = origin
        self.total = total
        self.progress = progress
        self.judge = judge
        self.wanted: set[int] = set()
        self.position, self.digest, self.tree = start_of_log(origin)
        self.before = b""
        self.ids = EventIds()
        self.newest = ""
        self.roots: dict[int, bytes] = {0: self.tree.root()}
        self.keys: list[tuple[int, VerifierKey]] = []
        self.money: list[MoneyMove] = []

    def begin_at(self, start: ChainStart) -> None:
        """Trust a file about what is before it."""
        self.position, self.digest, self.tree = start
        self.roots[start.position] = self.tree.root()

    def result(self, reach: SignatureReach, checkpoints: int, base: int = 1) -> VerificationResult:
        """Return the result of a walk that found nothing wrong.

        Args:
            reach: of the signatures.
            checkpoints: how many agree.
            base: the first position that was verified.
        """
        return VerificationResult(
            ok=True,
            events=self.total,
            root=self.tree.root().hex(),
            first_bad=None,
            reason=None,
            checkpoints=checkpoints,
            base=base,
            origin=self.origin,
            newest=self.newest,
            signed_to=reach.size,
            keys=tuple(map(str, reach.keys)),
            unsigned_settlements=sum(each.settles for each in self.unsigned(reach)),
            hand_overs=tuple(
                HandOver(position, str(before), str(after))
                for (_, before), (position, after) in pairwise(self.keys)
                if before != after
            ),
        )

    def unsigned(self, reach: SignatureReach) -> list[MoneyMove]:
        """Return the moves of money that no signature covers."""
        return [each for each in self.money if each.position > reach.size]

    def take(self, digest: bytes, stored: bytes, entry: Entry) -> None:
        """Take the next event.

        Raises:
            BadFile: it says what the log before it, or its own key, is not.
        """
        event = entry.data
        if isinstance(event, BooksClosed):
            require_true_books(event, ChainStart(self.position, self.digest, self.tree))
        self.position += 1
        self.newest = entry.at
        self.before, self.digest = self.digest, digest
        self.tree.add(stored)
        if self.position in self.wanted:
            self.roots[self.position] = self.tree.root()
        if event.TYPE in MONEY_TYPES:
            settles = isinstance(event, CoupSettled)
            self.money.append(MoneyMove(self.position, entry.at, self.ids.begins, settles))
        if isinstance(event, CheckpointKeyChanged):
            try:
                self.keys.append((self.position, parse_verifier_key(event.key)))
            except InputError as error:
                raise BadFile(f"announces what is no key: {error}", self.position) from error


def require_true_books(books: BooksClosed, before: ChainStart) -> None:
    """Refuse books that do not have the log before them.

    Raises:
        BadFile: they do not.
    """
    ours = tuple(peak.hex() for peak in before.tree.peaks)
    if (books.size, books.chain, books.peaks) != (before.position, before.head.hex(), ours):
        raise BadFile("the books do not have the log before", before.position + 1)


def parse_kept_checkpoints(name: str, data: bytes) -> tuple[KeptCheckpoint, ...]:
    """Parse checkpoints that somebody kept, one after the other.

    Args:
        name: the file they are from, for messages.
        data: its content.

    Raises:
        InputError: it holds none, or something that is not a checkpoint.
    """
    notes = split_notes(data)
    if not notes:
        raise InputError(f"{name}: empty; a checkpoint from the table's bus or log belongs there")
    held = []
    for number, note in enumerate(notes, start=1):
        where = name if len(notes) == 1 else f"{name}, checkpoint {number},"
        try:
            held.append(KeptCheckpoint(where, *parse_checkpoint(note)))
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
    return tuple(held)


def verify(
    path: Path,
    progress: Progress | None = None,
    *,
    held: Sequence[KeptCheckpoint] = (),
    keys: Collection[VerifierKey] = (),
    archive: Path | None = None,
    alone: bool = False,
    judging: Callable[[str], RecordJudge] | None = None,
) -> VerificationResult:
    """Verify the log at `path` and all its closed files; all stay unchanged.

    Args:
        path: the log's file; its WAL is found next to it.
        progress: called now and then.
        held: checkpoints kept elsewhere; those stored in the log are verified in any case.
        keys: public keys to trust; without any, those that the log announces.
        archive: the folder of the closed files, if not `archive` next to the log.
        alone: trust the file about the events in closed files, and do not read those.
        judging: makes the judge of the log of an origin; a file alone is not judged.

    Raises:
        InputError: there is no such file, it cannot be read, or it is not a SQLite file.
    """
    path = Path(os.path.realpath(path))
    request = _Request(path, progress, held, keys, archive or archive_folder(path), alone, judging)
    with ExitStack() as stack:
        found = _Found()
        try:
            source = readable_copy(path, stack)
        except LogRefused as refused:  # a packed file that is damaged
            return found.refused(refused.position, refused.reason)
        try:
            _verify_log(request, source, stack, found)
        except BadFile as bad:
            reason = f"{bad.reason}; and {found.odd}" if found.odd else bad.reason
            return found.refused(bad.position, reason)
        except _UNREADABLE as error:
            return found.refused(None, f"not a whole SQLite file: {error}")
        return found.refused(None, found.odd) if found.odd is not None else found.sound()


class _Request(NamedTuple):
    """The arguments of `verify`."""

    path: Path
    progress: Progress | None
    held: Sequence[KeptCheckpoint]
    keys: Collection[VerifierKey]
    archive: Path
    alone: bool
    judging: Callable[[str], RecordJudge] | None


class _Found:
    """What a verification has found so far."""

    def __init__(self) -> None:
        self.events = 0
        self.origin = ""
        self.odd: str | None = None
        self.walk: VerificationWalk | None = None
        self.base = 1
        self.checkpoints = 0
        self.reach = SignatureReach(0, ())

    def refused(self, position: int | None, reason: str) -> VerificationResult:
        newest = self.walk.newest if self.walk else ""
        return VerificationResult(
            False, self.events, None, position, reason, origin=self.origin, newest=newest
        )

    def sound(self) -> VerificationResult:
        assert self.walk is not None  # noqa: S101 - nothing was refused
        return self.walk.result(self.reach, self.checkpoints, self.base)


def _verify_log(request: _Request, source: Path, stack: ExitStack, found: _Found) -> None:
    verify_no_side_files(request.path)
    verify_wal(source)
    db = stack.enter_context(closing(open_snapshot(source)))
    found.origin, version, found.odd = verify_format(db)
    if source != request.path:
        verify_size(source, db)
    (found.events,) = db.execute("SELECT count(*) FROM event").fetchone()
    start = start_of_file(db, found.origin)
    found.events += start.position
    trusted = start.position if request.alone else 0
    judge = request.judging(found.origin) if request.judging and not trusted else None
    walk = found.walk = VerificationWalk(found.origin, found.events, request.progress, judge)
    walk.wanted.update(each.checkpoint.size for each in request.held)
    stored: list[KeptCheckpoint] = []
    if request.alone:
        walk.begin_at(start)
        found.base = start.position + 1
    elif start.position:
        _verify_closed_files(walk, request.archive, start.position + 1, stored)
    _verify_file(walk, db, version, stored)
    if judge is not None:
        judge.finish()
    checkpoints = _checkable(walk, (*request.held, *stored), trusted, request.keys)
    found.reach = verify_checkpoints(walk, checkpoints, request.keys)
    found.checkpoints = len(checkpoints)


def _verify_closed_files(
    walk: VerificationWalk, folder: Path, base: int, stored: list[KeptCheckpoint]
) -> None:
    try:
        files = find_segments(folder, walk.origin, base)
    except LogRefused as refused:
        raise BadFile(refused.reason, refused.position) from refused
    index, forgery, requests = index_of(folder, walk.origin), None, 0
    for file in files:
        try:
            verify_no_side_files(file.path, closed=True)
            with closing(open_segment(file.path)) as db:
                origin, version, odd = verify_format(db)
                if origin != walk.origin:
                    raise BadFile(f"the log of {origin}, not of {walk.origin}")  # noqa: TRY301 - named below
                verify_size(file.path, db)
                requests += _verify_file(walk, db, version, stored)
                if walk.position != file.last:
                    told = f"ends at {walk.position}, not at {file.last}"
                    raise BadFile(told, min(walk.position, file.last) + 1)  # noqa: TRY301 - named below
                if odd is not None:
                    raise BadFile(odd)  # noqa: TRY301 - named below
                forgery = forgery or forgery_in(index, db, file.last)
        except BadFile as bad:
            position = file.first if bad.position is None else bad.position
            raise BadFile(f"{file.path.name}: {bad.reason}", position) from bad
        except _UNREADABLE as error:
            whole = "packed" if is_packed(file.path) else "SQLite"
            told = f"{file.path.name}: not a whole {whole} file: {error}"
            raise BadFile(told, getattr(error, "position", None) or file.first) from error
    forgery = forgery or surplus_in(index, walk.position, requests)
    if forgery is not None:
        remedy = "remove the file, and the table makes it again at its start"
        raise BadFile(f"{index.name} {forgery}: {remedy}")


def _verify_file(
    walk: VerificationWalk, db: sqlite3.Connection, version: int, stored: list[KeptCheckpoint]
) -> int:
    """Verify one file's events and its hints about them; return how many requests end in it.

    Adds its checkpoints to `stored`.
    """
    found = stored_checkpoints(db, version)
    walk.wanted.update(each.checkpoint.size for each in found)
    stored += [each for each in found if each not in stored[-1:]]  # the newest is carried on
    ended = verify_events(db, walk)
    verify_no_more_is_known(db, walk.position, ended)
    verify_pages(db)
    return ended


def verify_events(
    db: sqlite3.Connection, walk: VerificationWalk, reach: tuple[int, int] | None = None
) -> int:
    """Verify every event of a file after `walk`; return how many requests end in it.

    Args:
        db: the file.
        walk: takes the events.
        reach: the first and the last position to verify; None for all that the file has.
    """
    ended, progress = 0, walk.progress
    where = "" if reach is None else "WHERE position BETWEEN ? AND ?"
    sql = f"SELECT {', '.join(_COLUMNS)} FROM event {where} ORDER BY position"  # noqa: S608 - our names
    rows, asked, taken = db.execute(sql, reach or ()), list[Entry](), list[Entry]()
    seam = walk.position > 0 and bool(walk.before)
    judge = walk.judge
    try:
        while True:
            try:
                row = rows.fetchone()
            except _UNREADABLE as error:
                raise BadFile(f"unreadable: {error}", walk.position + 1) from error
            if seam:
                _verify_seam(row, walk)
                seam = False
                continue
            if progress is not None and (row is None or walk.position % _PROGRESS_EVERY == 0):
                progress(walk.position, walk.total)
            if row is None:
                break
            position = walk.position + 1
            digest, entry = verify_event(row, position, walk.origin, walk.digest, walk.ids)
            if entry.actor not in OWN_ACTORS:
                asked.append(entry)
                if len(asked) >= AT_ONCE:
                    _judge(walk, taken, asked)
                    ended += _ended_requests(db, asked)
            walk.take(digest, row[4], entry)
            if judge is not None:
                taken.append(entry)
                if len(taken) >= AT_ONCE:
                    _judge(walk, taken, asked)
    finally:
        # What is wrong with an earlier event comes first.
        try:
            _judge(walk, taken, asked)
        finally:
            ended += _ended_requests(db, asked)
    return ended


def _judge(walk: VerificationWalk, taken: list[Entry], asked: list[Entry]) -> None:
    """Judge events that the walk has taken, and forget them.

    Many at once: to hash one event, judge it and hash the next takes a seventh longer. Where one
    is bad, the walk ends with it, and later requests are forgotten.
    """
    if walk.judge is None:
        return
    try:
        for entry in taken:
            walk.judge.take(entry.position, entry, entry.data)
    except BadFile:
        walk.newest = entry.at
        asked[:] = [each for each in asked if each.position <= entry.position]
        raise
    finally:
        taken.clear()


def _verify_seam(row: tuple[object, ...] | None, walk: VerificationWalk) -> None:
    """Verify that a file begins with the last event of the one before: a true `books_closed`."""
    position = walk.position
    if row is None:
        raise BadFile("empty", position)
    if row[0] != position:
        raise BadFile(f"begins at {row[0]}, but the file before it ends at {position}", position)
    if row[5] != walk.digest:
        raise BadFile("does not go on from the file before it: another past", position)
    verify_event(row, position, walk.origin, walk.before, EventIds())
    stored = row[4]
    books = start_at_anchor(position, stored) if isinstance(stored, bytes) else None
    if books is None or not isinstance(stored, bytes):
        raise BadFile("begins with no books_closed", position)
    books.tree.add(stored)
    if (books.head, books.tree.root()) != (walk.before, walk.tree.root()):
        raise BadFile("begins with books that do not have the log before them", position)
    walk.roots[position] = walk.tree.root()  # a checkpoint of this size may be in either file


def verify_event(
    row: tuple[object, ...], position: int, origin: str, before: bytes, ids: EventIds
) -> tuple[bytes, Entry]:
    """Verify the event at `position`; return the chain's hash with it, and what it says."""
    found, kind, version, at, stored, digest = row
    if found != position:
        raise BadFile(f"missing; the next event stands at {found}", position)
    if tuple(map(type, row)) != _COLUMN_TYPES:
        pairs = zip(row, _COLUMNS.items(), strict=True)
        wrong = next((value, name) for value, (name, wanted) in pairs if type(value) is not wanted)
        raise BadFile(f"column {wrong[1]} holds {type(wrong[0]).__name__}", position)
    assert isinstance(stored, bytes)  # noqa: S101 - tells the type checker what the loop found
    if len(stored) > MAX_EVENT_BYTES:
        raise BadFile(f"{len(stored)} bytes, more than an event may have", position)
    chained = next_hash(before, stored)
    if digest != chained:
        raise BadFile("the stored bytes are not those that were hashed", position)
    try:
        entry = decode_entry(stored)
    except UnreadableEvent as error:
        raise BadFile(str(error), position) from error
    copies = (origin, position, kind, version, at)
    told = (entry.stream, entry.position, entry.data.TYPE, entry.v, entry.at)
    if copies != told:
        for name, copy, said in zip(_COPIED, copies, told, strict=True):
            if copy != said:
                raise BadFile(f"{name} is {copy!r}, but the stored bytes say {said!r}", position)
    if not ids.follows(entry):
        raise BadFile("its id does not follow from its cause", position)
    return chained, entry


def _ended_requests(db: sqlite3.Connection, asked: list[Entry]) -> int:
    """Return how many requests end in these events, which somebody asked for.

    Forget them, but for the newest where its request has more.
    """
    if not asked:
        return 0
    recorded = positions_of(db, [each.cause for each in asked])
    ended, going_on = 0, None
    for each in asked:
        end = recorded.get(each.cause)
        if not isinstance(end, int) or end < each.position:
            raise BadFile(f"its request {each.cause!r} is not recorded", each.position)
        if going_on and (going_on.cause, going_on.position + 1) != (each.cause, each.position):
            told = f"its request {going_on.cause!r} is recorded to end later"
            raise BadFile(told, going_on.position)
        going_on = None if end == each.position else each
        ended += end == each.position
    asked[:] = [going_on] if going_on else []
    return ended


def verify_no_more_is_known(db: sqlite3.Connection, events: int, ended: int) -> None:
    """Verify that a file's cursors and requests know no more than its events.

    Args:
        db: the file.
        events: the position of its last event.
        ended: how many requests end in it.

    Raises:
        BadFile: they do.
    """
    for name, known in db.execute("SELECT name, position FROM cursor"):
        if not isinstance(known, int) or known < 0:
            raise BadFile(f"cursor {name!r} stands at {known!r}, which is no position")
        if known > events:
            raise BadFile(f"missing, but cursor {name!r} has come to {known}", events + 1)
    requests = 0
    for name, known in db.execute("SELECT transaction_id, position FROM request"):
        if not isinstance(known, int) or known < 1:
            raise BadFile(f"request {name!r} ended at {known!r}, which is no position")
        if known > events:
            raise BadFile(f"missing, but request {name!r} ended at {known}", events + 1)
        requests += 1
    if requests != ended:
        raise BadFile(f"{requests} requests are recorded, but the events are of {ended}")


def stored_checkpoints(db: sqlite3.Connection, version: int) -> tuple[KeptCheckpoint, ...]:
    """Return the checkpoints that a file of a format holds, smallest first.

    Raises:
        BadFile: one cannot be read.
    """
    if version < CHECKPOINTS_SINCE:
        return ()
    found = []
    for size, note in db.execute("SELECT size, note FROM checkpoint ORDER BY size"):
        where = f"the checkpoint stored at {size!r}"
        if type(note) is not bytes:
            raise BadFile(f"{where} is {type(note).__name__}")
        try:
            held = KeptCheckpoint(where, *parse_checkpoint(note))
        except InputError as error:
            raise BadFile(f"{where}: {error}") from error
        if held.checkpoint.size != size:
            raise BadFile(f"{where} says that it covers {held.checkpoint.size}")
        found.append(held)
    return tuple(found)


def _checkable(
    walk: VerificationWalk,
    held: Sequence[KeptCheckpoint],
    base: int,
    keys: Collection[VerifierKey],
) -> Sequence[KeptCheckpoint]:
    """Return the checkpoints to judge; for a file alone, only those that can be judged.

    Raises:
        BadFile: a file alone has another root than one of them.
    """
    if not base:
        return held
    within = [each for each in held if each.checkpoint.size >= base]
    if keys:
        return within
    announced = walk.keys[0][0] if walk.keys else walk.position + 1
    for each in within:  # a closed file announced the older ones' key
        size = each.checkpoint.size
        if size < announced and walk.roots.get(size) != each.checkpoint.root:
            raise BadFile(f"rewritten or cut: {each.where} gives another root", None)
    return [each for each in within if each.checkpoint.size >= announced]


def verify_checkpoints(
    walk: VerificationWalk, held: Sequence[KeptCheckpoint], keys: Collection[VerifierKey]
) -> SignatureReach:
    """Verify the checkpoints; return how far they reach.

    Raises:
        BadFile: one is wrong; or a key was given, and more is unsigned than a kill leaves.
    """
    if keys and not held:
        raise BadFile("it has no checkpoint, so that the key that was given proves nothing")
    says = VerifiedLog(walk.origin, walk.position, walk.roots, walk.keys)
    fault = first_fault(says, held, keys)
    if fault is not None:
        raise BadFile(fault.reason, fault.first_bad)
    reach = signature_reach(says, held, keys)
    position = unsigned_fault(walk.unsigned(reach), walk.newest) if keys else None
    if position is not None:
        told = f"unsigned: the signatures reach {reach.size} of {walk.position} events"
        raise BadFile(f"{told}, and more money moved after them than a kill leaves", position)
    return reach
