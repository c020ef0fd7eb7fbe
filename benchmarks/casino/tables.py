"""Measure many tables on one machine: the latency of a settlement, and the cost of a table.

The latency is counted as for one table. It begins just before the deciding frame's last byte is
handed to the line, and ends when a subscriber in a process of its own receives the settlement. All
clocks are `time.monotonic_ns()` of the one machine. Shoes and people of all tables are one process,
which takes processor time from the services on the same machine; its time is reported next to
theirs.
"""

import asyncio
import math
import os
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct

from benchmarks.instruments.figures import percentiles
from benchmarks.instruments.processes import processor_s, resident_mb
from benchmarks.instruments.watch import NotSeenInTime, SightingReceiver, start_watcher
from events.mqtt.topics import Topics

__all__ = ["Crowd", "CrowdConditions", "SettledCoup", "Tables", "measure_crowd"]

_NS_PER_MS: Final = 1_000_000
_POLL_S: Final = 0.1
# For one more table to begin, while other work has the machine, too.
_BEGIN_S: Final = 600.0
_SETTLEMENT: Final = "settlement"


class SettledCoup(Struct, frozen=True):
    """A settled coup, and the time of the deciding frame's last byte."""

    topic: str
    coup: str
    decided_ns: int


class Tables(Protocol):
    """The tables' people, their shoes and the services."""

    async def run(self) -> None:
        """Play until cancelled; raises when a service ends."""

    @property
    def begun(self) -> int:
        """How many tables have played a coup."""

    def taken(self) -> list[SettledCoup]:
        """Return the coups that were settled since the last call."""


class Crowd(Struct, frozen=True, kw_only=True):
    """The measurement of a number of tables.

    Args:
        tables: how many.
        coups_an_hour: planned for each.
        seconds: of measuring.
        coups: settled in that time.
        unseen: of them, those whose settlement did not reach the subscriber.
        p50_ms: of the latency.
        p99_ms: of the latency.
        most_ms: of the latency.
        disk_p99_ms: of a forced write of a few bytes to the same disk meanwhile, ten a second.
        disk_most_ms: the same.
        load: of the machine at the end.
        processor: processors used by each process; `people` is the process of people and shoes.
        memory_mb: of each process, resident, at the end.
        table_mb: of the services' memory together a table, without the broker's.
    """

    tables: int
    coups_an_hour: float
    seconds: float
    coups: int
    unseen: int
    p50_ms: float
    p99_ms: float
    most_ms: float
    disk_p99_ms: float
    disk_most_ms: float
    load: float
    processor: dict[str, float]
    memory_mb: dict[str, float]
    table_mb: float


class _Everywhere(SightingReceiver):
    """Stores settlements by table and coup, because coup ids repeat across tables."""

    def _name(self, topic: str, payload: bytes) -> str:
        if topic.endswith(_SETTLEMENT):
            return f"{topic} {self._decoder.decode(payload).correlation}"
        return super()._name(topic, payload)


class CrowdConditions(Struct, frozen=True, kw_only=True):
    """The conditions of a measurement.

    Args:
        topics: of each table.
        pids: of the broker and the services.
        broker_port: the subscriber connects there.
        folder: for the subscriber's log.
        seconds: of measuring.
        coups_an_hour: of each table.
    """

    topics: list[Topics]
    pids: Mapping[str, int]
    broker_port: int
    folder: Path
    seconds: float
    coups_an_hour: float


