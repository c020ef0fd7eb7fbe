"""Rotation: a log goes on in a new file; the old file moves into the archive and is kept for ever.

The new file begins with the old file's last event, a `books_closed`, at its own position: the event
records what the chain and the tree came to. Cursors and the newest checkpoint move along. The
format is that of every log: its first row is inserted before the triggers that would refuse it. The
rename that gives the new file the log's name is the commit point. The next start undoes what a kill
left before it, and after it only has to make the old file read-only. The order, each step on the
disk before the next:

1. make the new file under another name, and check it like any log that is opened;
2. move the old file's WAL into it and remove the WAL, which would be taken for the new file's;
3. give the old file a second name in the archive;
4. give the new file the log's name;
5. make the old file read-only.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from events.errors import LogRefused
from events.log.disk import SIDE_FILES, remove_database, sync
from events.log.newest_anchor import start_of_file
from events.log.open_checks import Tail, check_log
from events.log.schema import APPLICATION_ID, SCHEMA, SCHEMA_VERSION
from events.log.segments import archive_folder, segments_in

__all__ = ["finish_rotation", "make_next", "next_file_of", "put_in_place", "require_no_segments"]

_NEXT: Final = ".next"
_READ_ONLY: Final = 0o444
_WRITE_BITS: Final = 0o222
_EVENT: Final = "SELECT * FROM event WHERE position = ?"
_NEWEST_CHECKPOINT: Final = "SELECT size, note FROM checkpoint ORDER BY size DESC LIMIT 1"


def next_file_of(log: Path) -> Path:
    """Return the path at which a log's next file is made."""
    return log.with_name(log.name + _NEXT)


def make_next(log: Path, old: sqlite3.Connection, origin: str, position: int) -> Tail:
    """Make and check the file that goes on after `position`; call `put_in_place` next.

    Args:
        log: the log's file.
        old: an open connection to it.
        origin: `<site>/<table>`.
        position: the position of its last event, a `books_closed`.

    Raises:
        LogRefused: the new file is not a log to go on with.
        OSError, sqlite3.Error: the disk refused.
    """
    new = next_file_of(log)
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
    sync(new)
    tail = check_log(new, origin)
    with closing(sqlite3.connect(f"{new.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
        begins = start_of_file(db, origin)
    if (begins.position, tail.position, tail.head) != (position - 1, position, row[5]):
        raise LogRefused(f"{new}: does not go on from the books at {position}", position)
    return tail


def put_in_place(log: Path, closed: Path, probe: Callable[[str], None]) -> None:
    """Move the old file into the archive, and give the new file the log's name.

    No connection to the log is open, and its WAL is empty.

    Args:
        log: the log's file; `make_next` has made the next one.
        closed: the old file's name in the archive, which exists.
        probe: called at each step.

    Raises:
        OSError: the disk refused; the log is the old file or, if only the end failed, the new.
    """
    wal = log.with_name(log.name + "-wal")
    if wal.exists() and wal.stat().st_size:
        raise OSError(f"{wal} is not empty")
    for suffix in SIDE_FILES:
        log.with_name(log.name + suffix).unlink(missing_ok=True)
    sync(log)
    sync(log.parent)
    probe("turn.wal_gone")
    os.link(log, closed)
    sync(closed.parent)
    probe("turn.linked")
    next_file_of(log).rename(log)
    probe("turn.renamed")
    sync(log.parent)
    closed.chmod(_READ_ONLY)
    sync(closed)
    probe("turn.done")


def finish_rotation(log: Path, origin: str) -> None:
    """Undo what a kill has left of a rotation before its rename, or finish what is left after it.

    The caller holds the writer's lock; no connection to the log is open.

    Raises:
        OSError: the disk refused.
    """
    remove_database(next_file_of(log))
    for file in segments_in(archive_folder(log), origin):
        status = file.path.lstat()
        if log.exists() and os.path.samestat(status, log.stat()):
            file.path.unlink()  # only the second name: the file is still the log
            sync(file.path.parent)
        elif status.st_mode & _WRITE_BITS and status.st_nlink == 1 and not file.path.is_symlink():
            file.path.chmod(_READ_ONLY)


def require_no_segments(log: Path, origin: str) -> None:
    """Refuse a missing log that has closed files: a new log would begin again at position 1.

    Raises:
        LogRefused: there are closed files.
    """
    files = segments_in(archive_folder(log), origin)
    if files:
        raise LogRefused(
            f"{log}: missing, but {files[-1].path} is a closed file of it: restore a verified "
            "backup of the log, or move the closed files away for an empty one"
        )
