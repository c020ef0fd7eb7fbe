"""Verify a log with other code than wrote it: is every stored byte where and what it was?

It re-hashes what is stored, holds the column copies against the bytes, reads every event in full,
and computes the RFC 6962 root that a checkpoint held elsewhere can be compared with. It finds every
change, deletion, swap and insertion, and a cut tail as far as the log's own cursors, requests and
checkpoints reach beyond it. A log that was cut or rewritten whole, hashes and all, shows only
against such a checkpoint.

The log stays as it was to the last byte. One that no writer has open is copied first, WAL and all,
since SQLite would recover a killed writer's WAL in place. One that is being written is read beside
its writer, as of one moment.
"""

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final, NamedTuple

from events.chain import next_hash, origin_hash
from events.checkpoint import parse_checkpoint
from events.checkpoint_check import Held, LogSays, first_fault
from events.codec import MAX_EVENT_BYTES, Envelope, decode_data, decode_envelope
from events.errors import InputError, UnreadableEvent
from events.integrity import CheckpointKeyChanged
from events.log_schema import (
    APPLICATION_ID,
    CHECKPOINTS_SINCE,
    ORIGIN,
    OWN_ACTORS,
    SCHEMA_VERSION,
    SCHEMAS,
)
from events.log_still import still
from events.log_wal import wal_damage, wal_of
from events.note import VerifierKey, parse_verifier_key, split_notes
from events.table import TableEvent
from events.tree import Tree

__all__ = ["Progress", "Verdict", "held_elsewhere", "verify"]

# Called with the events done and the events in all.
Progress = Callable[[int, int], None]

_COLUMNS: Final = {
    "position": int,
    "type": str,
    "version": int,
    "at": str,
    "bytes": bytes,
    "hash": bytes,
}
# Damaged text can stand even in the messages of SQLite, which Python then fails to decode.
_UNREADABLE: Final = (sqlite3.Error, UnicodeDecodeError)
_WAL_ATTEMPTS: Final = 5
_PROGRESS_EVERY: Final = 10_000


class Verdict(NamedTuple):
    """What a verification found.

    Args:
        ok: nothing is wrong.
        events: how many events the file holds, 0 where that cannot be read.
        root: the RFC 6962 root over all stored bytes, in hex; None unless ok.
        first_bad: the first position that is wrong or missing; None where no single one is.
        reason: one line for a person; None if ok.
        checkpoints: how many agree with the log: all that there were, if ok.
    """

    ok: bool
    events: int
    root: str | None
    first_bad: int | None
    reason: str | None
    checkpoints: int = 0


class _BadError(Exception):
    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


class _Walk:
    """What is gathered on the way through the events."""

    def __init__(self, sizes: Iterable[int]) -> None:
        self._wanted = frozenset(sizes)
        self.tree = Tree()
        self.roots: dict[int, bytes] = {0: self.tree.root()}
        self.keys: list[tuple[int, VerifierKey]] = []
        self.requests_ended = 0

    def take(self, position: int, stored: bytes, event: TableEvent) -> None:
        self.tree.add(stored)
        if position in self._wanted:
            self.roots[position] = self.tree.root()
        if isinstance(event, CheckpointKeyChanged):
            try:
                self.keys.append((position, parse_verifier_key(event.key)))
            except InputError as error:
                raise _BadError(f"announces what is no key: {error}", position) from error


def held_elsewhere(name: str, data: bytes) -> tuple[Held, ...]:
    """Checkpoints that somebody kept, one behind the other.

    Args:
        name: what to call them: the file they are from.
        data: what it holds.

    Raises:
        InputError: it holds none, or something that is none.
    """
    notes = split_notes(data)
    if not notes:
        raise InputError(f"{name}: empty; a checkpoint from the table's bus or log belongs there")
    held = []
    for number, note in enumerate(notes, start=1):
        where = name if len(notes) == 1 else f"{name}, checkpoint {number},"
        try:
            held.append(Held(where, *parse_checkpoint(note)))
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
    return tuple(held)


