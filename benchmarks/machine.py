"""The time, machine and build of a run, reported with each of its figures."""

import os
import platform
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final, Self

from msgspec import Struct

from events.clock import SystemClock, rfc3339

__all__ = ["RunContext"]

_DISTRIBUTION: Final = "baccarat-table"
_FORCED: Final = 20
_US: Final = 1_000_000
_FSYNC: Final = "SQLite WAL, synchronous=FULL; journals fdatasync; PostgreSQL fsync on"


class RunContext(Struct, frozen=True, kw_only=True):
    """One run.

    Args:
        at: when it began, RFC 3339.
        version: of the product.
        machine: processors, kernel and Python, for people.
        load: one minute's when it began.
        fsync: the meaning of "durable" in every figure that uses the word.
        fdatasync_us: the median of a few forced writes to the measured disk.
    """

    at: str
    version: str
    machine: str
    load: float
    fsync: str
    fdatasync_us: float

    @classmethod
    def now(cls, data: Path | None) -> Self:
        """Describe the run that begins now.

        Args:
            data: a folder on the measured disk; None is the temporary folder.
        """
        try:
            of = version(_DISTRIBUTION)
        except PackageNotFoundError:
            of = "not installed"
        python = f"Python {platform.python_version()}"
        return cls(
            at=rfc3339(SystemClock().utc_ns()),
            version=of,
            machine=f"{os.cpu_count()} x {_processor()}, Linux {platform.release()}, {python}",
            load=round(os.getloadavg()[0], 2),
            fsync=_FSYNC,
            fdatasync_us=round(_forced_us(data)),
        )


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _forced_us(data: Path | None) -> float:
    with tempfile.TemporaryFile(dir=data) as file:
        took = []
        for _ in range(_FORCED):
            file.write(b"baccarat\n")
            file.flush()
            began = perf_counter()
            os.fdatasync(file.fileno())
            took.append((perf_counter() - began) * _US)
    return median(took)
