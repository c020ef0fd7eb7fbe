"""Whether a file has changed since it was looked at."""

import os
from pathlib import Path

__all__ = ["FileWatch", "file_stamp"]


class FileWatch:
    """Looks whether files have changed.

    Args:
        paths: the files, which are looked at for the first time now.
    """

    def __init__(self, *paths: Path) -> None:
        self._paths = tuple(map(str, paths))  # each message asks: a Path would cost half the time
        self._seen = self._look()

    def changed(self) -> bool:
        """Return whether one of them has changed since the last look."""
        before, self._seen = self._seen, self._look()
        return self._seen != before

    def _look(self) -> list[tuple[int, int, int] | None]:
        return [file_stamp(path) for path in self._paths]


def file_stamp(path: str | Path) -> tuple[int, int, int] | None:
    """Return a file's inode, size and time of writing; None where it cannot be looked at.

    Two writes may share a tick of the time, so all three are compared.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - a `str` costs half, and is looked at 20 times a second
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