async def measure_crowd(
    tables: Tables, under: CrowdConditions, advance: Callable[[int], object]
) -> Crowd:
    """Let the tables play, and measure once all of them do.

    Args:
        tables: the tables.
        under: the conditions.
        advance: called with the number of seconds measured.

    Raises:
        Unseen: the subscriber did not come up, or not every table began to play.
        ExceptionGroup: a service has ended, or a table cannot be played at.
    """
    everywhere = under.topics[0].settlement.replace(f"/{under.topics[0].table}/", "/+/")
    with (
        _Everywhere(everywhere) as watch,
        start_watcher(under.folder, under.broker_port, watch.port, everywhere),
    ):
        await watch.ready("watcher")
        playing = asyncio.ensure_future(tables.run())
        try:
            await _unless_ended(playing, _begun(tables, under))
            tables.taken()  # earlier settlements are no samples
            before, began = _processor_s(under.pids), time.monotonic()
            disk: list[float] = []
            while (gone := time.monotonic() - began) < under.seconds:
                advance(int(gone))
                disk.append(
                    await _unless_ended(playing, asyncio.to_thread(_forced_ms, under.folder))
                )
                await _unless_ended(playing, asyncio.sleep(min(_POLL_S, under.seconds - gone)))
            took = time.monotonic() - began
            after, settled = _processor_s(under.pids), tables.taken()
            found = await _unless_ended(playing, _latencies(watch, settled))
        finally:
            playing.cancel()
            await asyncio.wait({playing})
    spent = {name: (value - before[name]) / took for name, value in after.items()}
    return _crowd(under, took, len(settled), found, spent, disk)


async def _begun(tables: Tables, under: CrowdConditions) -> None:
    """Wait until every table plays, for as long as one more begins now and then.

    Raises:
        Unseen: no further table began for ten minutes.
    """
    begun, since = 0, time.monotonic()
    while begun < len(under.topics):
        await asyncio.sleep(_POLL_S)
        if tables.begun > begun:
            begun, since = tables.begun, time.monotonic()
        elif time.monotonic() - since > _BEGIN_S:
            raise NotSeenInTime(
                f"{begun} of {len(under.topics)} tables have played a coup, and no further one "
                f"within {_BEGIN_S:.0f} s: the machine has no time for them, at a load of "
                f"{os.getloadavg()[0]:.1f}"
            )


def _crowd(
    under: CrowdConditions,
    took: float,
    coups: int,
    found: list[float],
    spent: dict[str, float],
    disk_ms: list[float],
) -> Crowd:
    memory = {name: resident_mb(pid) for name, pid in under.pids.items()}
    p50, p99 = percentiles(found) if found else (math.nan, math.nan)
    services = sum(memory.values()) - memory["broker"]
    return Crowd(
        tables=len(under.topics),
        coups_an_hour=under.coups_an_hour,
        seconds=round(took, 1),
        coups=coups,
        unseen=coups - len(found),
        p50_ms=round(p50, 1),
        p99_ms=round(p99, 1),
        most_ms=round(max(found, default=math.nan), 1),
        disk_p99_ms=round(percentiles(disk_ms)[1], 1),
        disk_most_ms=round(max(disk_ms), 1),
        load=round(os.getloadavg()[0], 2),
        processor={name: round(value, 4) for name, value in spent.items()},
        memory_mb={name: round(value, 1) for name, value in memory.items()},
        table_mb=round(services / len(under.topics), 2),
    )


_Answer = TypeVar("_Answer")


async def _unless_ended(
    playing: "asyncio.Future[None]", what: Coroutine[Any, Any, _Answer]
) -> _Answer:
    """Await the coroutine; if playing ends first, raise the error that ended it."""
    waiting = asyncio.ensure_future(what)
    both: set[asyncio.Future[Any]] = {playing, waiting}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if playing.done():
            playing.result()
        return await waiting
    finally:
        waiting.cancel()


def _forced_ms(folder: Path) -> float:
    """Return the duration of a forced write, milliseconds."""
    with (folder / "forced").open("ab") as file:
        began = time.monotonic_ns()
        file.write(b"a few bytes\n")
        file.flush()
        os.fdatasync(file.fileno())
        return (time.monotonic_ns() - began) / _NS_PER_MS


async def _latencies(watch: SightingReceiver, settled: Sequence[SettledCoup]) -> list[float]:
    """Return the latency of each settlement that was seen, milliseconds."""
    found: list[float] = []
    for coup in settled:
        with suppress(NotSeenInTime):
            seen = await watch.at(f"{coup.topic} {coup.coup}")
            found.append((seen - coup.decided_ns) / _NS_PER_MS)
    return found


def _processor_s(pids: Mapping[str, int]) -> dict[str, float]:
    """Return the processor time of each process, and of this one, so far."""
    return {name: processor_s(pid) for name, pid in {**pids, "people": os.getpid()}.items()}
