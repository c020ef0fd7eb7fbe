"""Remove a database with its side files, and force files and folders to the disk."""

import os
from pathlib import Path
from typing import Final

__all__ = ["SIDE_FILES", "remove_database", "sync_file", "sync_folder"]

SIDE_FILES: Final = ("-wal", "-shm", "-journal")
"""The suffixes of the files that SQLite keeps next to a database."""


def remove_database(database: Path) -> None:
    """Remove a database and its side files, as far as they exist."""
    for suffix in ("", *SIDE_FILES):
        database.with_name(database.name + suffix).unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Force a folder's entries to the disk; before that a rename is not durable."""
    _sync(folder)


def sync_file(path: Path) -> None:
    """Force a file's bytes to the disk."""
    _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
