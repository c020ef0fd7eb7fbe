"""The rows of `baccarat bench` that need a whole table with a shoe and people of `simulators`."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from statistics import fmean
from time import monotonic
from typing import Final, TypeVar

from msgspec import Struct, field, structs

from baccarat.demo.machine import DemoOptions, Machine
from baccarat.local_brokers.mosquitto import MosquittoBroker, find_mosquitto
from baccarat.services.registry import unwrapped_errors
from benchmarks.instruments.bare_services import BareServices
from benchmarks.instruments.browser_frames import require_browser
from benchmarks.instruments.figures import (
    FIGURES,
    Figure,
    percentiles,
    side_by_side,
)
from benchmarks.instruments.measure import Decided, MemoryUse, Play, memory_of, sum_memory
from benchmarks.instruments.measure import measure as measure_settlements
from benchmarks.instruments.processes import processor_s, wake_ups
from benchmarks.rows import BenchOptions
from benchmarks.screens import screens_figures
from events.errors import InputError
from simulators.device.pty_port import Pace, PtyPort
from simulators.people.dealer_and_patrons import Croupier, PlayedCoup
from simulators.shoe.dealing import DealingShoe
from simulators.shoe.player import ShoeSimulator

__all__ = ["controller", "screens", "settlement"]

_SEED: Final = 20261127
_LIVE_COUPS: Final = 6
# The goals for a small controller (decisions 117 and 129), times the floor.
_MEMORY_MOST: Final = 1.4
_PROCESSOR_MOST: Final = 4.0
# How long the floor is measured after each coup.
_BARE_TURN_S: Final = 10.0
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


class _LivePace(Struct):
    """What the processes of a table take at a live pace, coup by coup.

    Args:
        memory: of all together, after each coup.
        sizes: of each at the end, MB.
        processor: of each, % of a core.
        wake_ups: of each, a second.
        bare: the processor of the floor after each coup, % of a core.
    """

    memory: list[MemoryUse] = field(default_factory=list)
    sizes: dict[str, float] = field(default_factory=dict)
    processor: list[dict[str, float]] = field(default_factory=list)
    wake_ups: list[dict[str, float]] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)


def controller(options: BenchOptions) -> list[Figure]:
    """Measure memory and processor of a whole table at a live pace."""
    options = structs.replace(options, samples=options.events or _LIVE_COUPS)
    found = _run(
        options, partial(_at_a_live_pace, turn_s=_BARE_TURN_S), "displays", "cage", speed=1
    )
    product = percentiles([each.proportional for each in found.memory])
    bare = _bare_mb(options) + found.sizes["broker"]
    load = {"load": round(os.getloadavg()[0], 2)}
    each = {name: round(of_core, 2) for name, of_core in _means(found.processor).items()}
    woken = {f"wake_ups_{name}": round(n, 1) for name, n in _means(found.wake_ups).items()}
    used = percentiles([sum(it.values()) - it["broker"] for it in found.processor])
    floor = percentiles(found.bare)
    sizes, whole = _with_mosquitto(options)
    return [
        Figure(
            **side_by_side(product, (bare, bare), digits=1),
            name="controller_memory",
            unit="MB",
            samples=len(found.memory),
            goal=f"ratio_p99 <= {_MEMORY_MOST:g}, PSS of all five processes together",
            met=product[1] <= _MEMORY_MOST * bare,
            detail=found.sizes | sizes | load,
        ),
        Figure(
            **side_by_side(used, floor, digits=2),
            name="controller_processor",
            unit="% of a core",
            samples=len(found.memory),
            goal=f"ratio_p50 <= {_PROCESSOR_MOST:g}, the four services together",
            met=used[0] <= _PROCESSOR_MOST * floor[0],
            detail=each | woken | whole | load,
        ),
    ]


def _with_mosquitto(options: BenchOptions) -> tuple[dict[str, float], dict[str, float]]:
    """Return memory and processor of the same table with a site's broker, for the details."""
    try:
        find_mosquitto()
    except InputError:
        return {}, {}
    start = MosquittoBroker.start
    found = _run(options, _at_a_live_pace, "displays", "cage", speed=1, start_broker=start)
    _, whole = percentiles([each.proportional for each in found.memory])
    used = _means(found.processor)
    return (
        {"mosquitto": found.sizes["broker"], "all_with_mosquitto": round(whole, 1)},
        {
            "mosquitto": round(used["broker"], 2),
            "all_with_mosquitto": round(sum(used.values()), 2),
        },
    )


