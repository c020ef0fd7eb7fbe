"""Open a log read-only, so that it stays unchanged to the last byte.

A log without a writer is copied first, with its WAL, since SQLite would recover a killed writer's
WAL in place. A log with a writer is read in place.
"""

import fcntl
import shutil
import sqlite3
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from events.errors import InputError, LogRefused
from events.file_stamp import file_stamp
from events.log.closed_file import is_packed, unpack_to
from events.log.schema import LOCK_SUFFIX
from events.log.wal import wal_of

__all__ = ["has_writer", "open_snapshot", "readable_copy"]

_MAGIC: Final = b"SQLite format 3\x00"
_COPY_ATTEMPTS: Final = 5


def readable_copy(path: Path, stack: ExitStack) -> Path:
    """Return a file to read: the log itself if it has a writer, else a copy with its WAL.

    Args:
        path: the log's file, links resolved.
        stack: removes the copy when it closes.

    Raises:
        InputError: there is no such file, it cannot be read, or it is not a SQLite file.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file; name a table's log")
    if not path.is_file():
        raise InputError(f"{path}: not a file; name a table's log")
    try:
        if has_writer(path):
            return path
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="baccarat-log-"))
        if is_packed(path):
            return _unpacked(path, Path(folder))
        copy = _copy(path, Path(folder))
        with copy.open("rb") as file:
            head = file.read(len(_MAGIC))
    except OSError as error:
        raise InputError(f"{path}: cannot be read and copied: {error}") from error
    if not _MAGIC.startswith(head):  # a log cut within these bytes is a bad log
        raise InputError(f"{path}: no SQLite file; name a table's log")
    return copy


def open_snapshot(path: Path) -> sqlite3.Connection:
    """Open one snapshot of a file from `readable_copy`, even while its writer rotates the log.

    Raises:
        sqlite3.Error: the file is not a whole SQLite file.
        OSError: the file is gone.
    """
    while True:
        before = path.stat().st_ino
        # Never `immutable`: SQLite would ignore the WAL, which holds the newest events.
        uri = f"{path.as_uri()}?mode=ro"
        db = sqlite3.connect(uri, uri=True, isolation_level=None)
        try:
            db.execute("PRAGMA trusted_schema=OFF")
            db.execute("PRAGMA cell_size_check=ON")
            db.execute("BEGIN")
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()  # the snapshot begins here
        except sqlite3.Error:
            db.close()
            if path.stat().st_ino == before:
                raise
            continue
        # If the file changed, SQLite may have read one file with the other's WAL.
        if path.stat().st_ino == before:
            return db
        db.close()


def has_writer(path: Path) -> bool:
    """Report whether somebody has this log open for writing. Resolve links in the path first.

    Raises:
        OSError: the lock cannot be checked.
    """
    # Never open the log itself before this is known. The writer may be in this very process, and
    # closing any descriptor of the log would drop the locks of the writer's SQLite.
    try:
        with path.with_name(path.name + LOCK_SUFFIX).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _copy(path: Path, folder: Path) -> Path:
    wal = wal_of(path)
    for _ in range(_COPY_ATTEMPTS):
        before = file_stamp(path), file_stamp(wal)
        shutil.copyfile(path, folder / path.name)
        (folder / wal.name).unlink(missing_ok=True)
        if wal.exists():
            shutil.copyfile(wal, folder / wal.name)
        if before == (file_stamp(path), file_stamp(wal)):
            return folder / path.name
    raise InputError(f"{path}: keeps changing though no writer has it; find out who changes it")


def _unpacked(path: Path, folder: Path) -> Path:
    """Return the closed file that a packed file came from.

    Raises:
        LogRefused: the packed file is damaged.
    """
    copy = folder / path.name
    try:
        with closing(sqlite3.connect(copy, isolation_level=None)) as db:
            unpack_to(path, db)
    except sqlite3.DatabaseError as error:
        position = getattr(error, "position", None)
        raise LogRefused(f"{path}: not a whole packed file: {error}", position) from error
    return copy