def verify(
    path: Path,
    progress: Progress | None = None,
    *,
    held: Sequence[Held] = (),
    keys: Collection[VerifierKey] = (),
) -> Verdict:
    """Verify the log at `path`, which stays as it is.

    Args:
        path: the log's file; its WAL is found beside it.
        progress: called now and then.
        held: checkpoints from elsewhere; those stored in the log are verified in any case.
        keys: public keys that are believed; without any, those that the log announces.

    Raises:
        InputError: there is no such file, it cannot be read, or it is no SQLite file at all.
    """
    path = Path(os.path.realpath(path))
    events, odd = 0, None
    with ExitStack() as stack:
        source = still(path, stack)
        try:
            _verify_alone(path)
            _verify_wal(source)
            db = stack.enter_context(closing(_open(source)))
            db.execute("BEGIN")  # one snapshot, though a writer may be going on
            origin, version, odd = _verify_format(db)
            if source != path:
                _verify_size(source, db)
            (events,) = db.execute("SELECT count(*) FROM event").fetchone()
            checkpoints = *held, *_stored_checkpoints(db, version)
            walk = _Walk(each.checkpoint.size for each in checkpoints)
            _verify_events(db, origin, events, walk, progress)
            _verify_no_more_is_known(db, events, walk.requests_ended)
            _verify_checkpoints(origin, events, walk, checkpoints, keys)
            _verify_pages(db)
        except _BadError as bad:
            reason = f"{bad.reason}; and {odd}" if odd else bad.reason
            return Verdict(False, events, None, bad.position, reason)
        except _UNREADABLE as error:
            return Verdict(False, events, None, None, f"not a whole SQLite file: {error}")
        if odd is not None:
            return Verdict(False, events, None, None, odd)
        return Verdict(True, events, walk.tree.root().hex(), None, None, len(checkpoints))


def _open(path: Path) -> sqlite3.Connection:
    # Never `immutable`: that would not see the WAL, where the newest events are.
    db = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)
    db.execute("PRAGMA trusted_schema=OFF")
    db.execute("PRAGMA cell_size_check=ON")
    return db


def _verify_alone(path: Path) -> None:
    journal = path.with_name(path.name + "-journal")
    if journal.exists():
        raise _BadError(f"{journal.name} lies beside it, a rollback journal that no log has")


def _verify_wal(path: Path) -> None:
    # A writer that goes on while its WAL is read may look like damage, but not twice the same.
    found = set()
    for _ in range(_WAL_ATTEMPTS):
        try:
            damage = wal_damage(wal_of(path))
        except OSError as error:
            raise InputError(f"{wal_of(path)}: cannot be read: {error}") from error
        if damage is None:
            return
        if damage in found:
            raise _BadError(damage)
        found.add(damage)


def _verify_format(db: sqlite3.Connection) -> tuple[str, int, str | None]:
    """The log's origin and its format, if the file is of one of ours; and what is odd in it."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise _BadError("a SQLite file, but no event log")
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > SCHEMA_VERSION:
        raise _BadError(f"format {version} is newer than this build knows ({SCHEMA_VERSION})")
    if version not in SCHEMAS:
        raise _BadError(f"format {version} is older than this build reads ({SCHEMA_VERSION})")
    odd = _odd_triggers(db, version)
    meta = dict(db.execute("SELECT name, value FROM meta").fetchall())
    origin, session = meta.get("origin"), meta.get("session")
    if not isinstance(origin, str) or not ORIGIN.match(origin):
        raise _BadError(f"the origin {origin!r} is no <site>/<table>")
    if not isinstance(session, int) or session < 0:
        raise _BadError(f"the session {session!r} is no number")
    return origin, int(version), odd


def _odd_triggers(db: sqlite3.Connection, version: int) -> str | None:
    """What is odd about the triggers: whoever took one away has used that, and it is told where.

    Raises:
        _BadError: anything else in the schema is odd: then nothing in the file means anything.
    """
    expected, odd = dict(SCHEMAS[version]), None
    rows = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
    for kind, name, sql in db.execute(rows):
        if name.startswith("sqlite_") or expected.pop(name, None) == sql:
            continue
        odd = f"{name} in the file's schema is not as format {version} has it"
        if kind != "trigger":
            raise _BadError(odd)
    if expected:
        odd = f"missing in the file's schema: {', '.join(expected)}"
        if any(not sql.startswith("CREATE TRIGGER") for sql in expected.values()):
            raise _BadError(odd)
    return odd


def _verify_size(copy: Path, db: sqlite3.Connection) -> None:
    wal = wal_of(copy)
    if wal.exists() and wal.stat().st_size > 0:
        return  # what is missing in the main file may stand there
    (count,) = db.execute("PRAGMA page_count").fetchone()
    (size,) = db.execute("PRAGMA page_size").fetchone()
    if copy.stat().st_size != count * size:
        raise _BadError(f"{copy.stat().st_size} bytes long, but its pages take {count * size}")


def _verify_events(
    db: sqlite3.Connection, origin: str, events: int, walk: _Walk, progress: Progress | None
) -> None:
    position, digest = 0, origin_hash(origin)
    rows = db.execute(f"SELECT {', '.join(_COLUMNS)} FROM event ORDER BY position")  # noqa: S608 - our names
    while True:
        try:
            row = rows.fetchone()
        except _UNREADABLE as error:
            raise _BadError(f"unreadable: {error}", position + 1) from error
        if progress is not None and (row is None or position % _PROGRESS_EVERY == 0):
            progress(position, events)
        if row is None:
            return
        position += 1
        digest, envelope, event = _verify_event(row, position, origin, digest)
        walk.requests_ended += _ends_request(db, envelope)
        walk.take(position, row[4], event)


def _verify_event(
    row: tuple[object, ...], position: int, origin: str, before: bytes
) -> tuple[bytes, Envelope, TableEvent]:
    """The chain's hash with this event, its envelope and itself, if it belongs at `position`."""
    found, kind, version, at, stored, digest = row
    if found != position:
        raise _BadError(f"missing; the next event stands at {found}", position)
    for value, (name, wanted) in zip(row, _COLUMNS.items(), strict=True):
        if type(value) is not wanted:
            raise _BadError(f"column {name} holds {type(value).__name__}", position)
    assert isinstance(stored, bytes)  # noqa: S101 - tells the type checker what the loop found
    if len(stored) > MAX_EVENT_BYTES:
        raise _BadError(f"{len(stored)} bytes, more than an event may have", position)
    chained = next_hash(before, stored)
    if digest != chained:
        raise _BadError("the stored bytes are not those that were hashed", position)
    try:
        envelope = decode_envelope(stored)
        event = decode_data(envelope)
    except UnreadableEvent as error:
        raise _BadError(str(error), position) from error
    for name, copy, said in (
        ("stream", origin, envelope.stream),
        ("position", position, envelope.position),
        ("type", kind, envelope.type),
        ("version", version, envelope.v),
        ("at", at, envelope.at),
    ):
        if copy != said:
            raise _BadError(f"{name} is {copy!r}, but the stored bytes say {said!r}", position)
    return chained, envelope, event


