"""What the kernel says of a process: its processor time, waits and memory. Linux only."""

import os
import time
from pathlib import Path
from typing import Final

__all__ = ["peak_mb", "processor_s", "resident_mb", "wake_ups"]

_BYTES_PER_MB: Final = 1_000_000
_BYTES_PER_KB: Final = 1_024
_OF_ALL_THREADS: Final = 2  # the clock's kind, as clock_getcpuclockid(3) makes its number


def processor_s(pid: int) -> float:
    """Return the processor time of a process so far, seconds, from the clock of its threads.

    /proc counts in hundredths of a second, which are too coarse for some seconds of little work.
    """
    return time.clock_gettime(~pid << 3 | _OF_ALL_THREADS)


def wake_ups(pid: int) -> int:
    """Return how often the threads of a process have waited, and so were woken, so far."""
    return sum(
        int(line.split()[1])
        for status in Path(f"/proc/{pid}/task").glob("*/status")
        for line in status.read_text("utf-8", "replace").splitlines()
        if line.startswith("voluntary_ctxt_switches:")
    )


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process, MB of a million bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / _BYTES_PER_MB


def peak_mb(pid: int) -> float:
    """Return the peak resident memory of a process; `getrusage` would count its parent's, too."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(peak) * _BYTES_PER_KB / _BYTES_PER_MB
