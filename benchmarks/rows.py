"""The rows of `baccarat bench`: the name, the requirements and the measuring function of each.

A row's function takes `BenchOptions` and returns the row's figures.
Its module is imported when the row is measured, so that no row loads another's packages. A row that
cannot be measured here raises `Unmeasurable`; the command prints it all the same: void, with the
reason.
"""

import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from events.errors import InputError

__all__ = ["ROWS", "Advance", "BenchOptions", "BenchRow", "Progress", "Unmeasurable", "rows_named"]

Advance = Callable[[int], object]
"""A callback for the progress."""

Progress = Callable[[str, int], AbstractContextManager[Advance]]
"""A context manager around a count: its name, and the total."""


class Unmeasurable(InputError):  # noqa: N818 - named for what a row is then
    """A program, package, server or network that a row needs is not here."""


class BenchOptions(Struct, frozen=True, kw_only=True):
    """Options of the command line.

    Args:
        samples: coups, passes or rounds of product and floor each; a row may take fewer.
        events: the row's count (events, frames, wagers, coups); None leaves it to the row.
        ledger: URL of a PostgreSQL server that creates databases; None starts one for the run.
        data: a folder on the measured disk; None is the temporary folder.
        progress: shows the progress of a row.
    """

    samples: int
    events: int | None = None
    ledger: str | None = None
    data: Path | None = None
    progress: Progress = lambda _, __: nullcontext(lambda _: None)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Create a folder on the measured disk until the block ends."""
        with tempfile.TemporaryDirectory(prefix="baccarat-bench-", dir=self.data) as folder:
            yield Path(folder)


class BenchRow(NamedTuple):
    """A row.

    Args:
        name: as in `baccarat bench NAME`.
        measure: `module:function`, which takes `BenchOptions` and returns a list of `Figure`.
        figures: the names of its figures; each may be measured alone.
        needs: its requirements besides the package; for people.
        unasked: whether it is measured when no row is named.
    """

    name: str
    measure: str
    figures: tuple[str, ...]
    needs: str = ""
    unasked: bool = True


ROWS: Final = (
    BenchRow(
        "framing",
        "benchmarks.driver.framing:measure",
        (
            "framing-enq",
            "framing-line",
            "framing-cobs",
            "framing-length",
            "framing-fixed",
            "framing-cobs-composed",
            "framing-slip",
            "framing-delimited",
            "framing-delimited-text",
            "framing-line-composed",
        ),
    ),
    BenchRow(
        "replay",
        "benchmarks.table.replay:measure",
        ("replay", "replay_peer"),
        needs="for the peer, requirements/bench.txt",
    ),
    BenchRow("core", "benchmarks.table.core:measure", ("core",)),
    BenchRow("settle", "benchmarks.table.settling:measure", ("settle",)),
    BenchRow(
        "judge",
        "benchmarks.table.batch:measure",
        ("judge",),
        needs="Node.js, npm and its registry",
    ),
    BenchRow("odds", "benchmarks.table.odds:measure", ("odds",)),
    BenchRow("stored", "benchmarks.table.stored:measure", ("stored", "stored_packed")),
    BenchRow("growth", "benchmarks.table.growth:measure", ("growth", "state_bytes")),
    BenchRow("start", "benchmarks.table.starting:measure", ("start_empty", "start_long")),
    BenchRow("open", "benchmarks.table.opening:measure", ("open",)),
    BenchRow("verify", "benchmarks.table.verifying:measure", ("verify", "verify_judged")),
    BenchRow(
        "cage",
        "benchmarks.ledger:measure",
        ("cage_copy", "cage_insert"),
        needs="PostgreSQL's server programs, or --ledger",
    ),
    BenchRow(
        "driver",
        "benchmarks.driver.driver:measure",
        ("driver", "driver_memory", "driver_idle"),
    ),
    BenchRow(
        "screens",
        "benchmarks.whole_table:screens",
        ("screens", "screens_memory"),
        needs="Chromium and the developers' packages",
    ),
    BenchRow(
        "archive",
        "benchmarks.property.archive:measure",
        ("archive_bytes", "archive_answers"),
        needs="PostgreSQL's server programs, or --ledger",
    ),
    BenchRow(
        "property",
        "benchmarks.property.property:measure",
        (
            "property_rate",
            "property_hub",
            "property_page",
            "property_catchup",
            "property_status",
        ),
        needs="PostgreSQL's server programs, or --ledger",
        unasked=False,
    ),
    BenchRow(
        "casino",
        "benchmarks.casino.figures:measure",
        (
            "casino_1",
            "casino_50",
            "casino_200",
            "casino_1000",
            "casino_linear",
            "casino_memory",
        ),
        needs="mosquitto",
    ),
    BenchRow(
        "controller",
        "benchmarks.whole_table:controller",
        ("controller_memory", "controller_processor"),
    ),
    BenchRow("settlement", "benchmarks.whole_table:settlement", ("latency", "memory")),
)
"""The rows in the order of measuring."""


def rows_named(names: Collection[str]) -> list[tuple[BenchRow, Collection[str]]]:
    """Return the rows that these names select, each with its wanted figures.

    Args:
        names: of rows, which select all of their figures, and of figures; if empty, every row that
            is measured unasked.
    """
    if not names:
        return [(row, row.figures) for row in ROWS if row.unasked]
    found: list[tuple[BenchRow, Collection[str]]] = []
    for row in ROWS:
        wanted = row.figures if row.name in names else set(names) & set(row.figures)
        if wanted:
            found.append((row, wanted))
    return found
