"""Verify a log with other code than wrote it: is every stored byte where and what it was?

It re-hashes what is stored, holds the column copies against the bytes, reads every event in full,
and computes the RFC 6962 root that a checkpoint held elsewhere can be compared with. It finds every
change, deletion, swap and insertion, and a cut tail as far as the log's own cursors and requests
reach beyond it. A log that was rewritten whole, hashes and all, shows only against such a
checkpoint.

The log stays as it was to the last byte. One that no writer has open is copied first, WAL and all,
since SQLite would recover a killed writer's WAL in place. One that is being written is read beside
its writer, as of one moment.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final, NamedTuple

from events.chain import next_hash, origin_hash
from events.codec import MAX_EVENT_BYTES, Envelope, decode_data, decode_envelope
from events.errors import InputError, UnreadableEvent
from events.log_schema import (
    APPLICATION_ID,
    ORIGIN,
    OWN_ACTORS,
    SCHEMA,
    SCHEMA_VERSION,
)
from events.log_still import still
from events.log_wal import wal_damage, wal_of
from events.tree import Tree

__all__ = ["Progress", "Verdict", "verify"]

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
    """

    ok: bool
    events: int
    root: str | None
    first_bad: int | None
    reason: str | None


class _BadError(Exception):
    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


def verify(path: Path, progress: Progress | None = None) -> Verdict:
    """Verify the log at `path`, which stays as it is.

    Args:
        path: the log's file; its WAL is found beside it.
        progress: called now and then.

    Raises:
        InputError: there is no such file, it cannot be read, or it is no SQLite file at all.
    """
    path = Path(os.path.realpath(path))
    events = 0
    with ExitStack() as stack:
        source = still(path, stack)
        try:
            _verify_alone(path)
            _verify_wal(source)
            db = stack.enter_context(closing(_open(source)))
            db.execute("BEGIN")  # one snapshot, though a writer may be going on
            origin = _verify_format(db)
            if source != path:
                _verify_size(source, db)
            (events,) = db.execute("SELECT count(*) FROM event").fetchone()
            root, ended = _verify_events(db, origin, events, progress)
            _verify_no_more_is_known(db, events, ended)
            _verify_pages(db)
        except _BadError as bad:
            return Verdict(False, events, None, bad.position, bad.reason)
        except _UNREADABLE as error:
            return Verdict(False, events, None, None, f"not a whole SQLite file: {error}")
        return Verdict(True, events, root.hex(), None, None)


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


def _verify_format(db: sqlite3.Connection) -> str:
    """The log's origin, if the file is of our format."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise _BadError("a SQLite file, but no event log")
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > SCHEMA_VERSION:
        raise _BadError(f"format {version} is newer than this build knows ({SCHEMA_VERSION})")
    expected = {sql: name for name, sql in SCHEMA.items()}
    for name, sql in db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"):
        if not name.startswith("sqlite_") and expected.pop(sql, None) != name:
            raise _BadError(f"{name} in the file's schema is not as format {version} has it")
    if version != SCHEMA_VERSION:
        raise _BadError(f"format {version} is older than this build reads ({SCHEMA_VERSION})")
    if expected:
        raise _BadError(f"missing in the file's schema: {', '.join(expected.values())}")
    meta = dict(db.execute("SELECT name, value FROM meta").fetchall())
    origin, session = meta.get("origin"), meta.get("session")
    if not isinstance(origin, str) or not ORIGIN.match(origin):
        raise _BadError(f"the origin {origin!r} is no <site>/<table>")
    if not isinstance(session, int) or session < 0:
        raise _BadError(f"the session {session!r} is no number")
    return origin


def _verify_size(copy: Path, db: sqlite3.Connection) -> None:
    wal = wal_of(copy)
    if wal.exists() and wal.stat().st_size > 0:
        return  # what is missing in the main file may stand there
    (count,) = db.execute("PRAGMA page_count").fetchone()
    (size,) = db.execute("PRAGMA page_size").fetchone()
    if copy.stat().st_size != count * size:
        raise _BadError(f"{copy.stat().st_size} bytes long, but its pages take {count * size}")


def _verify_events(
    db: sqlite3.Connection, origin: str, events: int, progress: Progress | None
) -> tuple[bytes, int]:
    """The root of the tree over all events and the number of requests that asked for them."""
    position, digest, tree, ended = 0, origin_hash(origin), Tree(), 0
    rows = db.execute(f"SELECT {', '.join(_COLUMNS)} FROM event ORDER BY position")  # noqa: S608 - our names
    while True:
        try:
            row = rows.fetchone()
        except _UNREADABLE as error:
            raise _BadError(f"unreadable: {error}", position + 1) from error
        if progress is not None and (row is None or position % _PROGRESS_EVERY == 0):
            progress(position, events)
        if row is None:
            return tree.root(), ended
        position += 1
        digest, envelope = _verify_event(row, position, origin, digest)
        ended += _ends_request(db, envelope)
        tree.add(row[4])


def _verify_event(
    row: tuple[object, ...], position: int, origin: str, before: bytes
) -> tuple[bytes, Envelope]:
    """The chain's hash with this event and its envelope, if it is what belongs at `position`."""
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
        decode_data(envelope)
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
    return chained, envelope


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


def _verify_pages(db: sqlite3.Connection) -> None:
    (found,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise _BadError(f"not a whole SQLite file: {' '.join(found.split())}")
