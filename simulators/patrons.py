"""Seven patrons whose wagers follow from seed, shoe number and coup number alone.

Neither the time nor the outcome before moves them, so that a run which was interrupted stakes
exactly what an undisturbed run stakes.
"""

import random
from typing import Final

from events.commands import PlaceWager, WagerRequest
from simulators.dealing import shoe_number

__all__ = ["SEATS", "STAKES", "wagers"]

SEATS: Final = (1, 2, 3, 4, 5, 6, 7)
STAKES: Final = (100, 300, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000)

_SITS_OUT: Final = 0.15
_TIE_ALONE: Final = 0.05
_TIE_BESIDE: Final = 0.2
_BANKER: Final = 0.5


def wagers(seed: int, shoe: str, coup: int) -> list[PlaceWager]:
    """What the patrons ask for in this coup: one command a seat that plays, in seat order.

    Transaction ids are `w-<shoe>-<coup>-s<seat>`. No seat plays Player and Banker in one coup.

    Args:
        seed: the world's seed.
        shoe: the shoe's id.
        coup: the coup's number within the shoe.
    """
    placed = []
    for seat in SEATS:
        whims = random.Random(f"{seed}/{shoe_number(shoe)}/{coup}/{seat}")
        if whims.random() < _SITS_OUT:
            continue
        placed.append(
            PlaceWager(
                transaction=f"w-{shoe}-{coup}-s{seat}",
                wagers=tuple(
                    WagerRequest(seat=seat, bet=bet, stake=whims.choice(STAKES))
                    for bet in _bets(whims)
                ),
            )
        )
    return placed


def _bets(whims: random.Random) -> tuple[str, ...]:
    if whims.random() < _TIE_ALONE:
        return ("tie",)
    main = "banker" if whims.random() < _BANKER else "player"
    return (main, "tie") if whims.random() < _TIE_BESIDE else (main,)
