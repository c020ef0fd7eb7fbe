"""A database's files on the disk: all of them gone, a folder's entries safe."""

import os
from pathlib import Path
from typing import Final

__all__ = ["SIDE_FILES", "remove_database", "sync_file", "sync_folder"]

SIDE_FILES: Final = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database, by what it adds to its name."""


def remove_database(database: Path) -> None:
    """Remove a database with what lies beside it, as far as it is there."""
    for suffix in ("", *SIDE_FILES):
        database.with_name(database.name + suffix).unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Return when the folder's entries are on the disk: a rename is not before that."""
    _sync(folder)


def sync_file(path: Path) -> None:
    """Return when the file's bytes are on the disk."""
    _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
