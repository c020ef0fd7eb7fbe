"""One run of settlement latency: floor and product in turns, so that disturbances hit both."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from msgspec import Struct, field

from baccarat.demo.machine import Machine
from benchmarks.instruments.floor import ARRIVED, Floor
from benchmarks.instruments.watch import SightingReceiver, start_watcher

__all__ = [
    "BLOCK",
    "Decided",
    "MemoryUse",
    "Play",
    "Samples",
    "measure",
    "memory_of",
    "sum_memory",
]

# Samples in one turn.
BLOCK: Final = 10
# Pause between two frames of the floor: a shoe's time for a report of three frames at 4800 baud.
_PAUSE_S: Final = 0.057
_WARM_UP: Final = 5
_NS_PER_MS: Final = 1_000_000
_BYTES_PER_MB: Final = 1_000_000
_BYTES_PER_KB: Final = 1_024


class Decided(NamedTuple):
    """A settled coup, and `time.monotonic_ns()` just before its deciding frame ended."""

    coup: str
    at_ns: int


class Play(Protocol):
    """The people and the shoe at the product's table."""

    async def run(self) -> None:
        """Keep the connection open until cancelled."""
        ...

    async def coup(self) -> Decided | None:
        """Play one coup with wagers to its end; None where it was not settled."""
        ...


class MemoryUse(NamedTuple):
    """Memory of one process or of several, in MB of a million bytes.

    Resident pages count in full in every process that shares them; proportional memory divides them
    among those.
    """

    resident: float
    proportional: float


class Samples(Struct):
    """The measurements of a run.

    Args:
        floor_ms: from a frame's last byte to the watcher, over the bare hops.
        product_ms: from the deciding frame's last byte to the settlement at the watcher.
        floor_memory: of the bare processes and the broker together.
        product_memory: of driver, core and broker together.
        parts: the newest of each product process.
    """

    floor_ms: list[float] = field(default_factory=list)
    product_ms: list[float] = field(default_factory=list)
    floor_memory: list[MemoryUse] = field(default_factory=list)
    product_memory: list[MemoryUse] = field(default_factory=list)
    parts: dict[str, MemoryUse] = field(default_factory=dict)


async def measure(
    machine: Machine, play: Play, samples: int, advance: Callable[[int], object]
) -> Samples:
    """Play so many settled coups at the machine's table, and send as many frames over the floor.

    Args:
        machine: with the broker up and both services started.
        play: at its table.
        samples: of each.
        advance: called with the number of samples so far.

    Raises:
        Unseen: a settlement or a frame was lost or took too long.
        DemoBroken: a service has ended.
    """
    topics, port = machine.table.topics, machine.table.bus.port
    found = Samples()
    with (
        SightingReceiver(topics.settlement) as watch,
        start_watcher(machine.data, port, watch.port, topics.settlement, ARRIVED),
        Floor(machine.data / "floor", port, watch.port) as floor,
    ):
        await watch.ready("watcher", "reader", "keeper")
        async with asyncio.TaskGroup() as group:
            background = [group.create_task(each) for each in (play.run(), machine.watch())]
            await _over_the_floor(floor, watch, _WARM_UP)
            await _at_the_table(play, watch, _WARM_UP)
            while len(found.product_ms) < samples:
                count = min(BLOCK, samples - len(found.product_ms))
                found.floor_ms += await _over_the_floor(floor, watch, count)
                found.product_ms += await _at_the_table(play, watch, count)
                _measure_memory(machine.pids, floor.pids, found)
                advance(len(found.product_ms))
            for task in background:
                task.cancel()
    return found


async def _over_the_floor(floor: Floor, watch: SightingReceiver, count: int) -> list[float]:
    took = []
    for _ in range(count):
        what, said = floor.say()
        took.append((await watch.at(what) - said) / _NS_PER_MS)
        await asyncio.sleep(_PAUSE_S)
    return took


async def _at_the_table(play: Play, watch: SightingReceiver, count: int) -> list[float]:
    took: list[float] = []
    while len(took) < count:
        decided = await play.coup()
        if decided is not None:
            took.append((await watch.at(decided.coup) - decided.at_ns) / _NS_PER_MS)
    return took


def _measure_memory(product: Mapping[str, int], floor: list[int], found: Samples) -> None:
    found.parts = {name: memory_of(pid) for name, pid in product.items()}
    found.product_memory.append(sum_memory(list(found.parts.values())))
    found.floor_memory.append(sum_memory([found.parts["broker"], *map(memory_of, floor)]))


def sum_memory(parts: list[MemoryUse]) -> MemoryUse:
    """Return what several processes take together."""
    return MemoryUse(sum(part.resident for part in parts), sum(part.proportional for part in parts))


def memory_of(pid: int) -> MemoryUse:
    """Return the kernel's current numbers; Linux only, as is the whole product."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
    kilobytes = {line.split()[0]: int(line.split()[1]) for line in lines[1:]}
    return MemoryUse(*(kilobytes[key] * _BYTES_PER_KB / _BYTES_PER_MB for key in ("Rss:", "Pss:")))
