"""Measure the driver alone: its latency, its memory over a long life, its idle load.

A shoe sends on a line of 4800 baud, a byte at a time. The driver is a process on the product's
broker, with a core that acknowledges at once. A second process takes turns with it that reads,
appends and calls `fdatasync`, and does nothing else. That is the floor, below which no driver that
stores before it decodes can come.
"""

import asyncio
import os
import socket
import sys
import time
import tty
from collections.abc import Callable
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Final

from baccarat.local_brokers.nats import EmbeddedBroker
from baccarat.processes.children import Child
from benchmarks.driver.child import EVENT, FORCED
from benchmarks.instruments.figures import Figure, percentiles, side_by_side
from benchmarks.instruments.processes import peak_mb, processor_s, resident_mb
from benchmarks.instruments.watcher import READY
from benchmarks.rows import BenchOptions

__all__ = ["FRAMES", "driver_figures", "measure"]

FRAMES: Final = 1_000_000
ADDS_P99_MOST_MS: Final = 1.0
FLOOR_P99_MOST_MS: Final = 1.5
MEMORY_MOST_MB: Final = 60.0
IDLE_MOST_PERCENT: Final = 2.0
_BYTE_S: Final = 10 / 4800  # start, eight data bits, stop
_BLOCK: Final = 10
_WARM_UP: Final = 5
_COPIES: Final = 3
_PATIENCE_S: Final = 60.0
_FULL_S: Final = 0.001
# A machine whose disk is busy takes a fifth of the frames that a quiet one takes in it.
_FLOOD_MOST_S: Final = 60.0
_POLL_S: Final = 0.2
_PAUSE_S: Final = 0.01  # an event is out and acknowledged by then
_IDLE_S: Final = 10.0
_REPORTS_A_BLOCK: Final = 128
_DATAGRAM: Final = 65_536
_NS_PER_MS: Final = 1_000_000


def measure(options: BenchOptions) -> list[Figure]:
    """Measure the row `driver`."""
    frames = options.events or FRAMES
    with options.folder() as folder, options.progress("reports", options.samples) as advance:
        return driver_figures(folder, options.samples, frames, advance)


def driver_figures(
    folder: Path, samples: int, frames: int, advance: Callable[[int], object]
) -> list[Figure]:
    """Measure and return the driver's figures.

    Args:
        folder: on the disk to measure; must be empty.
        samples: reports for each of driver and floor.
        frames: how many the driver then takes without a pause, as fast as it can, in a minute.
        advance: called with the number of samples so far.
    """
    with ExitStack() as stack:
        broker = stack.enter_context(EmbeddedBroker.start(folder / "broker"))
        run = _Run(broker.port, folder, stack)
        return asyncio.run(run.figures(samples, frames, advance))


