"""The rows of `baccarat bench` that need a whole table with a shoe and people of `simulators`."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeVar

from baccarat.demo.machine import DemoOptions, Machine
from baccarat.services.registry import unwrapped_errors
from benchmarks.instruments.browser_frames import require_browser
from benchmarks.instruments.figures import FIGURES, Figure
from benchmarks.instruments.measure import Decided, Play
from benchmarks.instruments.measure import measure as measure_settlements
from benchmarks.rows import BenchOptions
from benchmarks.screens import screens_figures
from simulators.device.pty_port import Pace, PtyPort
from simulators.people.dealer_and_patrons import Croupier, PlayedCoup
from simulators.shoe.dealing import DealingShoe
from simulators.shoe.player import ShoeSimulator

__all__ = ["screens", "settlement"]

_SEED: Final = 20261127
_FIRST_SHOE: Final = "20261127-01"
# A frame at a time, after a line of 4800 baud has carried its last bit, as an adapter delivers it.
_LINE: Final = Pace(seconds_per_byte=10 / 4800)


def settlement(options: BenchOptions) -> list[Figure]:
    """Measure the latency of a settlement, and the services' memory meanwhile."""
    found = _run(options, measure_settlements)
    return [of(found) for of in FIGURES.values()]


def screens(options: BenchOptions) -> list[Figure]:
    """Measure from a settlement in the log to pixels.

    Raises:
        Unmeasurable: there is no browser, or no driver for it.
    """
    require_browser()
    return _run(options, screens_figures, "displays")


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
_Measure = Callable[[Machine, Play, int, Callable[[int], object]], Awaitable[_Measured]]


def _run(options: BenchOptions, how: _Measure[_Measured], *more: str) -> _Measured:
    """Measure at a machine's table; `more` are services besides driver and core."""
    with (
        options.folder() as folder,
        options.progress("coups", options.samples) as advance,
        Machine(_machine(folder)) as machine,
        unwrapped_errors(),
    ):
        port = PtyPort(machine.link, pace=_LINE)
        port.plug_in()
        try:
            for service in ("shoe", "table", *more):
                machine.start(service)
            return asyncio.run(_measure(machine, port, options.samples, advance, how))
        finally:
            port.unplug()


def _machine(folder: Path) -> DemoOptions:
    return DemoOptions(
        rounds=None,
        seed=_SEED,
        speed=0,
        rulebook="au-commission",
        profile="enq-bcc",
        disclosure="immediate",
        data=folder,
        port=None,
    )


async def _measure(
    machine: Machine,
    port: PtyPort,
    samples: int,
    advance: Callable[[int], object],
    how: _Measure[_Measured],
) -> _Measured:
    play = _Play(machine, port)  # which needs the loop
    return await how(machine, play, samples, advance)
