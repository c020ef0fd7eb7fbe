"""A log to look into that stays as it was to the last byte.

A log that no writer has open is copied first, WAL and all, since SQLite would recover a killed
writer's WAL in place. One that is being written is read beside its writer.
"""

import fcntl
import shutil
import sqlite3
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from events.errors import InputError
from events.log.schema import LOCK_SUFFIX
from events.log.wal import wal_of

__all__ = ["has_writer", "snapshot_of_file", "still"]

_MAGIC: Final = b"SQLite format 3\x00"
_COPY_ATTEMPTS: Final = 5


def still(path: Path, stack: ExitStack) -> Path:
    """A file to read: the log itself beside its writer, or else a copy of it with its WAL.

    Args:
        path: the log's file, links resolved.
        stack: removes the copy when it closes.

    Raises:
        InputError: there is no such file, it cannot be read, or it is no SQLite file at all.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file; name a table's log")
    if not path.is_file():
        raise InputError(f"{path}: not a file; name a table's log")
    try:
        if has_writer(path):
            return path
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="baccarat-log-"))
        copy = _copy(path, Path(folder))
        with copy.open("rb") as file:
            head = file.read(len(_MAGIC))
    except OSError as error:
        raise InputError(f"{path}: cannot be read and copied: {error}") from error
    if not _MAGIC.startswith(head):  # a log cut within these bytes is a bad log
        raise InputError(f"{path}: no SQLite file; name a table's log")
    return copy


def snapshot_of_file(path: Path) -> sqlite3.Connection:
    """One snapshot of a log that `still` gave, though its writer goes on, even in a new file.

    Raises:
        sqlite3.Error: it is no whole SQLite file.
        OSError: it is gone.
    """
    while True:
        before = path.stat().st_ino
        # Never `immutable`: that would not see the WAL, where the newest events are.
        uri = f"{path.as_uri()}?mode=ro"
        db = sqlite3.connect(uri, uri=True, isolation_level=None)
        try:
            db.execute("PRAGMA trusted_schema=OFF")
            db.execute("PRAGMA cell_size_check=ON")
            db.execute("BEGIN")
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()  # it begins here
        except sqlite3.Error:
            db.close()
            if path.stat().st_ino == before:
                raise
            continue
        # Else the one file may have been read with the other's WAL.
        if path.stat().st_ino == before:
            return db
        db.close()


def has_writer(path: Path) -> bool:
    """Whether somebody has this log open for writing; links in the path are to be resolved.

    Raises:
        OSError: its lock cannot be looked at.
    """
    # Never look into the log itself before this is known: the writer may be in this very process,
    # and closing any descriptor of the log would drop the locks that the writer's SQLite holds.
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
        before = _identity(path), _identity(wal)
        shutil.copyfile(path, folder / path.name)
        (folder / wal.name).unlink(missing_ok=True)
        if wal.exists():
            shutil.copyfile(wal, folder / wal.name)
        if before == (_identity(path), _identity(wal)):
            return folder / path.name
    raise InputError(f"{path}: keeps changing though no writer has it; find out who changes it")


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
