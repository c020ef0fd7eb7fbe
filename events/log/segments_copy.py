"""Copy a log's closed files into the archive of the log's copy."""

import filecmp
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from events.errors import LogRefused
from events.log.disk import sync
from events.log.newest_anchor import start_of_file
from events.log.schema import ORIGIN
from events.log.segments import find_segments

__all__ = ["copy_segments"]

_PART: Final = ".part"
_READ_ONLY: Final = 0o444


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
    target.mkdir(exist_ok=True)
    copied = []
    for file in files:
        to = target / file.path.name
        if to.exists():
            if not filecmp.cmp(file.path, to, shallow=False):
                raise LogRefused(f"{to}: is there already, and is not {file.path}")
            continue
        part = to.with_name(f".{to.name}{_PART}")
        try:
            shutil.copyfile(file.path, part)
            part.chmod(_READ_ONLY)
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
