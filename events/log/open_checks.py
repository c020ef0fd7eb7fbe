"""Check a log before it is opened for writing, and leave it unchanged if it is refused.

SQLite changes what it opens: it recovers a WAL that a killed process left, and moves the WAL into
the main file when it closes. A refused log must stay unchanged to the last byte. So the check uses
a folder next to the log with a hard link to the main file, opened read-only, and a copy of the WAL,
which SQLite may recover.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from events.errors import InputError, LogRefused, UnreadableEvent
from events.log.disk import PRIVATE_FOLDER
from events.log.newest_anchor import ChainStart, newest_anchor, start_of_file
from events.log.schema import (
    APPLICATION_ID,
    CHECKPOINTS_SINCE,
    OWN_ACTORS,
    SCHEMA_VERSION,
    SCHEMAS,
    odd_rows,
    rows_made_by,
    rows_of,
)
from events.log.segments import archive_folder, find_segments, open_segment
from events.log.verify import BadFile, RecordJudge, require_true_books, verify
from events.log.vouching import LogKeys, SignedHead
from events.log.wal import wal_damage, wal_of
from events.proof.chain import next_hash
from events.proof.checkpoint import Checkpoint, parse_checkpoint
from events.proof.merkle import MerkleTree
from events.types import (
    BettingOpened,
    BooksClosed,
    ChipEvent,
    Envelope,
    EventIds,
    TableEvent,
    decode_data,
    decode_envelope,
)
from events.types.registry import MONEY_TYPES

__all__ = ["Tail", "check_log"]

_RIGHT: Final = "keep the file as it is and restore a verified backup"
_REQUEST: Final = "SELECT position FROM request WHERE transaction_id = ?"
_EVENTS: Final = (
    "SELECT position, type, version, at, bytes, hash FROM event "
    "WHERE position > ? ORDER BY position"
)
_BARE: Final = (
    "SELECT position, bytes, hash FROM event WHERE position > ? AND position <= ? ORDER BY position"
)
# They name a coup; another is named where a forger leaves it out.
_OF_A_COUP: Final = MONEY_TYPES - {kind.TYPE for kind in ChipEvent.__subclasses__()}
_CHECK_SUFFIX: Final = ".check"
# Damaged text may even be in SQLite's messages, and Python then fails to decode them.
_UNREADABLE: Final = (sqlite3.Error, UnicodeDecodeError)


class Tail(NamedTuple):
    """The end of a log, as its check found it.

    Args:
        position: the newest event's position, 0 if there is none.
        head: the newest hash of the chain.
        tree: the Merkle tree over all its events, ready to grow.
        version: the version of the file's format.
        checked_from: the first position that was checked: 1, or that of a `books_closed`, which was
            trusted for everything before it.
        anchor: position of the `books_closed` whose state is trusted; 0 where there is none.
        adopts: whether the table has yet to vouch for what is there.
    """

    position: int
    head: bytes
    tree: MerkleTree
    version: int
    checked_from: int
    anchor: int
    adopts: bool = False


def check_log(
    path: Path,
    origin: str,
    trust: LogKeys | None = None,
    judging: Callable[[bool], RecordJudge] | None = None,
) -> Tail:
    """Check that a file is a log of `origin` that this build may write to. Changes nothing.

    Events are checked from the newest `books_closed` on, of those that the table has signed where
    it signs. A verification in the background (`table_core.service.snapshots`) checks the earlier
    ones, the file's pages and the number of its requests. A log without `books_closed` is checked
    in full. So is one where an unsigned event moves money of an earlier coup.

    The caller holds the writer's lock, so the file does not change meanwhile.

    Args:
        path: the log's file.
        origin: `<site>/<table>`.
        trust: the table's own keys and its head, which the log's past must go on from; None where
            nobody vouches.
        judging: makes the judge of the events that are checked, told whether they are all there
            are; None to leave their content.

    Raises:
        LogRefused: another format, newer, of another origin, with a gap, a broken chain, an
            unreadable event, a damaged WAL, or shorter than its own cursors; names the position if
            there is one.
        OSError: the second name could not be made.
    """
    _refuse_journal(path)
    damage = wal_damage(wal_of(path))
    if damage is not None:
        raise _refusal(path, damage)
    head = None if trust is None else SignedHead(path, origin, trust)
    with _second_name(path) as name:
        try:
            with closing(_open(name)) as db:
                version = _check_format(path, db, origin)
                _check_size(path, db)
                signed = None
                if version >= CHECKPOINTS_SINCE:
                    signed = _newest_checkpoint(path, db, origin, head)
                start = _start_for(path, db, origin, signed, head)
                judge = None if judging is None else judging(start.position == 0)
                tail, old = _check_events(path, db, origin, version, start, signed, head, judge)
                if start.position == 0:
                    _check_pages(path, db)
        except _UNREADABLE as error:
            raise _refusal(path, f"not a whole SQLite file: {error}") from error
    if old and judging is not None:
        found = verify(path, judging=lambda _: judging(True))
        if not found.ok:
            raise _refusal(path, str(found.reason), found.first_bad)
    return tail


def _refuse_journal(path: Path) -> None:
    journal = path.with_name(path.name + "-journal")
    if journal.exists():
        raise LogRefused(
            f"{path}: {journal.name} lies beside it, which SQLite would play back into it; "
            "a log never has one: find out whose it is"
        )


@contextmanager
def _second_name(path: Path) -> Iterator[Path]:
    folder = path.with_name(f".{path.name}{_CHECK_SUFFIX}")
    shutil.rmtree(folder, ignore_errors=True)  # left by a killed check
    if path.stat().st_nlink > 1:
        raise LogRefused(
            f"{path}: the file has another name as well, whose lock and WAL are others; find it "
            f"with `find / -samefile {path.name}` and remove that name"
        )
    folder.mkdir(PRIVATE_FOLDER)
    try:
        name = folder / path.name
        try:
            os.link(path, name)
        except OSError:  # a file system without hard links
            shutil.copyfile(path, name)
        wal = wal_of(path)
        if wal.exists():
            shutil.copyfile(wal, folder / wal.name)
        yield name
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _open(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    db.execute("PRAGMA trusted_schema=OFF")
    db.execute("PRAGMA cell_size_check=ON")
    return db


def _check_format(path: Path, db: sqlite3.Connection, origin: str) -> int:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise LogRefused(
            f"{path}: holds no event log; name the table's own log, or restore a verified backup"
        )
    if version > SCHEMA_VERSION:
        raise LogRefused(
            f"{path}: format {version} was written by a newer build; this one knows "
            f"{SCHEMA_VERSION}: run that build"
        )
    schema = SCHEMAS.get(version)
    if schema is None:
        raise _refusal(path, f"format {version} is older than this build reads")
    many, missing = odd_rows(rows_of(db.execute), rows_made_by(schema.values()))
    if odd := sorted({str(row.name) for row in (*many, *missing)}):
        raise _refusal(path, f"format {version} is not as this build makes it: {odd}")
    meta = dict(db.execute("SELECT name, value FROM meta").fetchall())
    if meta.get("origin") != origin:
        of = repr(meta.get("origin"))
        raise LogRefused(f"{path}: the log of {of}, not of {origin!r}; name the table's own log")
    if not isinstance(meta.get("session"), int):
        raise _refusal(path, f"its session is {meta.get('session')!r}")
    return int(version)


def _check_size(path: Path, db: sqlite3.Connection) -> None:
    """Check that a file without a WAL is whole pages: a cut in the last may hit padding only."""
    wal = wal_of(path)
    if wal.exists() and wal.stat().st_size:
        return  # a crash may have cut the main file where the WAL repairs it
    (pages,), (size,) = (db.execute(f"PRAGMA page_{what}").fetchone() for what in ("count", "size"))
    found = path.stat().st_size
    if found != pages * size:
        raise _refusal(path, f"not a whole SQLite file: {found} bytes, not {pages * size}")


def _start_for(
    path: Path,
    db: sqlite3.Connection,
    origin: str,
    signed: Checkpoint | None,
    head: SignedHead | None,
) -> ChainStart:
    """Return where to begin: at the newest books that are signed, and not after the head's size."""
    if head is None or signed is None:
        return newest_anchor(db) or start_of_file(db, origin)
    head.require_file(db, signed)
    size = signed.size if head.kept is None else min(signed.size, head.kept.size)
    start = newest_anchor(db, size - 1) or start_of_file(db, origin)
    if head.kept is not None and start.position > head.kept.size:
        # The head is of a file that was closed since.
        kept = head.kept.size
        head.require_root(_root_in_closed(path, origin, start.position + 1, kept))
    return start


