"""Finds the driver of a table on this machine, as any user may: by its unit, or by its lock."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["running_driver"]

_PROCESSES: Final = Path("/proc")


def running_driver(table: str, journal: Path, processes: Path = _PROCESSES) -> str | None:
    """Return what runs the table's driver: its unit, or its process; None where none runs.

    Args:
        table: its id.
        journal: the driver's folder; its lock holds the process id.
        processes: the folder of this machine's processes.
    """
    unit = f"baccarat-shoe@{table}.service"
    for group in processes.glob("[0-9]*/cgroup"):
        with suppress(OSError):
            if f"/{unit}" in group.read_text("utf-8"):
                return unit
    with suppress(OSError):
        lock = os.open(journal / "lock", os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            number = os.read(lock, 32).decode("ascii", "replace").strip()
            return f"process {number}" if number else "another process"
        finally:
            os.close(lock)
    return None
