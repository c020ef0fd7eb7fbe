"""Files of a site put in their place: whole and on the disk, or what was there stays."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["Placed", "put_in_place", "put_together"]


class Placed(NamedTuple):
    """A file that is to be put in its place.

    Args:
        path: where it belongs; its folder is there. Whoever could read what stood there still
            can: a broker reads its files by a user of its own.
        data: all of it.
        mode: the permissions of a new file, from its first moment on.
    """

    path: Path
    data: bytes
    mode: int


def put_in_place(path: Path, data: bytes, mode: int) -> Path:
    """Write a file beside its place and move it there; see `Placed`.

    Returns:
        The path.

    Raises:
        OSError: the disk refused it.
    """
    put_together([Placed(path, data, mode)])
    return path


def put_together(files: Sequence[Placed]) -> None:
    """Write all of them beside their places, and only then move them there, in the order given.

    Between the first move and the last nothing is written and nothing waited for: who reads them
    again a moment later has all of them.

    Raises:
        OSError: the disk refused one; where it was in writing, what was there stays.
    """
    staged = [_staged(*each) for each in files]
    for new, (path, *_) in zip(staged, files, strict=True):
        new.replace(path)
    for folder in {path.parent for path, *_ in files}:
        _sync(folder)


def _staged(path: Path, data: bytes, mode: int) -> Path:
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
    return new


def _sync(folder: Path) -> None:
    line = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(line)
    finally:
        os.close(line)
