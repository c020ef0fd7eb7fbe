"""Verify the form of one log file: whole SQLite, our format, nothing loosened, no side files."""

import sqlite3
from pathlib import Path
from typing import Final

from events.errors import InputError
from events.log.schema import APPLICATION_ID, ORIGIN, SCHEMA_VERSION, SCHEMAS
from events.log.schema_rows import odd_rows, rows_made_by, rows_of
from events.log.wal import wal_damage, wal_of

__all__ = [
    "BadFile",
    "verify_format",
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
    """Verify that a file without a WAL is whole pages.

    Raises:
        BadFile: it is not.
    """
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
