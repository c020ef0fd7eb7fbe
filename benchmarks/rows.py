"""The rows of `baccarat bench`: what each is called, what it needs, and who measures it.

A row's function takes `Options` and gives the row's figures; its module is imported when the row is
measured, so that no row pays for another's packages. A row that cannot be measured here raises
`Unmeasurable`, and is printed all the same: void, and why.
"""

import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from events.errors import InputError

__all__ = ["ROWS", "Advance", "Options", "Progress", "Row", "Unmeasurable", "rows_named"]

Advance = Callable[[int], object]
"""Told how much is done."""

Progress = Callable[[str, int], AbstractContextManager[Advance]]
"""Told what is counted and how many there will be."""


class Unmeasurable(InputError):  # noqa: N818 - named for what a row is then
    """Something that a row needs is not here: a program, a package, a server, a network."""


def _silent(_: str, __: int) -> AbstractContextManager[Advance]:
    return nullcontext(lambda _: None)


class Options(Struct, frozen=True, kw_only=True):
    """What was asked for on the command line.

    Args:
        samples: coups, passes or rounds of product and floor each; a row may take fewer.
        events: what a row counts by (events, frames, wagers, coups); None leaves it to the row.
        ledger: URL of a PostgreSQL server that makes databases; None starts one for the run.
        data: a folder on the disk to measure; None is the temporary folder.
        progress: shows how far a row is.
    """

    samples: int
    events: int | None = None
    ledger: str | None = None
    data: Path | None = None
    progress: Progress = _silent

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A new folder on the disk to measure, gone at the end."""
        with tempfile.TemporaryDirectory(prefix="baccarat-bench-", dir=self.data) as folder:
            yield Path(folder)


class Row(NamedTuple):
    """A row.

    Args:
        name: as `baccarat bench NAME` has it.
        measure: `module:function`, which takes `Options` and gives a list of `Figure`.
        figures: the names of what it gives; each may be asked for alone.
        needs: what must be there beside the package; for people.
        unasked: whether it is measured where no row is named.
    """

    name: str
    measure: str
    figures: tuple[str, ...]
    needs: str = ""
    unasked: bool = True


ROWS: Final = (
    Row(
        "framing",
        "benchmarks.driver.framing:measure",
        ("framing-enq", "framing-line", "framing-cobs"),
    ),
    Row(
        "replay",
        "benchmarks.table.replay:measure",
        ("replay", "replay_peer"),
        needs="for the peer, requirements/bench.txt",
    ),
    Row("core", "benchmarks.table.core:measure", ("core",)),
    Row("settle", "benchmarks.table.settling:measure", ("settle",)),
    Row(
        "judge",
        "benchmarks.table.judging:measure",
        ("judge",),
        needs="Node.js, npm and its registry",
    ),
    Row("odds", "benchmarks.table.chances:measure", ("odds",)),
    Row("start", "benchmarks.table.starting:measure", ("start_empty", "start_long")),
    Row("open", "benchmarks.table.opening:measure", ("open",)),
    Row(
        "cage",
        "benchmarks.ledger:measure",
        ("cage_copy", "cage_insert"),
        needs="PostgreSQL's server programs, or --ledger",
    ),
    Row(
        "driver",
        "benchmarks.driver.driver:measure",
        ("driver", "driver_memory", "driver_idle"),
    ),
    Row(
        "screens",
        "benchmarks.whole_table:screens",
        ("screens", "screens_memory"),
        needs="Chromium and the developers' packages",
    ),
    Row(
        "property",
        "benchmarks.property.property:measure",
        ("property_rate", "property_page", "property_catchup"),
        needs="PostgreSQL's server programs, or --ledger",
        unasked=False,
    ),
    Row(
        "casino",
        "benchmarks.casino.row:measure",
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
    Row("settlement", "benchmarks.whole_table:settlement", ("latency", "memory")),
)
"""In the order in which they are measured."""


def rows_named(names: Collection[str]) -> list[tuple[Row, Collection[str]]]:
    """The rows that these names mean, each with those of its figures that are wanted.

    Args:
        names: of rows, which want all of their figures, and of figures; where there are none, every
            row that is measured unasked.
    """
    if not names:
        return [(row, row.figures) for row in ROWS if row.unasked]
    found: list[tuple[Row, Collection[str]]] = []
    for row in ROWS:
        wanted = row.figures if row.name in names else set(names) & set(row.figures)
        if wanted:
            found.append((row, wanted))
    return found
