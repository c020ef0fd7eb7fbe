"""Processes seen from outside."""

import os
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]


def environment() -> dict[str, str]:
    """Ours, in which a child finds the product too."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def alive(pid: int) -> bool:
    """Whether it runs. A zombie does not: nobody may be there to reap an orphan's body."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def peak_kilobytes(pid: int) -> int:
    """The most memory it ever had resident."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])
