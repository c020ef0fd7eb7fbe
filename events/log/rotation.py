"""A log goes on in a new file: the old one is closed, moved into the archive, and kept for ever.

The new file begins with the last event of the old one, a `books_closed`, at its own position: it
says what the chain and the tree came to. Cursors and the newest checkpoint go with it; the format
is that of every log, since its first row is made before the triggers that would refuse it.

Until the new file takes the log's name, in one rename, nothing has happened: what a kill leaves is
undone at the next start. From then on everything has; what may be left is to make the old file
read-only. The order, each step on the disk before the next:

1. the new file is made aside and checked like any log that is opened;
2. the old one takes in its WAL, which is removed: a WAL would be taken for the new file's;
3. the old file gets a second name in the archive;
4. the new file takes the log's name;
5. the old one is made read-only.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from events.errors import LogRefused
from events.log.disk import SIDE_FILES, remove_database, sync_file, sync_folder
from events.log.opening import Tail, check
from events.log.schema import APPLICATION_ID, SCHEMA, SCHEMA_VERSION
from events.log.segments import archive_of, files_of
from events.log.snapshot_anchor import beginning_of

__all__ = ["finish_turn", "make_next", "next_of", "put_in_place", "require_no_archive"]

_NEXT: Final = ".next"
_READ_ONLY: Final = 0o444
_WRITE_BITS: Final = 0o222
_EVENT: Final = "SELECT * FROM event WHERE position = ?"
_NEWEST_CHECKPOINT: Final = "SELECT size, note FROM checkpoint ORDER BY size DESC LIMIT 1"


def next_of(log: Path) -> Path:
    """Where the next file of a log is made."""
    return log.with_name(log.name + _NEXT)


def make_next(log: Path, old: sqlite3.Connection, origin: str, position: int) -> Tail:
    """Make the file that goes on behind `position`, aside, and check it; `put_in_place` is next.

    Args:
        log: the log's file.
        old: an open connection to it.
        origin: `<site>/<table>`.
        position: of its last event, a `books_closed`.

    Raises:
        LogRefused: what was made is no log to go on with.
        OSError, sqlite3.Error: the disk refused.
    """
    new = next_of(log)
    remove_database(new)
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
    sync_file(new)
    tail = check(new, origin)
    with closing(sqlite3.connect(f"{new.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
        begins = beginning_of(db, origin)
    if (begins.position, tail.position, tail.head) != (position - 1, position, row[5]):
        raise LogRefused(f"{new}: does not go on from the books at {position}", position)
    return tail


def put_in_place(log: Path, closed: Path, probe: Callable[[str], None]) -> None:
    """Give the old file its place in the archive, and the new one its name.

    No connection to the log is open, and its WAL is empty.

    Args:
        log: the log's file; the next one lies aside.
        closed: the old one's name in the archive, which exists.
        probe: told of each step.

    Raises:
        OSError: the disk refused; the log is the old file, or, where only the end failed, the new.
    """
    wal = log.with_name(log.name + "-wal")
    if wal.exists() and wal.stat().st_size:
        raise OSError(f"{wal} is not empty")
    for suffix in SIDE_FILES:
        log.with_name(log.name + suffix).unlink(missing_ok=True)
    sync_file(log)
    sync_folder(log.parent)
    probe("turn.wal_gone")
    os.link(log, closed)
    sync_folder(closed.parent)
    probe("turn.linked")
    next_of(log).rename(log)
    probe("turn.renamed")
    sync_folder(log.parent)
    closed.chmod(_READ_ONLY)
    sync_file(closed)
    probe("turn.done")


def finish_turn(log: Path, origin: str) -> None:
    """What a kill has left of a turn: undone before the rename, finished after it.

    The caller holds the writer's lock; no connection to the log is open.

    Raises:
        OSError: the disk refused.
    """
    remove_database(next_of(log))
    for file in files_of(archive_of(log), origin):
        status = file.path.lstat()
        if log.exists() and os.path.samestat(status, log.stat()):
            file.path.unlink()  # the second name only: the file is still the log
            sync_folder(file.path.parent)
        elif status.st_mode & _WRITE_BITS and status.st_nlink == 1 and not file.path.is_symlink():
            file.path.chmod(_READ_ONLY)


def require_no_archive(log: Path, origin: str) -> None:
    """Where there is no log, there must be no closed files of it: it would begin anew.

    Raises:
        LogRefused: there are.
    """
    files = files_of(archive_of(log), origin)
    if files:
        raise LogRefused(
            f"{log}: missing, but {files[-1].path} is a closed file of it: restore a verified "
            "backup of the log, or move the closed files away for an empty one"
        )
