"""Look before opening: is this file a log that this build may write to?

SQLite changes what it opens: it recovers a WAL that a killed process left, and empties it into the
main file when it closes. A log that is refused must stay as it was to the last byte, so the look is
taken through a second name: a folder beside the log with a hard link to the main file, opened
read-only, and a copy of the WAL, which SQLite may recover as it likes.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from events.chain import next_hash, origin_hash
from events.codec import decode_data, decode_envelope
from events.errors import LogRefused, UnreadableEvent
from events.log_schema import APPLICATION_ID, SCHEMA, SCHEMA_VERSION

__all__ = ["Tail", "check"]

_RIGHT: Final = "keep the file as it is and restore a verified backup"
_CHECK_SUFFIX: Final = ".check"


class Tail(NamedTuple):
    """Where a log ends.

    Args:
        position: of the newest event, 0 where there is none.
        head: the newest hash of the chain.
    """

    position: int
    head: bytes


def check(path: Path, origin: str) -> Tail:
    """Hold the whole file against what a log of `origin` must be. Changes nothing.

    The caller holds the writer's lock, so that the file stands still meanwhile.

    Raises:
        LogRefused: not our format, newer, of another origin, with a gap, a broken chain, an
            unreadable event, or shorter than its own cursors say; names the position.
        OSError: the second name could not be made.
    """
    _refuse_journal(path)
    with _second_name(path) as name:
        try:
            with closing(_open(name)) as db:
                _check_format(path, db, origin)
                tail = _check_events(path, db, origin)
                _check_hints(path, db, tail.position)
                _check_pages(path, db)
                return tail
        except sqlite3.Error as error:
            raise _refusal(path, f"not a whole SQLite file: {error}") from error


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
    shutil.rmtree(folder, ignore_errors=True)  # of a check that was killed
    folder.mkdir()
    try:
        name = folder / path.name
        try:
            os.link(path, name)
        except OSError:  # a file system without hard links
            shutil.copyfile(path, name)
        wal = path.with_name(path.name + "-wal")
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


def _check_format(path: Path, db: sqlite3.Connection, origin: str) -> None:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise LogRefused(f"{path}: a SQLite file, but no event log; name the table's own log")
    if version > SCHEMA_VERSION:
        raise LogRefused(
            f"{path}: format {version} was written by a newer build; this one knows "
            f"{SCHEMA_VERSION}: run that build"
        )
    rows = db.execute(
        "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    found = dict(rows.fetchall())
    if version != SCHEMA_VERSION or found != SCHEMA:
        odd = sorted(name for name, _ in found.items() ^ SCHEMA.items())
        raise _refusal(path, f"format {version} is not as this build makes it: {sorted(set(odd))}")
    row = db.execute("SELECT value FROM meta WHERE name = 'origin'").fetchone()
    if row != (origin,):
        of = repr(row[0]) if row else "nobody"
        raise LogRefused(f"{path}: the log of {of}, not of {origin!r}; name the table's own log")


def _check_events(path: Path, db: sqlite3.Connection, origin: str) -> Tail:
    position, head = 0, origin_hash(origin)
    rows = db.execute(
        "SELECT position, type, version, at, bytes, hash FROM event ORDER BY position"
    )
    try:
        for found, kind, version, at, stored, digest in rows:
            if found != position + 1:
                raise _refusal(path, f"missing, the next is {found}", position + 1)
            head = next_hash(head, stored)
            if head != digest:
                raise _refusal(path, "the hash chain breaks here", found)
            envelope = decode_envelope(stored)
            decode_data(envelope)
            said = (envelope.position, envelope.stream, envelope.type, envelope.v, envelope.at)
            if said != (found, origin, kind, version, at):
                raise _refusal(path, "the columns are not what the stored bytes say", found)
            position = found
    except UnreadableEvent as error:
        raise _refusal(path, str(error), position + 1) from error
    except (sqlite3.Error, TypeError) as error:
        raise _refusal(path, f"unreadable: {error}", position + 1) from error
    return Tail(position, head)


def _check_hints(path: Path, db: sqlite3.Connection, position: int) -> None:
    """Nothing may know of more events than there are: that is how a cut tail shows."""
    for name, column in (("cursor", "name"), ("request", "transaction_id")):
        row = db.execute(
            f"SELECT {column}, position FROM {name} WHERE position NOT BETWEEN 0 AND ? LIMIT 1",  # noqa: S608 - the names stand above
            (position,),
        ).fetchone()
        if row is not None:
            what = f"missing: the log ends at {position}, but {name} {row[0]!r} stands at {row[1]}"
            raise _refusal(path, what, position + 1)


def _check_pages(path: Path, db: sqlite3.Connection) -> None:
    (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise _refusal(path, f"not a whole SQLite file: {' '.join(found.split())}")


def _refusal(path: Path, what: str, position: int | None = None) -> LogRefused:
    where = f"{path}" if position is None else f"{path}: position {position}"
    return LogRefused(f"{where}: {what}; {_RIGHT}", position)
