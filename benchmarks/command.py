"""`baccarat bench [NAME]...`: measure the figures of `benchmarks/`, each next to its floor."""

import importlib
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

import click
import msgspec
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from baccarat.services.registry import configure_logging
from benchmarks.chart import ChartLine, chart, read_lines
from benchmarks.instruments.figures import Figure, unmeasured
from benchmarks.machine import RunContext
from benchmarks.rows import ROWS, Advance, BenchOptions, BenchRow, Unmeasurable, rows_named
from events.errors import InputError

__all__ = ["bench", "figures_of"]

_SAMPLES: Final = 300
_NAMES: Final = sorted({name for row in ROWS for name in (row.name, *row.figures)})
_FOLDER: Final = click.Path(exists=True, file_okay=False, writable=True, path_type=Path)
_SVG: Final = click.Path(dir_okay=False, writable=True, path_type=Path)
_LINES: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
_Measure = Callable[[BenchOptions], list[Figure]]


@click.command(short_help="measured figures, each beside its floor")
@click.argument("names", nargs=-1, type=click.Choice(_NAMES), metavar="[NAME]...")
@click.option("--samples", type=click.IntRange(min=1), default=_SAMPLES, show_default=True,
              help="At most so many of product and floor each.")  # fmt: skip
@click.option("--events", type=click.IntRange(min=1),
              help="So many of what a row counts by (events, frames, wagers, coups), instead of "
              "its own number.")  # fmt: skip
@click.option("--ledger", metavar="URL",
              help="A PostgreSQL server that makes databases; else one is started.")  # fmt: skip
@click.option("--data", type=_FOLDER, help="On the disk to measure; else the temporary folder.")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each figure.")
@click.option("--chart", "drawn", type=_SVG, metavar="SVG", help="Draw the figures into this file.")
@click.option("--earlier", type=_LINES, metavar="FILE",
              help="For --chart: the lines of earlier runs, oldest first.")  # fmt: skip
def bench(
    names: tuple[str, ...],
    samples: int,
    events: int | None,
    ledger: str | None,
    data: Path | None,
    as_json: bool,
    drawn: Path | None,
    earlier: Path | None,
) -> None:
    """Measure the product, and beside it the same work with nothing of the product in it.

    NAME is a row or one of its figures; without one every row is measured that does not wait to be
    named. A row that lacks something here is void and says what.
    """
    configure_logging("bench", quiet=True)
    options = BenchOptions(
        samples=samples, events=events, ledger=ledger, data=data, progress=_progress
    )
    lines = _earlier(drawn, earlier)
    occasion, figures = RunContext.now(data), list[Figure]()
    for row, wanted in rows_named(names):
        for figure in figures_of(row, options):
            if figure.name not in wanted:
                continue
            figures.append(figure)
            line = msgspec.json.encode({**msgspec.structs.asdict(figure), "run": occasion})
            lines += read_lines(line)
            if as_json:  # printed at once: a row that breaks loses no earlier figures
                sys.stdout.write(line.decode() + "\n")
                sys.stdout.flush()
    if not as_json:
        _print(figures, occasion)
    if drawn is not None:
        drawn.write_text(chart(lines), encoding="utf-8")


def _earlier(drawn: Path | None, earlier: Path | None) -> list[ChartLine]:
    if drawn is not None and not drawn.parent.is_dir():  # checked before the hours of measuring
        raise InputError(f"{drawn}: {drawn.parent} is no folder")
    if earlier is None:
        return []
    if drawn is None:
        raise InputError("--earlier is for --chart")
    try:
        return read_lines(earlier.read_bytes())
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{earlier}: not what `bench --json` writes: {error}") from error


def figures_of(row: BenchRow, options: BenchOptions) -> list[Figure]:
    """Measure a row and return its figures; void ones if the row lacks something here."""
    module, _, function = row.measure.partition(":")
    measure = cast("_Measure", getattr(importlib.import_module(module), function))
    try:
        return measure(options)
    except Unmeasurable as error:
        return [unmeasured(name, str(error)) for name in row.figures]


@contextmanager
def _progress(what: str, total: int) -> Iterator[Advance]:
    err = Console(stderr=True)
    if not err.is_terminal:
        err.print(f"{total} {what}")
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    ) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)


def _print(figures: list[Figure], occasion: RunContext) -> None:
    table = Table("figure", "", "p50", "p99", "goal", "")
    for each in figures:
        verdict = "void" if each.void else "met" if each.met else "missed"
        table.add_row(each.name, f"product, {each.unit}", _number(each.p50), _number(each.p99))
        floors = _number(each.floor_p50), _number(each.floor_p99)
        table.add_row("", f"floor, {each.unit}", *floors)
        ratios = _number(each.ratio_p50), _number(each.ratio_p99)
        table.add_row("", "ratio", *ratios, each.goal, verdict)
        for key, value in each.detail.items():
            table.add_row("", key, f"{value:g}", "")
        table.add_section()
    out = Console()
    out.print(table)
    out.print(f"{occasion.machine}; load {occasion.load:g} at the beginning; {occasion.fsync}")
    out.print(f"a forced write to this disk takes {occasion.fdatasync_us:g} us")
    for each in figures:
        if each.void:
            out.print(f"{each.name} is void: {each.void}")


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:g}"
