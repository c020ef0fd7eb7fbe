"""Pack the closed files of a log, and unpack them again. Neither loses an event when it is killed.

A conversion writes the other form under another name, reads it back, compares it row by row with
the file, and only then gives it its name and removes the file. The order, each step on the disk
before the next:

1. verify the file alone;
2. write the other form under a temporary name;
3. compare the two;
4. give the other form its name: both are there, and readers take the SQLite file;
5. remove the file.

A killed conversion is done again from its beginning.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from events.errors import LogRefused, LogUnwritable
from events.log.closed_file import PACKED, PLAIN, unpack_to
from events.log.disk import PRIVATE_FILE, PRIVATE_READ_ONLY, remove_database, sync
from events.log.packed_file import DamagedFile, write_packed
from events.log.reader import reading
from events.log.segments import archive_folder, open_segment
from events.log.verify import verify

__all__ = ["Conversion", "convert"]

_PART: Final = ".part"
_TABLES: Final = {
    "event": "position",
    "request": "position",
    "checkpoint": "size",
    "cursor": "name",
    "meta": "name",
}


class Conversion(NamedTuple):
    """A closed file that was converted.

    Args:
        path: the file that is there now.
        before: the bytes of the form that was removed.
        after: the bytes of the form that is there.
    """

    path: Path
    before: int
    after: int


def convert(log: Path, *, pack: bool) -> Iterator[Conversion]:
    """Pack or unpack every closed file of the log at `log`, the oldest first; yield each one done.

    The log may be in use: a reader that has a file open goes on with it.

    Args:
        log: the log's file.
        pack: or unpack.

    Raises:
        InputError: there is no such log.
        LogRefused: a closed file is missing or damaged, which is left as it is; or another
            conversion is at work.
        LogUnwritable: the disk refused.
    """
    with reading(log) as reader:
        origin, files = reader.origin, reader.closed
    form = PACKED if pack else PLAIN
    with _only_one(archive_folder(log)):
        for file in files:
            if file.path.suffix == form and not _other(file.path).exists():
                continue
            path = file.path.with_suffix(PLAIN if pack else PACKED)
            if not path.exists():
                continue
            try:
                yield _convert(path, origin)
            except (OSError, sqlite3.Error) as error:
                if isinstance(error, DamagedFile):
                    raise LogRefused(f"{path}: {error}", error.position) from error
                raise LogUnwritable(f"{path}: cannot be converted: {error}") from error


def _convert(path: Path, origin: str) -> Conversion:
    sound = verify(path, alone=True)
    if not sound.ok:
        raise LogRefused(f"{path}: {sound.reason}; it is left as it is", sound.first_bad)
    made = _other(path)
    part = made.with_name(f".{made.name}{_PART}")
    remove_database(part)  # of a conversion that was killed
    try:
        _write(path, part, origin)
        sync(part)
        _require_same(path, part)
        part.chmod(PRIVATE_READ_ONLY)
        done = Conversion(made, path.stat().st_size, part.stat().st_size)
        part.replace(made)
    finally:
        remove_database(part)
    sync(made.parent)
    path.unlink()
    sync(made.parent)
    return done


def _other(path: Path) -> Path:
    """Return the path of a closed file's other form."""
    return path.with_suffix(PLAIN if path.suffix == PACKED else PACKED)


def _write(path: Path, part: Path, origin: str) -> None:
    part.touch(PRIVATE_FILE)
    if path.suffix == PLAIN:
        with closing(open_segment(path)) as db, part.open("wb") as file:
            write_packed(db, origin, file)
        return
    with closing(sqlite3.connect(part, isolation_level=None)) as db:
        unpack_to(path, db)


def _require_same(path: Path, part: Path) -> None:
    """Read both forms, and refuse the one that was made where a row of it is another."""
    with ExitStack() as stack:
        was, made = (stack.enter_context(closing(_opened(each))) for each in (path, part))
        for table, key in _TABLES.items():
            if list(_rows(was, table, key)) != list(_rows(made, table, key)):
                raise LogUnwritable(f"{part}: table {table} is not that of {path.name}")


def _opened(path: Path) -> sqlite3.Connection:
    if path.suffix != _PART:
        return open_segment(path)
    if path.stem.endswith(PLAIN):
        return sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    db = sqlite3.connect("", isolation_level=None)
    unpack_to(path, db)
    return db


def _rows(db: sqlite3.Connection, table: str, key: str) -> Iterator[tuple[Any, ...]]:
    found = db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    if found:  # format 1 has no checkpoints
        yield from db.execute(f"SELECT * FROM {table} ORDER BY {key}")  # noqa: S608 - our names


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Hold the folder, so that no two conversions write the same part."""
    if not folder.exists():
        yield
        return
    held = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LogRefused(f"{folder}: another conversion is at work there") from error
        yield
    finally:
        os.close(held)
