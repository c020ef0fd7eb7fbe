"""Write files of a site atomically: the whole new file is on the disk, or the old one stays."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from events.log.disk import sync

__all__ = ["FileWrite", "write_all_atomically", "write_atomically"]


class FileWrite(NamedTuple):
    """A file to be written.

    Args:
        path: its place, in a folder that exists. Users who could read the old file can read the new
            one: a broker reads its files by a user of its own.
        data: all of it.
        mode: the permissions of a new file, whatever the umask is; it never has more.
    """

    path: Path
    data: bytes
    mode: int


def write_atomically(path: Path, data: bytes, mode: int) -> Path:
    """Write a file next to its place and move it there; see `FileWrite`.

    Returns:
        The path.

    Raises:
        OSError: the disk refused it.
    """
    write_all_atomically([FileWrite(path, data, mode)])
    return path


def write_all_atomically(files: Sequence[FileWrite]) -> None:
    """Write all files next to their places, and only then move them there, in the given order.

    Nothing is written or waited for between the first move and the last, so a reader sees all new
    files a moment later.

    Raises:
        OSError: the disk refused one; if it refused while writing, all old files stay.
    """
    staged = [_staged(*each) for each in files]
    for new, (path, *_) in zip(staged, files, strict=True):
        new.replace(path)
    for folder in {path.parent for path, *_ in files}:
        sync(folder)


def _staged(path: Path, data: bytes, mode: int) -> Path:
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    new.touch(0o600, exist_ok=False)
    if path.exists():
        before = path.stat()
        os.chown(new, before.st_uid, before.st_gid)
        mode = stat.S_IMODE(before.st_mode)
    new.chmod(mode)  # also what the umask has removed
    with new.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return new