def _root_in_closed(path: Path, origin: str, base: int, size: int) -> bytes:
    """Return the root at a size within the newest closed file, after checking its chain."""
    file = find_segments(archive_folder(path), origin, base)[-1]
    try:
        with closing(open_segment(file.path)) as db:
            position, head, tree = newest_anchor(db, size) or start_of_file(db, origin)
            for found, stored, digest in db.execute(_BARE, (position, size)):
                head = next_hash(head, stored)
                if (found, head) != (position + 1, digest):
                    raise _refusal(file.path, "the hash chain breaks here", position + 1)
                tree.add(stored)
                position = found
    except (*_UNREADABLE, TypeError, OSError) as error:
        raise _refusal(file.path, f"unreadable: {error}") from error
    return tree.root()


def _check_events(
    path: Path,
    db: sqlite3.Connection,
    origin: str,
    made: int,
    start: ChainStart,
    signed: Checkpoint | None,
    vouched: SignedHead | None,
    judge: RecordJudge | None,
) -> tuple[Tail, bool]:
    """Check the events after `start`; return the log's end.

    Also return whether an unsigned one moves money of a coup that began before `start`.
    """
    position, head, tree = start
    newest = ""
    signed_at = _signed_roots(path, signed, vouched)
    _require_roots(signed_at, position, tree)
    rows, ids = db.execute(_EVENTS, (position,)), EventIds()
    requests, unsigned = _Requests(path, db), _Unsigned(signed, vouched)
    try:
        for row in rows:
            before = ChainStart(position, head, tree)
            head, envelope, event = _check_event(path, row, position + 1, head, origin)
            if not ids.follows(envelope):
                raise _refusal(path, "its id does not follow from its cause", position + 1)
            requests.take(envelope)
            unsigned.take(envelope, event, ids.begins, before)
            position, newest = envelope.position, envelope.at
            tree.add(row[4])
            _require_roots(signed_at, position, tree)
            if judge is not None:
                judge.take(position, envelope, event)
        if judge is not None:
            judge.finish()
    except BadFile as bad:
        raise _refusal(path, bad.reason, bad.position) from bad
    except UnreadableEvent as error:
        raise _refusal(path, str(error), position + 1) from error
    except _UNREADABLE as error:
        raise _refusal(path, f"unreadable: {error}", position + 1) from error
    _check_hints(path, db, position, signed)
    if start.position == 0:
        _check_requests(path, db, requests.ended)
    adopts = vouched.check(db, position, newest, signed) if vouched else False
    begins = start.position + 1
    is_signed = vouched is None or signed is None or begins <= signed.size
    anchor = begins if begins > 1 and is_signed else 0
    old = unsigned.of_old and start.position > 0
    return Tail(position, head, tree, made, begins, anchor, adopts), old


