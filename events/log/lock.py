"""One writer per log: an exclusive `flock` on a side file, held while the log is open.

The lock is on a side file because closing any descriptor of the log would drop the POSIX locks that
SQLite holds on it in this process (sqlite.org/howtocorrupt.html, 2.2). The kernel releases the lock
when its holder dies, however it dies, so a crash needs no clean-up by hand.
"""

import fcntl
import os
import time
from pathlib import Path
from typing import Final, Self

from events.errors import LogRefused
from events.log.disk import PRIVATE_FILE
from events.log.schema import LOCK_SUFFIX

__all__ = ["WriterLock"]

# A verifier holds the lock for microseconds, and a supervisor may start us while our predecessor is
# still dying. So wait a quarter of a second before reporting a second writer.
_ATTEMPTS: Final = 25
_PAUSE_S: Final = 0.01
_PID_BYTES: Final = 20


class WriterLock:
    """The right to write a log. Use `acquire`."""

    def __init__(self, path: Path, descriptor: int, *, created: bool) -> None:
        self._path = path
        self._descriptor = descriptor
        self._created = created

    @classmethod
    def acquire(cls, log: Path) -> Self:
        """Take the lock of `log`.

        Raises:
            LogRefused: another writer has it.
            OSError: the side file cannot be made or opened.
        """
        path = log.with_name(log.name + LOCK_SUFFIX)
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_PAUSE_S)
            descriptor, created = _open(path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(descriptor, _PID_BYTES, 0).decode("ascii", "replace").strip()
                os.close(descriptor)
                continue
            if _is_still(path, descriptor):
                return cls(path, descriptor, created=created)
            os.close(descriptor)
            holder = ""
        by = f" (process {holder})" if holder else ""
        raise LogRefused(f"{log}: another writer{by} has this log; stop it first")

    def sign(self) -> None:
        """Write our process id into the lock file, for the message to a second writer."""
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self, *, undo: bool = False) -> None:
        """Release the lock.

        Args:
            undo: also remove the side file if this lock made it.
        """
        if undo and self._created:
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


def _open(path: Path) -> tuple[int, bool]:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_FILE), True
    except FileExistsError:
        return os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE), False


def _is_still(path: Path, descriptor: int) -> bool:
    """Report whether the path still names the file we locked: a refused opening removes its own."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
