"""Measure from a settlement in the log to pixels, with fifty screens open; and a screen's cost.

49 bare streams and one page in Chromium watch a whole table. A sample begins with the settlement's
own time in the log, which was taken before it was forced to the disk. It ends when the frame after
the one that shows it begins: the first moment at which the page can know that it was drawn. The
floor takes turns with it: a message of a state's size through the same broker, a process that
writes it to as many sockets, and a page that puts nine characters into an element.
"""

import asyncio
import os
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, closing
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field

from baccarat.demo.machine import Machine
from baccarat.free_port import free_port
from baccarat.processes.children import Child
from benchmarks.instruments import bare_mqtt as bare
from benchmarks.instruments.bare_screens import SERVER, TOPIC
from benchmarks.instruments.browser_frames import BOARD, FLOOR, PageObserver, browser
from benchmarks.instruments.figures import Figure, percentiles, side_by_side
from benchmarks.instruments.measure import BLOCK, Play
from benchmarks.instruments.processes import processor_s, resident_mb
from benchmarks.instruments.watch import NotSeenInTime, SightingReceiver
from events.types import Envelope

__all__ = ["SCREENS", "screens_figures"]

SCREENS: Final = 50
PIXELS_P99_MOST_MS: Final = 100.0
# Two frames at 60 Hz are in every sample; a floor far above them shows that the machine is busy.
FLOOR_P99_MOST_MS: Final = 60.0
SCREEN_MOST_KB: Final = 1_000.0
_FLOOR_BYTES: Final = 8_192  # about the size of a state
_PAUSE_S: Final = 0.1
_WARM_UP: Final = 5
_NS_PER_MS: Final = 1_000_000
_KB_PER_MB: Final = 1_000
_MS: Final = 1_000


class _Run(Struct):
    """The measurements.

    Args:
        pixels_ms: of the product; `floor_ms` of the floor.
        screen_kb: the server's memory for a screen, several samples; `floor_kb` the floor's.
        alone_ms: processor time of the core for a coup without watchers; `watched_ms` with all.
        clock_ms: the largest difference between the browser's clock and ours.
    """

    pixels_ms: list[float] = field(default_factory=list)
    floor_ms: list[float] = field(default_factory=list)
    screen_kb: list[float] = field(default_factory=list)
    floor_kb: list[float] = field(default_factory=list)
    alone_ms: float = 0.0
    watched_ms: float = 0.0
    clock_ms: float = 0.0


async def screens_figures(
    machine: Machine, play: Play, samples: int, advance: Callable[[int], object]
) -> list[Figure]:
    """Measure and return the screens' figures.

    Args:
        machine: with the broker up and all three services started.
        play: at its table.
        samples: of product and floor each.
        advance: called with the number of samples so far.

    Raises:
        Unseen: a settlement or a message was lost or took too long.
        DemoBroken: a service has ended.
    """
    async with AsyncExitStack() as stack:
        bench = _Bench(machine, play, stack)
        async with asyncio.TaskGroup() as group:
            background = [group.create_task(each) for each in (play.run(), machine.watch())]
            found = await bench.run(samples, advance)
            for task in background:
                task.cancel()
    return [_pixels(found), _costs(found)]