class _Unsigned:
    """Finds the events that the table has not signed, and would sign if the log were opened.

    Args:
        signed: the newest checkpoint; None before the first, when nothing is judged.
        vouched: judges them; None where nobody signs.

    Attributes:
        of_old: whether one is about a coup that began before the first event that was taken.
    """

    def __init__(self, signed: Checkpoint | None, vouched: SignedHead | None) -> None:
        self._signed, self._vouched = signed, vouched
        self._begun: set[str] = set()
        self.of_old = False

    def take(self, envelope: Envelope, event: TableEvent, begins: int, before: ChainStart) -> None:
        """Take the next event.

        Args:
            envelope: of the event.
            event: the event.
            begins: position of the first event of its transaction.
            before: the log before it.

        Raises:
            BadFile: books that do not have the log before them.
            LogRefused: see `SignedHead.take_unsigned`.
        """
        if isinstance(event, BettingOpened):
            self._begun.add(event.coup)
        if self._vouched is None or self._signed is None:
            return
        if envelope.position <= self._signed.size:
            self._vouched.take_signed(event)
            return
        self._vouched.take_unsigned(envelope, event, begins)
        if isinstance(event, BooksClosed):
            require_true_books(event, before)
        coup = getattr(event, "coup", None)
        if coup not in self._begun and (coup or event.TYPE in _OF_A_COUP):
            self.of_old = True


def _check_event(
    path: Path, row: tuple[Any, ...], position: int, before: bytes, origin: str
) -> tuple[bytes, Envelope, TableEvent]:
    """Check the event that should be at a position; return the chain's hash, and what it is."""
    found, kind, version, at, stored, digest = row
    if found != position:
        raise _refusal(path, f"missing, the next is {found}", position)
    if not isinstance(stored, bytes):
        raise _refusal(path, "the stored bytes are no bytes", position)
    head = next_hash(before, stored)
    if head != digest:
        raise _refusal(path, "the hash chain breaks here", position)
    envelope = decode_envelope(stored)
    event = decode_data(envelope)
    said = (envelope.position, envelope.stream, envelope.type, envelope.v, envelope.at)
    if said != (found, origin, kind, version, at):
        raise _refusal(path, "the columns are not what the stored bytes say", position)
    return head, envelope, event


