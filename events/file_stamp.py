"""Whether a file has changed since it was looked at."""

from pathlib import Path

__all__ = ["file_stamp"]


def file_stamp(path: Path) -> tuple[int, int, int] | None:
    """Return a file's inode, size and time of writing; None where it cannot be looked at.

    Two writes may share a tick of the time, so all three are compared.
    """
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