def _ends_request(db: sqlite3.Connection, envelope: Envelope) -> bool:
    """Whether a request that is recorded ends with this event; each that was asked for has one."""
    if envelope.actor in OWN_ACTORS:
        return False
    sql = "SELECT position FROM request WHERE transaction_id = ?"
    (end,) = db.execute(sql, (envelope.cause,)).fetchone() or (None,)
    if not isinstance(end, int) or end < envelope.position:
        raise _BadError(f"its request {envelope.cause!r} is not recorded", envelope.position)
    return end == envelope.position


def _verify_no_more_is_known(db: sqlite3.Connection, events: int, ended: int) -> None:
    for name, known in db.execute("SELECT name, position FROM cursor"):
        if not isinstance(known, int) or known < 0:
            raise _BadError(f"cursor {name!r} stands at {known!r}, which is no position")
        if known > events:
            raise _BadError(f"missing, but cursor {name!r} has come to {known}", events + 1)
    requests = 0
    for name, known in db.execute("SELECT transaction_id, position FROM request"):
        if not isinstance(known, int) or known < 1:
            raise _BadError(f"request {name!r} ended at {known!r}, which is no position")
        if known > events:
            raise _BadError(f"missing, but request {name!r} ended at {known}", events + 1)
        requests += 1
    if requests != ended:
        raise _BadError(f"{requests} requests are recorded, but the events are of {ended}")


def _stored_checkpoints(db: sqlite3.Connection, version: int) -> tuple[Held, ...]:
    if version < CHECKPOINTS_SINCE:
        return ()
    found = []
    for size, note in db.execute("SELECT size, note FROM checkpoint ORDER BY size"):
        where = f"the checkpoint stored at {size!r}"
        if type(note) is not bytes:
            raise _BadError(f"{where} is {type(note).__name__}")
        try:
            held = Held(where, *parse_checkpoint(note))
        except InputError as error:
            raise _BadError(f"{where}: {error}") from error
        if held.checkpoint.size != size:
            raise _BadError(f"{where} says that it covers {held.checkpoint.size}")
        found.append(held)
    return tuple(found)


def _verify_checkpoints(
    origin: str,
    events: int,
    walk: _Walk,
    held: Sequence[Held],
    keys: Collection[VerifierKey],
) -> None:
    if keys and not held:
        raise _BadError("it has no checkpoint, so that the key that was given proves nothing")
    fault = first_fault(LogSays(origin, events, walk.roots, walk.keys), held, keys)
    if fault is not None:
        raise _BadError(fault.reason, fault.first_bad)


def _verify_pages(db: sqlite3.Connection) -> None:
    (found,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise _BadError(f"not a whole SQLite file: {' '.join(found.split())}")
