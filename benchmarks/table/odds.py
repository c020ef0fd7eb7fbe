"""Measure the exact odds of every shipped rulebook, one after another, each from nothing.

There is no floor: nobody else counts them. A pass is a process of its own, so that it remembers
nothing. The figure is processor time, without the start of Python.
"""

import os
import subprocess
import sys
import time
from typing import Final

import msgspec

from benchmarks.instruments.figures import Figure, percentiles, without_floor
from benchmarks.rows import BenchOptions
from table_core.odds.exact import exact_odds
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.rulebook_file import full_shoe

__all__ = ["SECONDS_MOST", "measure"]

SECONDS_MOST: Final = 0.6
_PASSES: Final = 5


def measure(options: BenchOptions) -> list[Figure]:
    """Measure the row `odds`."""
    passes, took = min(options.samples, _PASSES), list[dict[str, float]]()
    books = shipped_ids()[: options.events]
    command = [sys.executable, "-m", "benchmarks.table.odds", *books]
    with options.progress("passes", passes) as advance:
        for done in range(1, passes + 1):
            run = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 - this very module
            took.append(msgspec.json.decode(run.stdout, type=dict[str, float]))
            advance(done)
    p50, p99 = percentiles([sum(each.values()) for each in took])
    slowest = {book: round(max(each[book] for each in took), 2) for book in took[0]}
    return [
        Figure(
            **without_floor(p50, p99, digits=2),
            name="odds",
            unit="s",
            samples=passes,
            goal=f"p50 <= {SECONDS_MOST:g} s for all rulebooks",
            met=p50 <= SECONDS_MOST,
            detail={**slowest, "load": round(os.getloadavg()[0], 2)},
        )
    ]


def _main(*names: str) -> None:
    took = {}
    for name in names:
        book = load_rulebook(name)
        began = time.process_time()
        exact_odds(book, full_shoe(book.decks))
        took[name] = time.process_time() - began
    sys.stdout.buffer.write(msgspec.json.encode(took))


if __name__ == "__main__":
    _main(*sys.argv[1:])
