"""Back up and restore a log: copy it whole, inspect the copy, and only then give it its name.

SQLite's online backup copies in one step, so the copy is the log at one moment while the table goes
on writing. An unverified copy never has the name that the caller asked for.
"""

import filecmp
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Final

from events.errors import InputError, LogRefused, LogUnwritable
from events.log.closed_file import present_form
from events.log.disk import (
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    PRIVATE_READ_ONLY,
    SIDE_FILES,
    remove_database,
    sync,
)
from events.log.editions import copy_editions
from events.log.lock import WriterLock
from events.log.newest_anchor import start_of_file
from events.log.read_only_copy import readable_copy
from events.log.reader import reading
from events.log.schema import LOCK_SUFFIX, ORIGIN
from events.log.segments import archive_folder, find_segments
from events.log.store import RESTORING_SUFFIX
from events.log.wal import wal_damage, wal_of

__all__ = ["Inspect", "back_up", "copy_segments", "restore"]

_PART: Final = ".part"


def copy_segments(log: Path, source: Path, target: Path) -> tuple[Path, ...]:
    """Copy the closed files of the log at `log`; an existing file must be the same.

    Args:
        log: a log that nobody has open.
        source: the folder of its closed files.
        target: the folder to copy them to; it is made if there are any.

    Returns:
        The files that were copied.

    Raises:
        LogRefused: a file is missing, or another file has its name.
        OSError, sqlite3.Error: the disk refused.
    """
    origin, base = _origin_and_base(log)
    if base == 1 or source.resolve() == target.resolve():
        return ()
    files = find_segments(source, origin, base)
    target.mkdir(PRIVATE_FOLDER, exist_ok=True)
    copied = []
    for path in (present_form(file.path) for file in files):
        to = target / path.name
        if to.exists():
            if not filecmp.cmp(path, to, shallow=False):
                raise LogRefused(f"{to}: is there already, and is not {path}")
            continue
        part = to.with_name(f".{to.name}{_PART}")
        try:
            part.touch(PRIVATE_FILE)
            shutil.copyfile(path, part)
            part.chmod(PRIVATE_READ_ONLY)
            sync(part)
            part.rename(to)
            copied.append(to)
        finally:
            part.unlink(missing_ok=True)
    sync(target)
    sync(target.parent)
    return tuple(copied)


