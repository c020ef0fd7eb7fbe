"""Counts every deal that a shoe can give, by points, because points alone decide draws and winners.

The unit of counting is an ordered six-card deal. A coup that ends on fewer cards counts once for
every way in which the undrawn cards could have come. So the counts of a shoe of n cards add up to
n(n-1)(n-2)(n-3)(n-4)(n-5).

The deals are split as finely as a wager's judge needs, by the share of the faces with those points,
in `table_core.odds.deals_by_pairs` and `table_core.odds.deals_by_suits`. For a judge that uses
totals alone, `merged_by_totals` merges classes again. Each class comes with one of its deals, and
the judges themselves say what the class is worth. The test suite shows that no judge tells a
class's deals apart; a judge that uses more of a deal needs a finer split.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations_with_replacement, product
from math import perm
from typing import Final, NamedTuple

from events.cards import POINTS, SUITS, Card, Hand
from table_core.rules.draw import Outcome, hand_due

__all__ = [
    "MAX_DEAL_CARDS",
    "CompletedDeals",
    "DealClass",
    "FirstFour",
    "HandTotals",
    "Points",
    "any_card",
    "by_points",
    "merged_by_totals",
    "points_left",
    "ways_of",
]

MAX_DEAL_CARDS: Final = 6
"""The maximum number of cards in a coup."""

Points = tuple[int, ...]
"""The points of a hand's cards; the first two in ascending order."""
HandTotals = tuple[int, int, int, int]
"""Player's number of cards and total, then Banker's."""
CompletedDeals = tuple[HandTotals, Points, Points, int]
"""A worth, each hand's third card if it has one, and the number of such deals."""

_MOST_DRAWN: Final = 2  # after the first four
_PAIRS: Final = tuple(combinations_with_replacement(range(10), 2))
_THIRDS: Final = tuple((points,) for points in range(10))
_RANK: Final = {points: rank for rank, points in reversed(POINTS.items())}


class DealClass(NamedTuple):
    """Deals that no judge tells apart: the outcome of one of them, and their number."""

    outcome: Outcome
    deals: int


class FirstFour(NamedTuple):
    """Deals whose first four cards have the same points.

    Args:
        player: the points of Player's first two cards; `banker` likewise.
        grown: the complete deals that begin so.
    """

    player: Points
    banker: Points
    grown: list[CompletedDeals]


def merged_by_totals(classes: Iterable[DealClass]) -> list[DealClass]:
    """Merge classes for judges that use only totals and numbers of cards."""
    found: dict[HandTotals, DealClass] = {}
    for outcome, deals in classes:
        player, banker = len(outcome.player), len(outcome.banker)
        worth = (player, outcome.player_total, banker, outcome.banker_total)
        first, counted = found.get(worth, (outcome, 0))
        found[worth] = DealClass(first, counted + deals)
    return list(found.values())


def by_points(shoe: Mapping[Card, int]) -> Iterator[FirstFour]:
    """Yield all deals, grouped by their first four cards.

    Args:
        shoe: how many copies of each face are left; at least `MAX_DEAL_CARDS` cards in all.
    """
    counts = points_left(shoe)
    for player, banker in product(_PAIRS, _PAIRS):
        orders = len(set(player)) * len(set(banker))
        if deals := orders * ways_of(counts, player + banker):
            left = list(counts)
            for points in player + banker:
                left[points] -= 1
            totals = sum(player) % 10, sum(banker) % 10
            yield FirstFour(player, banker, _completed_deals(*totals, deals, left))


def _completed_deals(player: int, banker: int, deals: int, left: list[int]) -> list[CompletedDeals]:
    """Return the complete deals of four cards with these totals; `left` are the undealt, by points.

    Banker's third card is the last that can be due, whether Player drew or not.
    """
    size = sum(left)
    hand = _due(player, banker, (), ())
    if hand is None:
        return [((2, player, 2, banker), (), (), deals * perm(size, _MOST_DRAWN))]
    if hand is Hand.BANKER:
        return _with_bankers_third((2, player), (), banker, left, deals * (size - 1))
    grown: list[CompletedDeals] = []
    for points, copies in enumerate(left):
        if not copies:
            continue
        drawn, total = deals * copies, (player + points) % 10
        if _due(player, banker, (points,), ()) is None:
            grown.append(((3, total, 2, banker), (points,), (), drawn * (size - 1)))
            continue
        left[points] -= 1
        grown += _with_bankers_third((3, total), (points,), banker, left, drawn)
        left[points] += 1
    return grown


def _with_bankers_third(
    player: tuple[int, int], third: Points, banker: int, left: list[int], deals: int
) -> list[CompletedDeals]:
    """Return the deals with one more card for Banker."""
    return [
        (worth, third, own, deals * copies)
        for worth, own, copies in zip(_worths(*player, banker), _THIRDS, left, strict=True)
        if copies
    ]


@cache
def _worths(player_cards: int, player: int, banker: int) -> list[HandTotals]:
    """Return the worths by the points of Banker's third card."""
    return [(player_cards, player, 3, (banker + points) % 10) for points in range(10)]


@cache
def _due(player: int, banker: int, *thirds: Points) -> Hand | None:
    """Return the hand that the next card is due to, by two-card totals and third cards."""
    hands = [
        [any_card(0), any_card(total), *map(any_card, third)]
        for total, third in zip((player, banker), thirds, strict=True)
    ]
    return hand_due(*hands)[0]


def points_left(shoe: Mapping[Card, int]) -> list[int]:
    """Return the number of cards of each point value."""
    counts = [0] * 10
    for card, copies in shoe.items():
        counts[card.points] += copies
    return counts


def ways_of(counts: Sequence[int], points: Points) -> int:
    """Return the number of ways to draw cards of these points, in order, out of `counts`."""
    left, ways = list(counts), 1
    for value in points:
        ways *= left[value]
        left[value] -= 1
    return ways


def any_card(points: int, suit: str = SUITS[0]) -> Card:
    """Return some card with these points."""
    return Card(f"{_RANK[points]}{suit}")
