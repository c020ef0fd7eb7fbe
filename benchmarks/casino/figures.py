"""Figures about crowds of tables: each latency, a table's cost, and whether the cost grows."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from baccarat.demo.machine import DemoBroken
from baccarat.local_brokers.mosquitto import find_mosquitto
from benchmarks.casino.command import PACE, play_casino
from benchmarks.casino.tables import Crowd
from benchmarks.instruments.figures import Figure, side_by_side, unmeasured, without_floor
from benchmarks.instruments.watch import NotSeenInTime
from benchmarks.rows import BenchOptions, Unmeasurable
from events.errors import InputError
from simulators.people.console import RequestRefused

__all__ = ["BOUND", "DISK_MOST_MS", "P99_MOST_MS", "SIZES", "casino_figures", "measure"]

# One table alone would take an hour for seventy samples.
_HURRY: Final = 40.0
_HOUR_S: Final = 3_600.0
_SECONDS_LEAST: Final = 20.0
_SECONDS_MOST: Final = 60.0


def measure(options: BenchOptions) -> list[Figure]:
    """Measure crowds of 1, 50, 200 and 1,000 tables; `options.events` leaves out larger ones.

    Raises:
        Unmeasurable: there is no mosquitto.
    """
    try:
        find_mosquitto()
    except InputError as error:
        raise Unmeasurable(str(error)) from error
    most = options.events or SIZES[-1]
    left_out = f"left out by --events {most}"
    return casino_figures(
        {size: _crowd(options, size) if size <= most else left_out for size in SIZES}
    )


def _crowd(options: BenchOptions, tables: int) -> Crowd | str:
    speed = _HURRY if tables == 1 else 1.0
    # Of more tables than promised, as many coups an hour in all: most of them are idle at a time.
    pace = PACE * min(1.0, BOUND / tables)
    wanted = options.samples * _HOUR_S / (tables * pace * speed)
    seconds = round(max(_SECONDS_LEAST, min(_SECONDS_MOST, wanted)))
    with (
        options.folder() as folder,
        options.progress(f"seconds at {tables} tables", seconds) as advance,
    ):
        try:
            return play_casino(
                tables, folder, seconds, coups_an_hour=pace, speed=speed, advance=advance
            )
        except (DemoBroken, RequestRefused, NotSeenInTime) as error:
            return str(error)


SIZES: Final = (1, 50, 200, 1_000)
BOUND: Final = 200
"""The number of tables promised for one machine; figures of more tables are for information."""
P99_MOST_MS: Final = 100.0
DISK_MOST_MS: Final = 25.0
"""A settlement waits for two forced writes, and for those of other tables before it."""
# A table among many may cost at most so many times as much as one among few.
_GROWTH_MOST: Final = 1.25
_TABLE_MOST_MB: Final = 1.0
_MS_PER_S: Final = 1_000.0


def casino_figures(found: Mapping[int, Crowd | str]) -> list[Figure]:
    """Return the figures `casino_N` of each size, `casino_linear` and `casino_memory`.

    Args:
        found: number of tables to the measurement, or to the reason why there is none.
    """
    crowds = [each for each in found.values() if isinstance(each, Crowd)]
    least = crowds[0] if crowds else None
    figures = [_latency(size, each, least) for size, each in found.items()]
    return [*figures, _linear(crowds), _memory(crowds)]


def _latency(tables: int, found: Crowd | str, least: Crowd | None) -> Figure:
    name = f"casino_{tables}"
    if isinstance(found, str) or least is None or math.isnan(found.p50_ms):
        return unmeasured(name, found if isinstance(found, str) else "nothing was settled")
    bound = tables <= BOUND
    goal = f"p99 under {P99_MOST_MS:g} ms, and " if bound else "reported; "
    void = None
    if bound and found.disk_most_ms > DISK_MOST_MS:
        void = (
            f"a forced write to this disk took up to {found.disk_most_ms:g} ms, with "
            f"{DISK_MOST_MS:g} at most: something else keeps it busy"
        )
    floor = least.p50_ms, least.p99_ms
    sides = (found.p50_ms, found.p99_ms)
    return Figure(
        **(
            without_floor(*sides, digits=1)
            if found is least
            else side_by_side(sides, floor, digits=1)
        ),
        name=name,
        unit="ms",
        samples=found.coups,
        goal=f"{goal}every settlement seen; beside one table in the same run",
        met=not found.unseen and void is None and (not bound or found.p99_ms < P99_MOST_MS),
        void=void,
        detail={
            "coups_an_hour": found.coups_an_hour,
            "seconds": found.seconds,
            "unseen": float(found.unseen),
            "disk_p99_ms": found.disk_p99_ms,
            "disk_most_ms": found.disk_most_ms,
            "load": found.load,
            **{f"processor_{name}": value for name, value in found.processor.items()},
            **{f"mb_{name}": value for name, value in found.memory_mb.items()},
        },
    )


def _linear(crowds: Sequence[Crowd]) -> Figure:
    """Return a table's processor time, milliseconds a second, among many and among few."""
    name, many = "casino_linear", [each for each in crowds if each.tables > 1]
    if not many:
        return unmeasured(name, "there was no crowd to compare")
    few, most = many[0], max((e for e in many if e.tables <= BOUND), key=_tables, default=many[0])
    costs = {each.tables: _cost_ms(each) for each in many}
    here, there = costs[most.tables], costs[few.tables]
    return Figure(
        **side_by_side((here, here), (there, there), digits=3),
        name=name,
        unit="ms/s",
        samples=len(many),
        goal=f"a table at {most.tables} at most {_GROWTH_MOST:g} times one at {few.tables}",
        met=here <= _GROWTH_MOST * there,
        detail={f"at_{tables}": round(cost, 3) for tables, cost in costs.items()},
    )


def _memory(crowds: Sequence[Crowd]) -> Figure:
    """Return the services' memory for a further table, between the smallest crowd and each."""
    name = "casino_memory"
    if len(crowds) < 2:  # noqa: PLR2004 - a difference
        return unmeasured(name, "there was no crowd to compare")
    least, *others = crowds
    slopes = {
        each.tables: (_services_mb(each) - _services_mb(least)) / (each.tables - least.tables)
        for each in others
    }
    worst, broker = max(slopes.values()), others[-1].memory_mb["broker"] / others[-1].tables
    return Figure(
        **without_floor(worst, worst, digits=3),
        name=name,
        unit="MB a table",
        samples=len(slopes),
        goal=f"under {_TABLE_MOST_MB:g} MB for each further table",
        met=worst < _TABLE_MOST_MB,
        detail={
            **{f"at_{tables}": round(slope, 3) for tables, slope in slopes.items()},
            "broker": round(broker, 3),
            "first_mb": round(_services_mb(least), 1),
        },
    )


def _tables(crowd: Crowd) -> int:
    return crowd.tables


def _services_mb(crowd: Crowd) -> float:
    return sum(mb for name, mb in crowd.memory_mb.items() if name != "broker")


def _cost_ms(crowd: Crowd) -> float:
    """Return the cost of broker and services together; the people are not the product's."""
    taken = sum(value for name, value in crowd.processor.items() if name != "people")
    return taken * _MS_PER_S / crowd.tables
