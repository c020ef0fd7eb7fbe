"""Splits deals by which three-card hands have one suit, and whether both have the same suit.

Neither ranks nor the order of a hand's cards matter for this.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import mul
from typing import Final

from msgspec import Struct

from events.cards import SUITS, Card
from table_core.odds.deals import (
    DealClass,
    HandTotals,
    Points,
    any_card,
    by_points,
    points_left,
    ways_of,
)
from table_core.rules.draw import judge_hands

__all__ = ["classes_by_suits"]

_THREE: Final = 3
_ONE, _OTHER, _MIXED = "SSS", "HHH", "SHH"  # suits that represent all suits of the same pattern


class _SuitCounts(Struct):
    """Deals of one worth that are being counted, with the hands of the first.

    Args:
        own: of `deals`, those with Player's hand in one suit; `other`: with Banker's.
        same: of `deals`, those with both hands in the same suit; `apart`: in two suits.
    """

    player: Points
    banker: Points
    deals: int = 0
    own: int = 0
    other: int = 0
    same: int = 0
    apart: int = 0


def classes_by_suits(shoe: Mapping[Card, int]) -> Iterator[DealClass]:
    """Yield all deals by totals, numbers of cards, and the suits of three-card hands.

    Args:
        shoe: the number of copies of each face left; in all at least
            `table_core.odds.deals.MAX_DEAL_CARDS`.
    """
    count = _counter(shoe)
    found: dict[HandTotals, _SuitCounts] = {}
    for (worth, players, bankers), (player, banker, deals) in _alike_hands(shoe).items():
        counted = found.get(worth)
        if counted is None:
            counted = found[worth] = _SuitCounts(player, banker)
        count(counted, players, bankers, deals)
    for counted in found.values():
        yield from _classes(counted)


def _alike_hands(
    shoe: Mapping[Card, int],
) -> dict[tuple[HandTotals, Points, Points], tuple[Points, Points, int]]:
    """Group by worth and three-card hands, in any order: the first deal's hands, and all deals."""
    of_three = cache(lambda hand: tuple(sorted(hand)) if len(hand) == _THREE else ())
    found: dict[tuple[HandTotals, Points, Points], tuple[Points, Points, int]] = {}
    for first_player, first_banker, grown in by_points(shoe):
        for worth, players_third, bankers_third, deals in grown:
            player, banker = first_player + players_third, first_banker + bankers_third
            key = (worth, of_three(player), of_three(banker))
            known = found.get(key)
            found[key] = (
                (known[0], known[1], known[2] + deals) if known else (player, banker, deals)
            )
    return found


def _counter(shoe: Mapping[Card, int]) -> Callable[[_SuitCounts, Points, Points, int], None]:
    """Return a function that counts deals by their three-card hands and caches its counts."""
    counts = points_left(shoe)
    by_suit = [points_left({c: n for c, n in shoe.items() if c.suit == suit}) for suit in SUITS]
    every = cache(lambda points: ways_of(counts, points))
    one_suit = cache(lambda points: [ways_of(suit, points) for suit in by_suit])
    of_one_suit = cache(lambda points: sum(one_suit(points)))

    def count(counted: _SuitCounts, player: Points, banker: Points, deals: int) -> None:
        counted.deals += deals
        own = of_one_suit(player) if player else 0
        other = of_one_suit(banker) if banker else 0
        if own:
            counted.own += deals * own // every(player)
        if other:
            counted.other += deals * other // every(banker)
        if own and other:
            six = tuple(sorted(player + banker))
            alike = sum(map(mul, one_suit(player), one_suit(banker)))
            counted.same += deals * of_one_suit(six) // every(six)
            counted.apart += deals * (own * other - alike) // every(six)

    return count


def _classes(counted: _SuitCounts) -> Iterator[DealClass]:
    own, other, both = counted.own, counted.other, counted.same + counted.apart
    parts = {
        (_ONE, _ONE): counted.same,
        (_ONE, _OTHER): counted.apart,
        (_ONE, _MIXED): own - both,
        (_MIXED, _ONE): other - both,
        (_MIXED, _MIXED): counted.deals - own - other + both,
    }
    for suits, deals in parts.items():
        if deals:
            player = tuple(map(any_card, counted.player, suits[0]))
            banker = tuple(map(any_card, counted.banker, suits[1]))
            yield DealClass(judge_hands(player, banker), deals)