def _bare_mb(options: BenchOptions) -> float:
    """Return the memory of the floor's processes, after the product's, which would share theirs."""
    with options.folder() as folder, BareServices(folder) as bare:
        return sum(memory_of(pid).proportional for pid in bare.pids)


async def _at_a_live_pace(
    machine: Machine,
    play: Play,
    coups: int,
    advance: Callable[[int], object],
    *,
    turn_s: float = 0,
) -> _LivePace:
    """Play coups at a live pace; after each, measure the floor's processor for `turn_s`."""
    found = _LivePace()
    async with asyncio.TaskGroup() as group:
        background = [group.create_task(each) for each in (play.run(), machine.watch())]
        await play.coup()  # whose shoe is loaded first
        for number in range(coups):
            before, slept = _of_each(processor_s, machine), _of_each(wake_ups, machine)
            begun = monotonic()
            await play.coup()
            took = monotonic() - begun
            used, woken = _of_each(processor_s, machine), _of_each(wake_ups, machine)
            found.processor.append({n: (used[n] - before[n]) / took * 100 for n in used})
            found.wake_ups.append({n: (woken[n] - slept[n]) / took for n in woken})
            parts = {name: memory_of(pid) for name, pid in machine.pids.items()}
            found.memory.append(sum_memory(list(parts.values())))
            if turn_s:
                with BareServices(machine.data) as bare:
                    found.bare.append(await bare.processor(turn_s))
            advance(number + 1)
        for task in background:
            task.cancel()
    found.sizes = {name: round(part.proportional, 1) for name, part in parts.items()}
    return found


def _of_each(what: Callable[[int], float], machine: Machine) -> dict[str, float]:
    return {name: what(pid) for name, pid in machine.pids.items()}


def _means(coups: list[dict[str, float]]) -> dict[str, float]:
    return {name: fmean(coup[name] for coup in coups) for name in coups[0]}


class _Play:
    """The people and the shoe of `simulators` at a machine's table."""

    def __init__(self, machine: Machine, port: PtyPort, speed: float) -> None:
        self._played: PlayedCoup | None = None
        self._croupier = Croupier(
            machine.table.bus_settings("croupier"),
            machine.table.topics,
            ShoeSimulator(port, DealingShoe(seed=_SEED), first_shoe=_FIRST_SHOE, speed=speed),
            seed=_SEED,
            speed=speed,
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


def _run(
    options: BenchOptions,
    how: _Measure[_Measured],
    *more: str,
    speed: float = 0,
    start_broker: Callable[[Path], MosquittoBroker] | None = None,
) -> _Measured:
    """Measure at a machine's table; `more` are services besides driver and core."""
    with (
        options.folder() as folder,
        options.progress("coups", options.samples) as advance,
        Machine(_machine(folder, speed), start_broker) as machine,
        unwrapped_errors(),
    ):
        port = PtyPort(machine.link, pace=_LINE)
        port.plug_in()
        try:
            for service in ("shoe", "table", *more):
                machine.start(service)
            return asyncio.run(_measure(machine, port, speed, options.samples, advance, how))
        finally:
            port.unplug()


def _machine(folder: Path, speed: float) -> DemoOptions:
    return DemoOptions(
        rounds=None,
        seed=_SEED,
        speed=speed,
        rulebook="au-commission",
        profile="enq-bcc",
        disclosure="immediate",
        data=folder,
        port=None,
    )


async def _measure(
    machine: Machine,
    port: PtyPort,
    speed: float,
    samples: int,
    advance: Callable[[int], object],
    how: _Measure[_Measured],
) -> _Measured:
    play = _Play(machine, port, speed)  # which needs the loop
    return await how(machine, play, samples, advance)
