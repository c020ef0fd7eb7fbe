"""Logs of any number of coups, quickly: the bench's coups, and for every tenth a revision."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from benchmarks.ledger import settled_coup
from events.types.table import CoupSettled, SeatDifference, TableEvent

__all__ = ["REVISED", "long_log"]

REVISED: Final = 10
_COUPS_A_SHOE: Final = 80
_SHOES_A_DAY: Final = 99


def long_log(coups: int) -> Iterator[TableEvent]:
    """Seven seats wager the same each time; Banker wins, and in a revision Player has won."""
    for number in range(coups):
        shoe, coup = divmod(number, _COUPS_A_SHOE)
        day, shoe = divmod(shoe, _SHOES_A_DAY)
        name = f"{20260101 + day}-{shoe + 1:02}/{coup + 1}"
        yield from settled_coup(name)
        if number % REVISED == 0:
            yield _revised(name)


def _revised(name: str) -> CoupSettled:
    first = settled_coup(name)[-1].settlement
    revised = settled_coup(name, winner="player")[-1].settlement
    moved = zip(first.lines, revised.lines, strict=True)
    return CoupSettled(
        coup=name,
        settlement=replace(
            revised,
            settlement_id=f"t1/{name}/2/2",
            revision=2,
            reverses=first.settlement_id,
            difference=tuple(
                SeatDifference(seat=was.seat, staked=0, paid=now.paid - was.paid, commission=0)
                for was, now in moved
            ),
        ),
    )
