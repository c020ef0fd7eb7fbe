"""Measure settling one coup with very many wagers durably, next to writing its events.

Product: a table on its log receives the shoe's result, judges, settles every wager, and has it all
on the disk, as `table_core.process.table_writer` does it. Floor: msgspec encodes the fields of the
same events, which are inserted into SQLite in one commit, WAL and synchronous=FULL both. They take
turns, on one disk.
"""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Final

import msgspec

from benchmarks.instruments.figures import Figure, percentiles, side_by_side
from benchmarks.rows import BenchOptions
from benchmarks.table.coups import BenchTable
from events.cards import Card, Hand
from events.commands import CloseBetting, EndShoe, LoadShoe, OpenBetting, PlaceWager, WagerRequest
from events.errors import OurBug
from events.log.store import EventLog
from events.types import CardDrawn, CoupSettled, DeviceResult, TableEvent, decode_entry

__all__ = ["RATIO_MOST", "WAGERS", "measure"]

WAGERS: Final = 10_000
"""Wagers in the coup, unless the command line says otherwise."""

RATIO_MOST: Final = 6.0
_SAMPLES: Final = 20
_A_COMMAND: Final = 500
_SEATS: Final = 7
_BETS: Final = ("player", "banker", "tie")
_STAKE: Final = 1_000
# Banker wins with 9 to 7, so that a third of the wagers pays commission.
_CARDS: Final = (
    (Hand.PLAYER, 1, Card.H3),
    (Hand.BANKER, 1, Card.S4),
    (Hand.PLAYER, 2, Card.D4),
    (Hand.BANKER, 2, Card.C5),
)
_COPIES: Final = 8  # of each face in a shoe
_MS: Final = 1_000


def measure(options: BenchOptions) -> list[Figure]:
    """Measure the row `settle`."""
    wagers, samples = options.events or WAGERS, min(options.samples, _SAMPLES)
    product, floor = [], []
    with (
        options.folder() as folder,
        options.progress("coups", samples) as advance,
        EventLog.open(folder / "table.sqlite", "bench/t1") as log,
        _bare(folder) as bare,
    ):
        play = _Play(log)
        for done in range(1, samples + 1):
            play.up_to_the_result(wagers)
            before, began = log.position, perf_counter()
            play.say(DeviceResult(winner="banker"))
            product.append((perf_counter() - began) * _MS)
            events = [decode_entry(each.stored).data for each in log.read(before + 1)]
            _require_settled(events, wagers)
            floor.append(_written(bare, events))
            advance(done)
    return [_figure(product, floor, wagers)]


def _figure(product: list[float], floor: list[float], wagers: int) -> Figure:
    p50, p99 = percentiles(product)
    floor_p50, floor_p99 = percentiles(floor)
    return Figure(
        **side_by_side((p50, p99), (floor_p50, floor_p99), digits=2),
        name="settle",
        unit="ms",
        samples=len(product),
        goal=f"ratio_p50 <= {RATIO_MOST:g}",
        met=p50 <= RATIO_MOST * floor_p50,
        detail={"wagers": float(wagers), "load": round(os.getloadavg()[0], 2)},
    )


class _Play(BenchTable):
    """A table at which the same coup is played again and again."""

    _coups = 0

    def up_to_the_result(self, wagers: int) -> None:
        """Play a coup with so many wagers, of which only the shoe's own result is missing."""
        if self._coups % _COPIES == 0:  # the same four cards come again and again
            self._next_shoe(self._coups // _COPIES)
        self._coups += 1
        self.ask(OpenBetting(transaction=self.transaction()))
        for first in range(0, wagers, _A_COMMAND):
            asked = tuple(map(_wager, range(first, min(first + _A_COMMAND, wagers))))
            self.ask(PlaceWager(transaction=self.transaction(), wagers=asked))
        self.ask(CloseBetting(transaction=self.transaction()))
        self.say(*(CardDrawn(hand=hand, number=place, face=face) for hand, place, face in _CARDS))

    def _next_shoe(self, number: int) -> None:
        if number:
            self.ask(EndShoe(transaction=self.transaction(), reason="bench"))
        self.ask(LoadShoe(transaction=self.transaction(), shoe=f"20261128-{number + 1:02}"))


def _wager(number: int) -> WagerRequest:
    """Return one wager of one patron: on either side, or the tie."""
    return WagerRequest(
        seat=number % _SEATS + 1,
        bet=_BETS[number % len(_BETS)],
        stake=_STAKE,
        patron=f"p{number}",
    )


def _require_settled(events: Sequence[TableEvent], wagers: int) -> None:
    lines = sum(len(e.settlement.lines) for e in events if isinstance(e, CoupSettled))
    if lines != wagers:
        raise OurBug(f"{lines} of {wagers} wagers were settled")


def _bare(folder: Path) -> "closing[sqlite3.Connection]":
    db = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute("CREATE TABLE event (position INTEGER PRIMARY KEY, bytes BLOB NOT NULL)")
    return closing(db)


def _written(db: sqlite3.Connection, events: Sequence[TableEvent]) -> float:
    encoder = msgspec.json.Encoder()
    began = perf_counter()
    rows = [(encoder.encode(event),) for event in events]
    db.execute("BEGIN IMMEDIATE")
    db.executemany("INSERT INTO event (bytes) VALUES (?)", rows)
    db.execute("COMMIT")
    return (perf_counter() - began) * _MS
