"""Remove a database with its side files, put files in place, and force them to the disk."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

__all__ = [
    "PRIVATE_FILE",
    "PRIVATE_FOLDER",
    "PRIVATE_READ_ONLY",
    "SIDE_FILES",
    "remove_database",
    "sync",
    "write_durably",
]

PRIVATE_FILE: Final = 0o600
"""The mode of a new file that its owner alone may read, whatever the umask is."""
PRIVATE_READ_ONLY: Final = 0o400
"""That of one which nobody writes any more."""
PRIVATE_FOLDER: Final = 0o700
"""That of a new folder of such files."""
SIDE_FILES: Final = ("-wal", "-shm", "-journal")
"""The suffixes of the files that SQLite keeps next to a database."""


def remove_database(database: Path) -> None:
    """Remove a database and its side files, as far as they exist."""
    for suffix in ("", *SIDE_FILES):
        database.with_name(database.name + suffix).unlink(missing_ok=True)


def write_durably(
    path: Path, data: bytes | Iterable[bytes], mode: int | None = PRIVATE_FILE
) -> None:
    """Put a file in place, whole and on the disk, or leave the old one.

    Each process writes a temporary file of its own, and the last one to end wins.

    Args:
        path: the file.
        data: all of it, at once or piece by piece.
        mode: its permissions, whatever the umask is; None for those of any new file.

    Raises:
        OSError: the disk refused it.
    """
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with new.open("wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.writelines((data,) if isinstance(data, bytes) else data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    sync(path.parent)


def sync(path: Path) -> None:
    """Force a file's bytes to the disk, or a folder's entries: before that no rename is durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
