"""Kept logs with closed books, small enough for a test, that are verified in parts all the same."""

import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from baccarat.history import log_judging
from baccarat.history.log_judging import verify_and_judge
from events.log import verify_in_parts
from events.log.verify import VerificationResult
from table_core.evidence.log_judge import JudgedCounts
from tests.support.log.corpus import CORPUS
from tests.support.log.logs import forging
from tests.support.verifier.second import unpacked_log

DIVIDED = (
    "0.2.0/kept/all-types",
    "0.2.0/kept/money-per-shoe",
    "0.1.0/kept/world-6",
)
"""Logs that can be divided; in the last two a part speaks of coups of another."""
UNDIVIDED = ("0.1.0/kept/by-hand", "0.1.0/kept/closed-files", "0.1.0/kept/world-2")
"""Balances of seats, and no books: one process judges them."""

_BOOKS, _END = (192, 237), 338
_FAULTS = (
    "DELETE FROM event WHERE position = ?",
    "UPDATE event SET hash = zeroblob(32) WHERE position = ?",
    "UPDATE event SET at = '' WHERE position = ?",
    "UPDATE event SET bytes = CAST(replace(bytes, '\"v\":', '\"v\":9') AS BLOB) WHERE position = ?",
)

Fault = tuple[str, int]


class Told(NamedTuple):
    """What several processes said, and whether they had to leave it to one."""

    verdict: tuple[VerificationResult, JudgedCounts]
    divided: bool
    progress: list[tuple[int, int]]


def divided_story(name: str, folder: Path) -> Path:
    """Unpack a kept log and its closed files, and return its path."""
    log = unpacked_log(CORPUS / name, folder)
    for file in (CORPUS / name / "archive").glob("*.xz"):
        (folder / "archive").mkdir(exist_ok=True)
        (folder / "archive" / file.stem).write_bytes(lzma.decompress(file.read_bytes()))
    return log


def in_parts(log: Path, jobs: int, monkeypatch: pytest.MonkeyPatch) -> Told:
    """Verify and judge a log in parts of some twenty events at least."""
    divided: list[bool] = []
    progress: list[tuple[int, int]] = []

    def spied(*args: object, **options: object) -> VerificationResult | None:
        found = verify_in_parts.verify_in_parts(*args, **options)  # type: ignore[arg-type]  # handed on as they came
        divided.append(found is not None)
        return found

    monkeypatch.setattr(verify_in_parts, "_LEAST_EVENTS", 20)
    monkeypatch.setattr(log_judging, "verify_in_parts", spied)
    verdict = verify_and_judge(
        log, lambda done, of: progress.append((done, of)), jobs=jobs, held=(), keys=()
    )
    return Told(verdict, divided == [True], progress)


def faults_at_boundaries() -> Iterator[Fault]:
    """Yield each kind of fault at, before and behind each end of a part of the first log."""
    for books in _BOOKS:
        for position in (1, books - 1, books, books + 1, _END - 1):
            yield from ((fault, position) for fault in _FAULTS)


def damaged(fault: Fault, folder: Path) -> Path:
    """Return the path of a copy of the first log with a fault."""
    log = divided_story(DIVIDED[0], folder)
    with forging(log) as db:
        db.execute(fault[0], (fault[1],))
    return log
