"""Measure how a step grows with what is there already: no curve may bend.

Each curve is measured at 100 and at 10,000: a closed file found among so many, a wager placed among
so many, and the newest and the oldest given back. The figure is how many times as much of a
processor the step takes at 10,000. The second figure is the snapshot of a shoe of 60 coups with
2,000 wagers each.
"""

import os
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Final

from benchmarks.instruments.figures import Figure, seconds_of, without_floor
from benchmarks.rows import BenchOptions
from benchmarks.table.coups import BenchTable, deal_coups, result_of
from events.commands import LoadShoe, OpenBetting, PlaceWager, WagerRequest, WithdrawWager
from events.log.segments import find_segments, segment_name
from events.log.store import EventLog
from events.types import CardDrawn
from table_core.fold.snapshot import encode_state

__all__ = ["COUPS", "RATIO_MOST", "measure"]

COUPS: Final = 60
"""Coups of the shoe with 2,000 wagers each, unless the command line says otherwise."""

RATIO_MOST: Final = 10.0
"""A hundred times as much may cost a step ten times as much at most."""

_SNAPSHOT_MOST: Final = 16.0  # megabytes: `table_core.service.snapshots` reads no more
_FEW, _MANY = 100, 10_000
_WAGERS: Final = 2_000
_OF_COMMAND: Final = 500
_STEPS: Final = 20
_SHOE: Final = "20261128-01"
_OF_WAGERS: Final = ("place_a_wager", "withdraw_the_newest", "withdraw_the_oldest")


def measure(options: BenchOptions) -> list[Figure]:
    """Measure the row `growth`."""
    coups = min(options.events or COUPS, COUPS)
    with options.folder() as folder, options.progress("coups", coups) as advance:
        curves = {"find_a_file": _ratio(lambda count: _find(folder / str(count), count))}
        steps = {count: _wagers(folder / f"{count}.sqlite", count) for count in (_FEW, _MANY)}
        for index, name in enumerate(_OF_WAGERS):
            curves[name] = steps[_MANY][index] / steps[_FEW][index]
        size = _snapshot(folder / "table.sqlite", coups, advance) / 1_000_000
    worst, load = max(curves.values()), round(os.getloadavg()[0], 2)
    return [
        Figure(
            **without_floor(worst, worst, digits=1),
            name="growth",
            unit="times",
            samples=len(curves),
            goal=f"p50 <= {RATIO_MOST:g} times the processor time among 10,000 as among 100",
            met=worst <= RATIO_MOST,
            detail={**{name: round(ratio, 1) for name, ratio in curves.items()}, "load": load},
        ),
        Figure(
            **without_floor(size, size, digits=1),
            name="state_bytes",
            unit="MB",
            samples=1,
            goal=f"p50 <= {_SNAPSHOT_MOST:g} MB for a snapshot, whatever is wagered",
            met=size <= _SNAPSHOT_MOST,
            detail={"coups": float(coups), "load": load},
        ),
    ]


def _ratio(step: Callable[[int], float]) -> float:
    return step(_MANY) / step(_FEW)


def _find(folder: Path, count: int) -> float:
    """Return the time to find all closed files, for each of them."""
    folder.mkdir()
    for number in range(count):
        (folder / segment_name("bench/t1", number * 10 + 1, number * 10 + 11)).touch()
    find = partial(find_segments, folder, "bench/t1", count * 10 + 1)
    return min(seconds_of(find, process_time) for _ in range(_STEPS)) / count


def _wagers(path: Path, count: int) -> list[float]:
    """Return the times to place a wager among so many, and to give back the newest and oldest."""
    with EventLog.open(path, "bench/t1") as log:
        table = _betting(log)
        oldest = placed = 0

        def place() -> None:
            nonlocal placed
            _place(table, placed, 1)
            placed += 1

        def withdraw_newest() -> None:
            nonlocal placed
            placed -= 1
            _withdraw(table, placed)

        def withdraw_oldest() -> None:
            nonlocal oldest
            _withdraw(table, oldest)
            oldest += 1

        while placed < count:
            place()
        acts = (place, withdraw_newest, withdraw_oldest)
        return [min(seconds_of(act, process_time) for _ in range(_STEPS)) for act in acts]


def _snapshot(path: Path, coups: int, advance: Callable[[int], object]) -> int:
    """Return the bytes of the state after a shoe of coups with many wagers."""
    with EventLog.open(path, "bench/t1") as log:
        table = BenchTable(log)
        table.ask(LoadShoe(transaction=table.transaction(), shoe=_SHOE))
        for number, dealt in enumerate(islice(deal_coups(), coups)):
            table.ask(OpenBetting(transaction=table.transaction()))
            for first in range(0, _WAGERS, _OF_COMMAND):
                _place(table, number * _WAGERS + first, _OF_COMMAND)
            table.say(*(CardDrawn(hand=hand, number=at, face=face) for hand, at, face in dealt))
            table.say(result_of(dealt))
            advance(number + 1)
        return len(encode_state(table.state))


def _betting(log: EventLog) -> BenchTable:
    table = BenchTable(log)
    table.ask(LoadShoe(transaction=table.transaction(), shoe=_SHOE))
    table.ask(OpenBetting(transaction=table.transaction()))
    return table


def _place(table: BenchTable, first: int, count: int) -> None:
    """Place wagers, each of a patron of its own, in one command."""
    wagers = tuple(
        WagerRequest(seat=number % 7 + 1, bet="tie", stake=500, patron=f"p{number}")
        for number in range(first, first + count)
    )
    table.ask(PlaceWager(transaction=f"w-{first}", wagers=wagers))


def _withdraw(table: BenchTable, number: int) -> None:
    """Give back the wager that was placed as this one."""
    mine = f"all/w-{number}/0"
    table.ask(WithdrawWager(transaction=table.transaction(), wagers=(mine,)))
