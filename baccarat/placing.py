"""Files of a site put in their place: whole and on the disk, or what was there stays."""

import os
import stat
from pathlib import Path

__all__ = ["put_in_place"]


def put_in_place(path: Path, data: bytes, mode: int) -> Path:
    """Write a file beside its place and move it there.

    Args:
        path: where it belongs; its folder is there. Whoever could read what stood there still
            can: a broker reads its files by a user of its own.
        data: all of it.
        mode: the permissions of a new file, from its first moment on.

    Returns:
        The path.

    Raises:
        OSError: the disk refused it.
    """
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    new.touch(mode, exist_ok=False)
    if path.exists():
        before = path.stat()
        os.chown(new, before.st_uid, before.st_gid)
        new.chmod(stat.S_IMODE(before.st_mode))
    with new.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return path
