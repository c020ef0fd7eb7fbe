"""Seven patrons whose wagers follow from seed, shoe number, coup number and rulebook alone.

Neither time nor earlier outcomes change their wagers, so an interrupted run stakes exactly as much
as an undisturbed run. They know the table's sign: they place only bets that the rulebook offers,
within its limits, and add to a side wager the main wager that it needs.
"""

import random
from collections.abc import Iterator, Mapping
from typing import Final

from events.commands import PlaceWager, WagerRequest
from simulators.shoe.dealing import shoe_number
from table_core.kept_results import keep_newest
from table_core.rules.rulebook import Bet, Requirement, Rulebook
from table_core.rules.wager_checks import mains_for

__all__ = ["SEATS", "STAKES", "wagers"]

SEATS: Final = (1, 2, 3, 4, 5, 6, 7)
STAKES: Final = (100, 300, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000)

_SITS_OUT: Final = 0.15
_TIE_ALONE: Final = 0.05
_SIDE_ALONE: Final = 0.05
_TIE_BESIDE: Final = 0.2
_SIDE_BESIDE: Final = 0.2  # each side bet that is offered
_BANKER: Final = 0.5

_SIDES: Final = frozenset({"player", "banker"})
_MAIN: Final = frozenset({*_SIDES, "tie"})
# Seed 3's betting options, of which a house may allow a patron a number; Player and Banker are one.
_OPTION: Final = {
    "player": "main",
    "banker": "main",
    "tie": "tie",
    "lucky8_player": "lucky8_player",
    "lucky8_banker": "lucky8_banker",
}


def wagers(seed: int, shoe: str, coup: int, rulebook: Rulebook) -> list[PlaceWager]:
    """Return the patrons' wagers in this coup: one command a seat that plays, in seat order.

    Transaction ids are `w-<shoe>-<coup>-s<seat>`. No seat plays Player and Banker in one coup. The
    table accepts all of them in any order of seats, because each seat keeps to its share of the
    limits of the whole table.

    Args:
        seed: the world's seed.
        shoe: the shoe's id.
        coup: the coup's number within the shoe.
        rulebook: names the bets and their limits.
    """
    placed = []
    for seat in SEATS:
        whims = random.Random(f"{seed}/{shoe_number(shoe)}/{coup}/{seat}")
        if whims.random() < _SITS_OUT:
            continue
        asked = tuple(
            WagerRequest(seat=seat, bet=bet, stake=stake)
            for bet, stake in _stakes(whims, rulebook).items()
        )
        if asked:
            placed.append(PlaceWager(transaction=f"w-{shoe}-{coup}-s{seat}", wagers=asked))
    return placed


def _stakes(whims: random.Random, rulebook: Rulebook) -> Mapping[str, int]:
    """Return stakes by bet, in the order of placing: bets that support others come first."""
    limits = rulebook.limits
    table, gap = _share(limits.table_maximum), _share(limits.differential)
    placed: dict[str, int] = {}
    for bet in _wanted(whims, rulebook):
        rooms = [bet.maximum, _share(bet.table_maximum)]
        of_all = (table, limits.patron_maximum, limits.seat_maximum)
        rooms += [most - sum(placed.values()) for most in of_all if most is not None]
        if bet.id in _SIDES:
            rooms.append(gap)
        stake = _stake(whims, bet, min((room for room in rooms if room is not None), default=None))
        if stake is not None and _allowed(bet, placed, rulebook):
            placed[bet.id] = stake
    return placed


def _share(most: int | None) -> int | None:
    """Return a seat's share of a limit of the whole table."""
    return None if most is None else most // len(SEATS)


def _wanted(whims: random.Random, rulebook: Rulebook) -> Iterator[Bet]:
    """Yield the bets that a patron wants, by chance alone."""
    offered, sides, alone = _offered(rulebook)
    wish, main = whims.random(), "banker" if whims.random() < _BANKER else "player"
    names: list[str]
    if wish < _TIE_ALONE:
        names = ["tie"]
    elif wish < _TIE_ALONE + _SIDE_ALONE and alone:
        yield whims.choice(alone)
        return
    else:
        names = [main, "tie"] if whims.random() < _TIE_BESIDE else [main]
    yield from (offered[name] for name in names if name in offered)
    yield from (bet for bet in sides if whims.random() < _SIDE_BESIDE)


@keep_newest
def _offered(rulebook: Rulebook) -> tuple[dict[str, Bet], list[Bet], list[Bet]]:
    """Return the bets on offer by id, the side bets among them, and those that need no other."""
    offered = {name: bet for name, bet in rulebook.bets.items() if bet.offered}
    sides = [bet for name, bet in offered.items() if name not in _MAIN]
    return offered, sides, [bet for bet in sides if bet.requirement is Requirement.NONE]


def _stake(whims: random.Random, bet: Bet, most: int | None) -> int | None:
    """Return a chip within the limits, else the least multiple of the step; None if none fits."""
    least = -(-bet.minimum // bet.step) * bet.step
    fitting = [
        chip
        for chip in STAKES
        if chip >= least and chip % bet.step == 0 and (most is None or chip <= most)
    ]
    if fitting:
        return whims.choice(fitting)
    return least if most is None or least <= most else None


def _allowed(bet: Bet, placed: Mapping[str, int], rulebook: Rulebook) -> bool:
    """Return whether the patron has what this bet needs, and may play it with the others."""
    needs = mains_for(rulebook, bet)
    if needs and placed.keys().isdisjoint(needs):
        return False
    most = rulebook.options.max_options
    options = {_OPTION[name] for name in (*placed, bet.id) if name in _OPTION}
    return most is None or bet.id not in _OPTION or len(options) <= most