class _Bench:
    """Table, floor, crowd and browser."""

    def __init__(self, machine: Machine, play: Play, stack: AsyncExitStack) -> None:
        self._machine, self._play, self._stack = machine, play, stack
        self._watch = stack.enter_context(SightingReceiver(machine.table.topics.settlement))
        self._floor_port = free_port()
        self._said = 0

    async def run(self, samples: int, advance: Callable[[int], object]) -> _Run:
        found, core = _Run(), self._machine.pids["table"]
        floor = self._start("bare_screens", self._machine.table.bus.port, self._floor_port)
        await self._watch.ready(SERVER)
        self._writer = bare.connect(self._machine.table.bus.port, "bench-floor-writer")
        await self._coups(BLOCK)  # warm
        before = processor_s(core)
        await self._coups(BLOCK)
        found.alone_ms = (processor_s(core) - before) * _MS / BLOCK
        servers = {self._machine.pids["displays"]: found.screen_kb, floor.pid: found.floor_kb}
        empty = {pid: resident_mb(pid) for pid in servers}
        board, bare_page = await self._open()
        await self._over_the_floor(bare_page, _WARM_UP)
        coups: list[tuple[str, float]] = []
        while len(found.floor_ms) < samples:
            count = min(BLOCK, samples - len(found.floor_ms))
            found.floor_ms += await self._over_the_floor(bare_page, count)
            before, ahead = processor_s(core), await board.ahead_ms()
            found.clock_ms = max(found.clock_ms, abs(ahead))
            for _ in range(count):
                # A slow screen skips states: the next coup begins when this one was drawn. The page
                # draws one more than once, and another shoe has the same numbers.
                board.forget()
                [coup] = await self._coups(1)
                drawn = await board.at_ms(coup.rpartition("/")[2])
                coups.append((coup, drawn - ahead))
            found.watched_ms += (processor_s(core) - before) * _MS / samples
            for pid, costs in servers.items():
                costs.append(max(0.0, (resident_mb(pid) - empty[pid]) * _KB_PER_MB) / SCREENS)
            advance(len(found.floor_ms))
        settled = _settled_ms(self._machine.table.log_path)
        found.pixels_ms = [drawn - settled[coup] for coup, drawn in coups]
        if min(found.pixels_ms) <= 0:
            raise NotSeenInTime(
                "a coup was drawn before it was settled: that is no measure of anything"
            )
        return found

    def _start(self, module: str, *arguments: object) -> Child:
        command = [sys.executable, "-m", f"benchmarks.instruments.{module}"]
        where = [str(self._watch.port), *map(str, arguments)]
        output = self._machine.data / f"{module}-{arguments[0]}.log"
        return self._stack.enter_context(
            Child.start([*command, *where], name=module, output=output)
        )

    async def _open(self) -> tuple[PageObserver, PageObserver]:
        """Open the crowds on both servers, and a page on each."""
        displays = self._machine.table.displays
        assert displays is not None  # noqa: S101 - the machine has them
        for role, port in (("crowd", displays.port), ("floor-crowd", self._floor_port)):
            self._start("crowd", role, SCREENS - 1, port, "/events")
        await self._watch.ready("crowd", "floor-crowd")
        chromium = await browser(self._stack)
        board = await PageObserver.open(chromium, self._machine.address, BOARD)
        floor = await PageObserver.open(chromium, f"http://127.0.0.1:{self._floor_port}/", FLOOR)
        return board, floor

    async def _coups(self, count: int) -> list[str]:
        """Play so many coups; return the ids of the settled ones."""
        found: list[str] = []
        while len(found) < count:
            decided = await self._play.coup()
            if decided is not None:
                found.append(decided.coup)
        return found

    async def _over_the_floor(self, page: PageObserver, count: int) -> list[float]:
        took, ahead = [], await page.ahead_ms()
        for _ in range(count):
            self._said += 1
            what = f"{self._said:09d}"
            said = time.time_ns() / _NS_PER_MS
            bare.send(self._writer, TOPIC, what.encode().ljust(_FLOOR_BYTES, b"."))
            took.append(await page.at_ms(what) - ahead - said)
            self._writer.loop(0.01)
            await asyncio.sleep(_PAUSE_S)
        return took


def _settled_ms(log: Path) -> dict[str, float]:
    """Return when each coup was finally settled, by its own time in the log."""
    with closing(sqlite3.connect(f"file:{log}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT bytes FROM event WHERE type = 'coup_settled'").fetchall()
    settled = {}
    for (stored,) in rows:
        envelope = msgspec.json.decode(stored, type=Envelope)
        settled[envelope.correlation] = datetime.fromisoformat(envelope.at).timestamp() * 1_000
    return settled


def _pixels(found: _Run) -> Figure:
    product, floor = percentiles(found.pixels_ms), percentiles(found.floor_ms)
    void = None
    if floor[1] > FLOOR_P99_MOST_MS:
        void = f"the floor's p99 is over {FLOOR_P99_MOST_MS:g} ms: the machine is busy"
    return Figure(
        **side_by_side(product, floor, digits=1),
        name="screens",
        unit="ms",
        samples=len(found.pixels_ms),
        goal=f"p99 under {PIXELS_P99_MOST_MS:g} ms with {SCREENS} screens",
        met=void is None and product[1] < PIXELS_P99_MOST_MS,
        void=void,
        detail={
            "screens": float(SCREENS),
            "load": round(os.getloadavg()[0], 2),
            "clock_ms": round(found.clock_ms, 2),
        },
    )


def _costs(found: _Run) -> Figure:
    least = 1.0  # kB, the resolution of the measurement
    product, floor = (
        tuple(max(least, each) for each in percentiles(costs))
        for costs in (found.screen_kb, found.floor_kb)
    )
    return Figure(
        **side_by_side((product[0], product[1]), (floor[0], floor[1]), digits=1),
        name="screens_memory",
        unit="kB a screen",
        samples=len(found.screen_kb),
        goal=f"p99 under {SCREEN_MOST_KB:g} kB a screen in the server, and nothing in the core",
        met=product[1] < SCREEN_MOST_KB,
        detail={
            "core_ms_a_coup_unwatched": round(found.alone_ms, 2),
            "core_ms_a_coup_watched": round(found.watched_ms, 2),
        },
    )