def _origin_and_base(log: Path) -> tuple[str, int]:
    """Return a log's origin and first position; ("", 1) if the inspection must refuse it."""
    try:
        with closing(sqlite3.connect(f"{log.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            (origin,) = db.execute("SELECT value FROM meta WHERE name = 'origin'").fetchone()
            if isinstance(origin, str) and ORIGIN.match(origin):
                return origin, start_of_file(db, origin).position + 1
    except (sqlite3.Error, UnicodeDecodeError, TypeError):
        pass  # no log, or none that is whole
    return "", 1


Inspect = Callable[[Path], str | None]
"""Checks a log; returns one line about what is wrong, or None."""
_PART_SUFFIX: Final = ".part"
_REPLACED: Final = ".replaced-"
# On the bus a session number identifies one run of the table, and readers match a Will by it. A
# restored log would give out again the numbers given since its backup. So a restore raises the
# session far beyond any earlier one. Below 2^53 there is room for nine million restores.
_SESSIONS_ON: Final = 1_000_000_000


def back_up(log: Path, file: Path, inspect: Inspect) -> None:
    """Copy the log at `log`, in use or not, to a new `file`.

    The log's closed files go into the folder `archive` next to the copy. The editions that its
    coups were judged by and its bytes were read by go into `rulebooks` and `profiles`. Files that
    are there already stay.

    Raises:
        InputError: there is no such log, or `file` exists already or cannot be made.
        LogRefused: the copy fails the inspection, and so does the log.
        LogUnwritable: the disk refused.
    """
    log, file = Path(os.path.realpath(log)), Path(os.path.realpath(file))
    if file.exists():
        raise InputError(f"{file}: is there already; a backup never replaces anything")
    with _copy(log, file.with_name(f".{file.name}{_PART_SUFFIX}"), inspect) as part:
        try:
            os.link(part, file)  # unlike a rename, a link fails if the name is taken
        except FileExistsError as error:
            raise InputError(f"{file}: is there already; a backup never replaces it") from error
        except OSError:
            part.rename(file)  # a file system without hard links
        sync(file.parent)


def restore(file: Path, log: Path, inspect: Inspect, *, replace: bool = False) -> Path | None:
    """Put a backup in place as the log at `log`.

    Args:
        file: the backup.
        log: the log's file; it must not exist, unless `replace`.
        inspect: the check that the copy must pass.
        replace: move an existing log out of the way.

    Returns:
        The new path of the replaced log, with its WAL; None if there was no log.

    Raises:
        InputError: there is no such backup, or there is a log where none may be.
        LogRefused: the backup is torn, not a log or not this table's, or a writer has the log.
        LogUnwritable: the disk refused.
    """
    file, log = Path(os.path.realpath(file)), Path(os.path.realpath(log))
    if file == log:
        raise InputError(f"{file}: is the log itself; name a backup of it")
    if not log.parent.is_dir():
        raise InputError(f"{log.parent}: no such folder; make it first, for the table's user")
    lock = WriterLock.acquire(log)
    try:
        _require_place(log, replace=replace)
        with _copy(file, log.with_name(log.name + RESTORING_SUFFIX), inspect) as part:
            _require_same_table(part, log)
            _raise_session(part)
            sync(part)
            replaced = _move_away(log)
            part.rename(log)
            sync(log.parent)
    except BaseException:
        lock.release(undo=True)
        raise
    lock.release()
    return replaced


@contextmanager
def _copy(source: Path, part: Path, inspect: Inspect) -> Iterator[Path]:
    """Yield a verified copy under a temporary name; the copy is removed at the end of the block."""
    try:
        with ExitStack() as stack:
            read = readable_copy(source, stack)
            damage = wal_damage(wal_of(read)) if read != source else None
            if damage is not None:
                raise LogRefused(f"{source}: {damage}")
            remove_database(part)  # of an interrupted copy
            lock = WriterLock.acquire(part)  # so that the inspection need not copy again
            stack.callback(lock.release)
            stack.callback(part.with_name(part.name + LOCK_SUFFIX).unlink, missing_ok=True)
            stack.callback(remove_database, part)
            _online(read, part)
            copied = copy_segments(part, archive_folder(source), archive_folder(part))
            reason = inspect(part)
            if reason is not None:
                for closed in copied:
                    closed.unlink()
                raise LogRefused(f"{source}: {reason}")
            copy_editions(source, part)
            _require_closed(part)
            sync(part)
            yield part
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_NOTADB) & 0xFF
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise LogRefused(f"{source}: not a whole SQLite file: {error}") from error
        raise LogUnwritable(f"{part.parent}: cannot make the copy: {error}") from error
    except OSError as error:
        raise LogUnwritable(f"{part.parent}: cannot make the copy: {error.strerror}") from error


def _online(source: Path, part: Path) -> None:
    part.touch(PRIVATE_FILE)
    with (
        closing(sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True)) as read,
        closing(sqlite3.connect(part)) as write,
    ):
        read.backup(write, pages=-1)


def _require_closed(part: Path) -> None:
    """Check that everything is in the one file, so that a rename leaves nothing behind."""
    wal = wal_of(part)
    if wal.exists() and wal.stat().st_size:
        raise LogRefused(f"{part}: events are left in {wal.name}")
    for suffix in SIDE_FILES:
        part.with_name(part.name + suffix).unlink(missing_ok=True)


def _require_place(log: Path, *, replace: bool) -> None:
    if log.is_dir():
        raise InputError(f"{log}: a folder; name the log's file in it")
    there = [log.with_name(log.name + suffix) for suffix in ("", "-wal")]
    found = next((each for each in there if each.exists()), None)
    if found is not None and not replace:
        raise InputError(f"{found}: is there already; --replace moves that log out of the way")


def _require_same_table(part: Path, log: Path) -> None:
    """Refuse to replace another table's log; a log that cannot be read is not compared."""
    if not log.exists():
        return
    with reading(part) as backup:
        origin = backup.origin
    try:
        # We hold the lock, so the log counts as in use and SQLite recovers its WAL in place. That
        # does not change what the log holds, and the log is moved away next.
        with reading(log) as before:
            is_of = before.origin
    except (InputError, LogRefused, OSError):
        return
    if is_of != origin:
        raise LogRefused(f"{log}: the log of {is_of}, but the backup is of {origin}")


def _raise_session(part: Path) -> None:
    with closing(sqlite3.connect(part, isolation_level=None)) as db:
        db.execute("UPDATE meta SET value = value + ? WHERE name = 'session'", (_SESSIONS_ON,))
    _require_closed(part)


def _move_away(log: Path) -> Path | None:
    """Rename the log, then its WAL: a main file without its WAL would pass for an older log."""
    if not log.exists() and not wal_of(log).exists():
        return None
    to = next(
        name
        for number in count(1)
        if not (name := log.with_name(f"{log.name}{_REPLACED}{number}")).exists()
        and not wal_of(name).exists()
    )
    for suffix in ("", *SIDE_FILES):
        beside = log.with_name(log.name + suffix)
        if beside.exists():
            beside.rename(to.with_name(to.name + suffix))
    sync(log.parent)
    return to
