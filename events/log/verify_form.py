"""Verify the form of one file of a log: SQLite whole, ours, with nothing loosened or beside it."""

import sqlite3
from pathlib import Path
from typing import Final

from events.errors import InputError
from events.log.schema import APPLICATION_ID, ORIGIN, SCHEMA_VERSION, SCHEMAS
from events.log.schema_rows import odd_rows, rows_made_by, rows_of
from events.log.wal import wal_damage, wal_of

__all__ = [
    "BadFile",
    "verify_alone",
    "verify_format",
    "verify_pages",
    "verify_size",
    "verify_wal",
]

_WAL_ATTEMPTS: Final = 5


class BadFile(Exception):  # noqa: N818 - named for what it is
    """What is wrong with a file, in one line.

    Args:
        reason: for a person.
        position: the first that is wrong or missing; None where no single one is.
    """

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


def verify_alone(path: Path, *, closed: bool = False) -> None:
    """Nothing lies beside the file that SQLite would play back; beside a closed one, no WAL.

    Raises:
        BadFile: it does.
    """
    journal = path.with_name(path.name + "-journal")
    if journal.exists():
        raise BadFile(f"{journal.name} lies beside it, a rollback journal that no log has")
    wal = wal_of(path)
    if closed and wal.exists() and wal.stat().st_size:
        raise BadFile(f"{wal.name} lies beside it, a WAL that no closed file has")


def verify_wal(path: Path) -> None:
    """No frame of the WAL is wrong, but in the last commit.

    Raises:
        BadFile: one is.
        InputError: it cannot be read.
    """
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
            raise BadFile(damage)
        found.add(damage)


def verify_format(db: sqlite3.Connection) -> tuple[str, int, str | None]:
    """The log's origin and its format, if the file is of one of ours; and what is odd in it.

    Raises:
        BadFile: it is none of ours, or its tables are not.
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
    """What is odd about the triggers: whoever took one away has used that, and it is told where.

    Raises:
        BadFile: anything else in the schema is odd: then nothing in the file means anything.
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
    """Without a WAL the file is whole pages.

    Raises:
        BadFile: it is not.
    """
    wal = wal_of(copy)
    if wal.exists() and wal.stat().st_size > 0:
        return  # what is missing in the main file may stand there
    (count,) = db.execute("PRAGMA page_count").fetchone()
    (size,) = db.execute("PRAGMA page_size").fetchone()
    if copy.stat().st_size != count * size:
        raise BadFile(f"{copy.stat().st_size} bytes long, but its pages take {count * size}")


def verify_pages(db: sqlite3.Connection) -> None:
    """SQLite finds nothing wrong.

    Raises:
        BadFile: it does.
    """
    (found,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise BadFile(f"not a whole SQLite file: {' '.join(found.split())}")