_RootCheck = tuple[int, Callable[[bytes], None]]


def _signed_roots(
    path: Path, signed: Checkpoint | None, vouched: SignedHead | None
) -> tuple[_RootCheck, ...]:
    """Return at which sizes a signature gives the root, and what refuses another."""

    def require_signed(root: bytes) -> None:
        if signed and signed.root != root:
            told = f"rewritten since its checkpoint of {signed.size} events was signed"
            raise _refusal(path, told)

    found: list[_RootCheck] = [(signed.size, require_signed)] if signed else []
    if vouched and vouched.kept:
        found.append((vouched.kept.size, vouched.require_root))
    return tuple(found)


def _require_roots(checks: tuple[_RootCheck, ...], size: int, tree: MerkleTree) -> None:
    for at, require in checks:
        if at == size:
            require(tree.root())


def _newest_checkpoint(
    path: Path, db: sqlite3.Connection, origin: str, vouched: SignedHead | None
) -> Checkpoint | None:
    """Return the newest checkpoint, which binds all before it. The verifier checks its signers."""
    row = db.execute("SELECT size, note FROM checkpoint ORDER BY size DESC LIMIT 1").fetchone()
    if row is None:
        return None
    size, note = row
    try:
        checkpoint, _ = parse_checkpoint(note)
    except (InputError, AttributeError) as error:  # damaged: not even bytes
        raise _refusal(path, f"the checkpoint stored at {size} cannot be read: {error}") from error
    if (checkpoint.origin, checkpoint.size) != (origin, size):
        raise _refusal(path, f"the checkpoint stored at {size} is another's")
    if vouched is not None:
        vouched.require_own(note, f"the checkpoint stored at {size}", origin)
    return checkpoint


class _Requests:
    """Checks that every event asked for has a request, which ends where it is recorded.

    Attributes:
        ended: how many requests have ended.
    """

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self._path, self._db = path, db
        self._going_on: str | None = None
        self.ended = 0

    def take(self, envelope: Envelope) -> None:
        """Take the next event.

        Raises:
            LogRefused: its request is not recorded; or the one before it has not ended.
        """
        if self._going_on not in {None, envelope.cause}:
            told = f"its request {self._going_on!r} is recorded to end later"
            raise _refusal(self._path, told, envelope.position - 1)
        self._going_on = None
        if envelope.actor in OWN_ACTORS:
            return
        row = self._db.execute(_REQUEST, (envelope.cause,)).fetchone()
        if row is None or not isinstance(row[0], int) or row[0] < envelope.position:
            what = f"its request {envelope.cause!r} is not recorded"
            raise _refusal(self._path, what, envelope.position)
        if row[0] == envelope.position:
            self.ended += 1
        else:
            self._going_on = envelope.cause


def _check_hints(
    path: Path, db: sqlite3.Connection, position: int, signed: Checkpoint | None
) -> None:
    """Refuse a log whose cursors, requests or checkpoint know more events: its tail was cut."""
    if signed and signed.size > position:
        told = f"missing: the log ends at {position}, but a checkpoint covers {signed.size}"
        raise _refusal(path, told, position + 1)
    cursors = db.execute("SELECT 'cursor', name, position FROM cursor").fetchall()
    late = "SELECT 'request', transaction_id, position FROM request WHERE position > ? LIMIT 1"
    for what, name, stands in cursors + db.execute(late, (position,)).fetchall():
        if not isinstance(stands, int) or stands < 0:
            raise _refusal(path, f"{what} {name!r} stands at {stands!r}, which is no position")
        if stands > position:
            told = f"missing: the log ends at {position}, but {what} {name!r} stands at {stands}"
            raise _refusal(path, told, position + 1)


def _check_requests(path: Path, db: sqlite3.Connection, answered: int) -> None:
    (requests,) = db.execute("SELECT count(*) FROM request").fetchone()
    if requests != answered:
        raise _refusal(path, f"{requests} requests are recorded, but the events are of {answered}")


def _check_pages(path: Path, db: sqlite3.Connection) -> None:
    (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise _refusal(path, f"not a whole SQLite file: {' '.join(found.split())}")


def _refusal(path: Path, what: str, position: int | None = None) -> LogRefused:
    where = f"{path}" if position is None else f"{path}: position {position}"
    return LogRefused(f"{where}: {what}; {_RIGHT}", position)
