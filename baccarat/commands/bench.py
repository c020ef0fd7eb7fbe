"""`baccarat bench [NAME]`: the figures of `benchmarks/`, each beside its floor."""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import click
import msgspec
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from baccarat.demo.machine import DemoOptions, Machine
from baccarat.services import configure_logging, raising_ours
from benchmarks.driver import FRAMES, driver_figures
from benchmarks.figures import FIGURES, Figure
from benchmarks.framing import framing
from benchmarks.ledger import PASSES, SETTLEMENTS, ledger_figures
from benchmarks.measure import Decided, Play, measure
from benchmarks.opening import OPENS, opening
from benchmarks.replay import EVENTS, figure, stretch
from benchmarks.replay import measure as measure_replay
from benchmarks.screens import screens_figures
from events.errors import InputError
from simulators.croupier import Croupier, PlayedCoup
from simulators.dealing import DealingShoe
from simulators.pty_port import Pace, PtyPort
from simulators.shoe import ShoeSimulator

__all__ = ["bench"]

_SAMPLES: Final = 300
_REPLAY: Final = "replay"
_COUPS: Final = 60  # about as many as a shoe has
_FRAMING: Final = "framing"  # needs no table
_OPEN: Final = "open"  # neither does this, and its log takes a while to make: only by name
_CAGE: Final = "cage"  # only by name: it needs a PostgreSQL server
_DRIVER: Final = "driver"  # the driver alone; only by name, it takes two minutes
_SCREENS: Final = "screens"  # only by name: it needs a browser
_EVENTS: Final = 1_000_000
_NAMES: Final = sorted([*FIGURES, _CAGE, _DRIVER, _FRAMING, _OPEN, _REPLAY, _SCREENS])
_ROUNDS: Final = 5  # of ten megabytes for each framer
_SEED: Final = 20261127
_FIRST_SHOE: Final = "20261127-01"
# A frame at a time, when a line of 4800 baud has carried its last bit: as an adapter hands it over.
_LINE: Final = Pace(seconds_per_byte=10 / 4800)
_FOLDER: Final = click.Path(exists=True, file_okay=False, writable=True, path_type=Path)


@click.command()
@click.argument("name", required=False, type=click.Choice(_NAMES))
@click.option("--samples", type=click.IntRange(min=1), default=_SAMPLES, show_default=True,
              help="Coups and bare frames to measure, half a second each.")  # fmt: skip
@click.option("--events", type=click.IntRange(min=1),
              help=f"How long a log `open` opens ({_EVENTS:,} unless said) or `replay` reads "
              f"({EVENTS:,}), or how many frames `driver` takes ({FRAMES:,}).")  # fmt: skip
@click.option("--ledger", metavar="URL",
              help="For `cage`: a server that makes databases, postgresql://...")  # fmt: skip
@click.option("--data", type=_FOLDER, help="On the disk to measure; else the temporary folder.")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each figure.")
def bench(
    name: str | None,
    samples: int,
    events: int | None,
    ledger: str | None,
    data: Path | None,
    as_json: bool,
) -> None:
    """Measure the product, and beside it the same hops with nothing of the product in them."""
    configure_logging("bench", quiet=True)
    figures: list[Figure] = []
    if name in {None, _FRAMING}:
        figures += framing(min(samples, _ROUNDS))
    if name in {None, _REPLAY}:
        figures.append(_replay(events or EVENTS, data))
    if name == _OPEN:
        figures.append(_open_figure(samples, events or _EVENTS, data))
    if name == _CAGE:
        figures += _cage_figures(samples, events or SETTLEMENTS, ledger)
    if name == _DRIVER:
        figures += _driver_figures(samples, events or FRAMES, data)
    if name in {None, *FIGURES, _SCREENS}:
        figures += _table_figures(name, samples, data)
    if as_json:
        sys.stdout.writelines(msgspec.json.encode(each).decode() + "\n" for each in figures)
    else:
        _print(figures)


def _table_figures(name: str | None, samples: int, data: Path | None) -> list[Figure]:
    err = Console(stderr=True)
    if not err.is_terminal:
        err.print(f"{samples} coups at the pace of a real line: half a second each")
    with tempfile.TemporaryDirectory(prefix="baccarat-bench-", dir=data) as folder:
        if name == _SCREENS:
            return _run(Path(folder), samples, err, screens_figures, "displays")
        found = _run(Path(folder), samples, err, measure)
    return [FIGURES[each](found) for each in ([name] if name else FIGURES)]


def _open_figure(samples: int, events: int, data: Path | None) -> Figure:
    with (
        tempfile.TemporaryDirectory(prefix="baccarat-bench-", dir=data) as folder,
        _progress(Console(stderr=True)) as progress,
    ):
        task = progress.add_task("events", total=events)
        return opening(
            Path(folder),
            events,
            min(samples, OPENS),
            lambda done: progress.update(task, completed=done),
        )


