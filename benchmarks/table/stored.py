"""Measure what a coup takes on the disk: in a table's file, and in a closed file that is packed.

A shoe of coups of the demo's kind is played on the product's own table: six seats with some sixteen
wagers, and a signed checkpoint after each settlement. Its file is closed and packed. The floor is
zstd at the same level over all stored bytes at once, of which nothing can be read alone.
"""

import os
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import zstandard

from benchmarks.instruments.figures import Figure, side_by_side, without_floor
from benchmarks.rows import BenchOptions
from benchmarks.table.coups import COUPS_A_SHOE, SEED, BenchTable, deal_coups, result_of
from events.commands import CloseBetting, EndShoe, LoadShoe, OpenBetting, PlaceWager, WagerRequest
from events.log.packing import convert
from events.log.store import EventLog
from events.proof.keys import make_signing_key
from events.types import CardDrawn

__all__ = ["BYTES_MOST", "COUPS", "measure", "play_shoe"]

COUPS: Final = COUPS_A_SHOE
"""Coups of the shoe, unless the command line says otherwise."""

BYTES_MOST: Final = 1_500.0
"""The goal for a coup in a packed file."""

_SHOE: Final = "20261128-01"
_LEVEL: Final = 19
_SEATS: Final = (1, 2, 4, 5, 6, 7)
_BETS: Final = ("player", "banker", "tie", "player_pair", "banker_pair", "super_six", "tiger")
_STAKES: Final = (100, 300, 500, 1_000, 2_500, 10_000, 25_000, 50_000)
_MOST_OF_SEAT: Final = 4


def measure(options: BenchOptions) -> list[Figure]:
    """Measure the row `stored`."""
    coups = min(options.events or COUPS, COUPS_A_SHOE)
    with options.folder() as folder, options.progress("coups", coups) as advance:
        path = folder / "table.sqlite"
        bare = play_shoe(path, coups)
        advance(coups)
        (done,) = convert(path, pack=True)
    floor = len(zstandard.ZstdCompressor(level=_LEVEL).compress(bare)) / coups
    packed, plain = done.after / coups, done.before / coups
    load = round(os.getloadavg()[0], 2)
    return [
        Figure(
            **without_floor(plain, plain, digits=0),
            name="stored",
            unit="bytes",
            samples=coups,
            goal="none: a coup in a table's file",
            met=True,
            detail={"event_bytes": round(len(bare) / coups), "load": load},
        ),
        Figure(
            **side_by_side((packed, packed), (floor, floor), digits=0, floor_digits=0),
            name="stored_packed",
            unit="bytes",
            samples=coups,
            goal=f"p50 <= {BYTES_MOST:g} bytes for a coup in a packed closed file",
            met=packed <= BYTES_MOST,
            detail={"of_plain": round(packed / plain, 3), "load": load},
        ),
    ]


def play_shoe(path: Path, coups: int, *, close: bool = True) -> bytes:
    """Play a shoe, and return its stored bytes one after another.

    Args:
        path: of the log.
        coups: how many.
        close: whether the log begins a new file behind it.
    """
    key = make_signing_key(path.with_name("bench.key"), "bench/t1")
    draw = random.Random(SEED)  # noqa: S311 - wagers of a benchmark, the same in every run
    with EventLog.open(path, "bench/t1") as log:
        table = BenchTable(log)
        table.sign_checkpoints(key)
        table.ask(LoadShoe(transaction=table.transaction(), shoe=_SHOE))
        for dealt in islice(deal_coups(), coups):
            table.ask(OpenBetting(transaction=table.transaction()))
            for wagers in _asked(draw):
                table.ask(PlaceWager(transaction=table.transaction(), wagers=wagers))
            table.ask(CloseBetting(transaction=table.transaction()))
            table.say(*(CardDrawn(hand=hand, number=n, face=face) for hand, n, face in dealt))
            table.say(result_of(dealt))
            table.make_due_checkpoint()
        table.ask(EndShoe(transaction=table.transaction(), reason="bench"))
        table.close_books()
        bare = b"".join(stored.stored for stored in log.read())
        if close:
            log.new_file()
    return bare


def _asked(draw: random.Random) -> Iterator[tuple[WagerRequest, ...]]:
    """Yield the wagers of each seat that plays, a command each."""
    for seat in _SEATS:
        bets = draw.sample(_BETS[1:] if draw.random() < 0.5 else (_BETS[0], *_BETS[2:]), 3)  # noqa: PLR2004 - one side or the other
        count = draw.randint(1, _MOST_OF_SEAT)
        yield tuple(
            WagerRequest(seat=seat, bet=bet, stake=draw.choice(_STAKES)) for bet in bets[:count]
        )