class _Run:
    """Driver, floor and core, running."""

    def __init__(self, broker: int, folder: Path, stack: ExitStack) -> None:
        self._line = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self._line.bind(("127.0.0.1", 0))
        self._line.setblocking(False)
        self._folder = folder
        self._lines: dict[str, int] = {}
        self._pids: dict[str, int] = {}
        self._seq = cycle(b"123456789")
        self._stamps: asyncio.Queue[int] = asyncio.Queue()
        self._up = asyncio.Event()
        self._ready = 0
        report = self._line.getsockname()[1]
        for role in ("core", "driver", "floor"):
            master, slave = os.openpty()
            stack.callback(os.close, master)
            stack.callback(os.close, slave)  # held open: the reader may come and go
            tty.setraw(slave)
            os.set_blocking(master, False)
            command = [sys.executable, "-m", "benchmarks.driver.child", role]
            rest = [str(broker), str(report), os.ttyname(slave), str(folder)]
            child = Child.start([*command, *rest], name=role, output=folder / f"{role}.log")
            stack.enter_context(child)
            self._lines[role], self._pids[role] = master, child.pid

    async def figures(
        self, samples: int, frames: int, advance: Callable[[int], object]
    ) -> list[Figure]:
        async with asyncio.TaskGroup() as group:
            listening = group.create_task(self._listen())
            async with asyncio.timeout(_PATIENCE_S):
                await self._up.wait()
                await self._stamps.get()  # the driver's line is open
            await self._took("driver", _WARM_UP)
            await self._took("floor", _WARM_UP)
            took: dict[str, list[float]] = {"driver": [], "floor": []}
            while len(took["driver"]) < samples:
                for role, found in took.items():
                    found.extend(await self._took(role, min(_BLOCK, samples - len(found))))
                advance(len(took["driver"]))
            idle = await self._idle()
            taken, rate = await self._flood(frames)
            memory = {
                role: (resident_mb(self._pids[role]), peak_mb(self._pids[role])) for role in took
            }
            listening.cancel()
        return [_arrival(took), _memory_figure(memory, taken, rate), _idle_figure(idle)]

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            datagram = await loop.sock_recv(self._line, _DATAGRAM)
            stamp, _, topic = datagram.split(b"\n", 1)[0].partition(b" ")
            if topic.decode() in {EVENT, FORCED}:
                self._stamps.put_nowait(int(stamp))
            elif topic.decode() == READY:
                self._ready += 1
                if self._ready == len(self._lines):
                    self._up.set()

    async def _took(self, role: str, count: int) -> list[float]:
        """Return milliseconds from the last byte of a first copy to the report."""
        found = []
        for _ in range(count):
            while not self._stamps.empty():
                self._stamps.get_nowait()
            frame = self._frame()
            said = await _at_the_lines_pace(self._lines[role], frame)
            for _ in range(_COPIES - 1):
                await _at_the_lines_pace(self._lines[role], frame)
            async with asyncio.timeout(_PATIENCE_S):
                while (stamp := await self._stamps.get()) < said:
                    pass  # of the link's opening, or of an earlier byte
            found.append((stamp - said) / _NS_PER_MS)
            await asyncio.sleep(_PAUSE_S)
        return found

    def _frame(self) -> bytes:
        """Return a burn card's report, of the next number."""
        body = bytes([next(self._seq)]) + b"D\xd1\xb8\x03"
        check = 0
        for byte in body:
            check ^= byte
        return b"\x05" + body + b"%02X" % check

    async def _idle(self) -> dict[str, float]:
        """Return the processor use of each while the line is silent, percent."""
        before = {role: processor_s(self._pids[role]) for role in ("driver", "floor")}
        began = time.monotonic()
        await asyncio.sleep(_IDLE_S)
        passed = time.monotonic() - began
        return {
            role: 100 * (processor_s(self._pids[role]) - spent) / passed
            for role, spent in before.items()
        }

    async def _flood(self, frames: int) -> tuple[int, float]:
        """Send frames as fast as they are taken; return how many, and how many a second.

        There are fewer of them where `_FLOOD_MOST_S` is over first.
        """
        began, sent = time.monotonic(), 0
        while sent < frames and time.monotonic() - began < _FLOOD_MOST_S:
            reports = min(_REPORTS_A_BLOCK, -(-(frames - sent) // _COPIES))
            block = b"".join(self._frame() * _COPIES for _ in range(reports))
            while block:
                try:
                    block = block[os.write(self._lines["driver"], block) :]
                except BlockingIOError:
                    await asyncio.sleep(_FULL_S)
            await asyncio.sleep(0)
            sent += reports * _COPIES
        before, moved = self._acknowledged(), time.monotonic()
        while (now := self._acknowledged()) < -(-sent // _COPIES):
            if now > before:
                before, moved = now, time.monotonic()
            if time.monotonic() - moved > _PATIENCE_S:
                raise TimeoutError(f"the driver stands at {now}")
            await asyncio.sleep(_POLL_S)
        return sent, sent / (time.monotonic() - began)

    def _acknowledged(self) -> int:
        """Return the driver's own note of acknowledgements, renewed every two seconds."""
        notes = (self._folder / "journal").glob("*.acked")
        return max((int(note.read_bytes() or 0) for note in notes), default=0)


async def _at_the_lines_pace(line: int, frame: bytes) -> int:
    """Send a byte at a time; return `time.monotonic_ns()` just before the last."""
    due, handed_over = time.monotonic(), 0
    for byte in frame:
        due += _BYTE_S
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        handed_over = time.monotonic_ns()
        os.write(line, bytes([byte]))
    return handed_over


def _arrival(took: dict[str, list[float]]) -> Figure:
    (p50, p99), (floor_p50, floor_p99) = (percentiles(took[r]) for r in ("driver", "floor"))
    added = p99 - floor_p99
    void = None
    if floor_p99 > FLOOR_P99_MOST_MS:
        void = (
            f"the floor's p99 is over {FLOOR_P99_MOST_MS:g} ms: disk or processors are busy with "
            "something else, and what is added cannot be told from that"
        )
    return Figure(
        **side_by_side((p50, p99), (floor_p50, floor_p99), digits=3),
        name="driver",
        unit="ms",
        samples=len(took["driver"]),
        goal=f"p99 is at most {ADDS_P99_MOST_MS:g} ms above the floor's",
        met=void is None and added <= ADDS_P99_MOST_MS,
        void=void,
        detail={
            "added_p50": round(p50 - floor_p50, 3),
            "added_p99": round(added, 3),
            "load": round(os.getloadavg()[0], 2),
        },
    )


def _memory_figure(memory: dict[str, tuple[float, float]], frames: int, rate: float) -> Figure:
    (now, most), (floor, floor_most) = memory["driver"], memory["floor"]
    return Figure(
        **side_by_side((now, most), (floor, floor_most), digits=1),
        name="driver_memory",
        unit="MB",
        samples=1,
        goal=f"the most that was ever resident (as p99) is at most {MEMORY_MOST_MB:g} MB",
        met=most <= MEMORY_MOST_MB,
        detail={"frames": float(frames), "frames_a_second": round(rate)},
    )


def _idle_figure(idle: dict[str, float]) -> Figure:
    least = 0.01  # the resolution of the kernel's clock in ten seconds
    driver, floor = max(idle["driver"], least), max(idle["floor"], least)
    return Figure(
        **side_by_side((driver, driver), (floor, floor), digits=2),
        name="driver_idle",
        unit="% of a core",
        samples=1,
        goal=f"at most {IDLE_MOST_PERCENT:g} % of a core while nothing is said",
        met=driver <= IDLE_MOST_PERCENT,
        detail={"seconds": _IDLE_S},
    )