def _cage_figures(samples: int, settlements: int, url: str | None) -> list[Figure]:
    if url is None:
        raise InputError("bench cage: name a PostgreSQL server by --ledger postgresql://...")
    passes = min(samples, PASSES)
    with _progress(Console(stderr=True)) as progress:
        task = progress.add_task("passes", total=passes)
        return ledger_figures(
            url, settlements, passes, lambda done: progress.update(task, completed=done)
        )


def _driver_figures(samples: int, frames: int, data: Path | None) -> list[Figure]:
    with (
        tempfile.TemporaryDirectory(prefix="baccarat-bench-", dir=data) as folder,
        _progress(Console(stderr=True)) as progress,
    ):
        task = progress.add_task("reports", total=samples)
        return driver_figures(
            Path(folder), samples, frames, lambda done: progress.update(task, completed=done)
        )


class _Play:
    """The people and the shoe of `simulators` at a machine's table."""

    def __init__(self, machine: Machine, port: PtyPort) -> None:
        self._played: PlayedCoup | None = None
        self._croupier = Croupier(
            machine.table.bus_settings("croupier"),
            machine.table.topics,
            ShoeSimulator(port, DealingShoe(seed=_SEED), first_shoe=_FIRST_SHOE, speed=0),
            seed=_SEED,
            speed=0,
            on_coup=self._note,
        )

    async def run(self) -> None:
        await self._croupier.run()

    async def coup(self) -> Decided | None:
        await self._croupier.play(self._croupier.tally.coups + 1)
        played = self._played
        if played is None or played.phase != "settled":
            return None
        return Decided(played.coup, played.dealt.decided_ns)

    def _note(self, coup: PlayedCoup) -> None:
        self._played = coup


_Measured = TypeVar("_Measured")
_Measure = Callable[[Machine, Play, int, Callable[[int], None]], Awaitable[_Measured]]


def _run(
    folder: Path, samples: int, err: Console, how: _Measure[_Measured], *more: str
) -> _Measured:
    """Measure at a machine's table; `more` are services beside driver and core."""
    options = DemoOptions(
        rounds=None,
        seed=_SEED,
        speed=0,
        rulebook="au-commission",
        profile="enq-bcc",
        disclosure="immediate",
        data=folder,
        port=None,
    )
    with Machine(options) as machine, _progress(err) as progress, raising_ours():
        task = progress.add_task("coups", total=samples)
        port = PtyPort(machine.link, pace=_LINE)
        port.plug_in()
        try:
            for service in ("shoe", "table", *more):
                machine.start(service)
            return asyncio.run(
                _measure(machine, port, samples, partial(progress.update, task), how)
            )
        finally:
            port.unplug()


async def _measure(
    machine: Machine,
    port: PtyPort,
    samples: int,
    advance: Callable[..., None],
    how: _Measure[_Measured],
) -> _Measured:
    play = _Play(machine, port)  # which needs the loop
    return await how(machine, play, samples, lambda done: advance(completed=done))


def _replay(events: int, data: Path | None) -> Figure:
    """A whole table plays a while as fast as it goes; its log is made as long as was asked for."""
    err = Console(stderr=True)
    with (
        tempfile.TemporaryDirectory(prefix="baccarat-bench-", dir=data) as folder,
        _progress(err) as progress,
    ):
        task = progress.add_task("passes", total=None)
        played, log = Path(folder) / "demo", Path(folder) / "table.sqlite"
        command = [sys.executable, "-m", "baccarat", "demo", "--rounds", str(_COUPS)]
        command += ["--speed", "0", "--seed", str(_SEED), "--data", str(played), "--json"]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own command
        stretch(played / "table.sqlite", log, events)
        return figure(*measure_replay(log, partial(_advance, progress, task)))


def _advance(progress: Progress, task: TaskID, done: int, total: int) -> None:
    progress.update(task, completed=done, total=total)


def _progress(err: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )


def _print(figures: list[Figure]) -> None:
    table = Table("figure", "", "p50", "p99", "goal", "")
    for each in figures:
        verdict = "void" if each.void else "met" if each.met else "missed"
        table.add_row(each.name, f"product, {each.unit}", f"{each.p50:g}", f"{each.p99:g}")
        table.add_row("", f"floor, {each.unit}", f"{each.floor_p50:g}", f"{each.floor_p99:g}")
        table.add_row("", "ratio", f"{each.ratio_p50:g}", f"{each.ratio_p99:g}", each.goal, verdict)
        for key, value in each.detail.items():
            table.add_row("", key, f"{value:g}", "")
        table.add_section()
    out = Console()
    out.print(table)
    for each in figures:
        if each.void:
            out.print(f"{each.name} is void: {each.void}")
