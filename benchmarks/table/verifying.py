"""Measure how long a whole log takes to verify, without and with its judge, on all processors.

The log is that of the row `open`. Product: `baccarat log verify` without the command's own start,
in as many processes as there are processors. Floor: this process reads the rows with SQLite, hashes
and decodes them, and does nothing else. They take turns; the file is in the page cache for both.
"""

import hashlib
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from baccarat.history.log_judging import verify_and_judge
from benchmarks.instruments.figures import Figure, percentiles, seconds_of, side_by_side
from benchmarks.rows import BenchOptions
from benchmarks.table.opening import EVENTS, make_log
from events.errors import OurBug
from events.log.verify_in_parts import verify_in_parts
from events.types import decode_data, decode_envelope

__all__ = ["measure"]

_PASSES: Final = 3
# Times the floor, on two processors.
_MOST: Final = {"verify": 1.6, "verify_judged": 2.5}


def measure(options: BenchOptions) -> list[Figure]:
    """Measure the row `verify`."""
    events, jobs = options.events or EVENTS, len(os.sched_getaffinity(0))
    with options.folder() as folder, options.progress("events", events) as advance:
        path = folder / "table.sqlite"
        made, _ = make_log(path, events, advance)
        timed: dict[str, list[float]] = {"verify": [], "verify_judged": [], "floor": []}
        for _ in range(min(options.samples, _PASSES)):
            timed["floor"].append(seconds_of(lambda: _bare(path)))
            timed["verify"].append(seconds_of(lambda: _verified(path, jobs)))
            timed["verify_judged"].append(seconds_of(lambda: _judged(path, jobs)))
    return [_figure(name, timed, made, jobs) for name in _MOST]


def _figure(name: str, timed: dict[str, list[float]], events: int, jobs: int) -> Figure:
    product, floor = percentiles(timed[name]), percentiles(timed["floor"])
    told = side_by_side(product, floor, digits=2, floor_digits=2)
    load = round(os.getloadavg()[0], 2)
    return Figure(
        **told,
        name=name,
        unit="s",
        samples=len(timed[name]),
        goal=f"at most {_MOST[name]} times its floor, on two processors",
        met=told["ratio_p50"] <= _MOST[name],
        detail={"events": float(events), "jobs": float(jobs), "load": load},
    )


def _verified(path: Path, jobs: int) -> None:
    if jobs > 1 and not verify_in_parts(path, jobs):
        raise OurBug("the bench's log does not verify in parts")


def _judged(path: Path, jobs: int) -> None:
    verdict, judged = verify_and_judge(path, None, jobs=jobs, held=(), keys=())
    if not verdict.ok:
        raise OurBug(f"the bench's log does not verify: {verdict.reason}")
    if judged.not_decoded or judged.not_judged or not judged.decoded:
        raise OurBug(f"the bench's log is not judged in full: {judged}")


def _bare(path: Path) -> None:
    head = b""
    with closing(sqlite3.connect(path)) as db:
        for stored, _ in db.execute("SELECT bytes, hash FROM event ORDER BY position"):
            head = hashlib.sha256(head + stored).digest()
            hashlib.sha256(b"\0" + stored).digest()
            decode_data(decode_envelope(stored))
