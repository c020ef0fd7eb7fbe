"""Every deal that a shoe can give, by points: who draws and who wins depends on points alone.

Unit of counting: ordered six-card deals. A coup that ends on fewer cards counts once for every way
in which the undrawn ones could have come, so the counts of a shoe of n cards add up to
n(n-1)(n-2)(n-3)(n-4)(n-5).

The deals are split as far as a wager's judge looks, by the share of the faces with those points, in
`table_core.odds.deals_by_pairs` and `table_core.odds.deals_by_suits`; where a judge looks at totals
alone, `merged_by_totals` puts classes together again. A class comes with one deal of it, so that
the judges themselves say what the class is worth. That they cannot tell a class's deals apart is
for the suite to show; a judge that looks at more than these needs a finer split.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations_with_replacement, product
from math import perm
from typing import Final, NamedTuple

from events.cards import POINTS, SUITS, Card, Hand
from table_core.rules.draw import due
from table_core.rules.outcome import Outcome

__all__ = [
    "DEAL",
    "DealClass",
    "FirstFour",
    "Grown",
    "Points",
    "Worth",
    "any_card",
    "by_points",
    "merged_by_totals",
    "points_left",
    "ways_of",
]

DEAL: Final = 6
"""The most cards that a coup can need."""

Points = tuple[int, ...]
"""Of a hand's cards; the first two in ascending order."""
Worth = tuple[int, int, int, int]
"""Player's number of cards and total, then Banker's."""
Grown = tuple[Worth, Points, Points, int]
"""A worth, each hand's third card if it has one, and in how many deals."""

_MOST_DRAWN: Final = 2  # behind the first four
_PAIRS: Final = tuple(combinations_with_replacement(range(10), 2))
_THIRDS: Final = tuple((points,) for points in range(10))
_RANK: Final = {points: rank for rank, points in reversed(POINTS.items())}


class DealClass(NamedTuple):
    """Deals that no judge tells apart: one of them judged, and how many there are."""

    outcome: Outcome
    deals: int


class FirstFour(NamedTuple):
    """Deals that have the points of their first four cards in common.

    Args:
        player: the points of its first two cards; `banker` the same.
        grown: what they become.
    """

    player: Points
    banker: Points
    grown: list[Grown]


def merged_by_totals(classes: Iterable[DealClass]) -> list[DealClass]:
    """The classes put together for judges who look at totals and numbers of cards alone."""
    found: dict[Worth, DealClass] = {}
    for outcome, deals in classes:
        player, banker = len(outcome.player), len(outcome.banker)
        worth = (player, outcome.player_total, banker, outcome.banker_total)
        first, counted = found.get(worth, (outcome, 0))
        found[worth] = DealClass(first, counted + deals)
    return list(found.values())


def by_points(shoe: Mapping[Card, int]) -> Iterator[FirstFour]:
    """All deals, by their first four cards.

    Args:
        shoe: how many copies of each face are left; at least `DEAL` cards in all.
    """
    counts = points_left(shoe)
    for player, banker in product(_PAIRS, _PAIRS):
        orders = len(set(player)) * len(set(banker))
        if deals := orders * ways_of(counts, player + banker):
            left = list(counts)
            for points in player + banker:
                left[points] -= 1
            totals = sum(player) % 10, sum(banker) % 10
            yield FirstFour(player, banker, _grown(*totals, deals, left))


def _grown(player: int, banker: int, deals: int, left: list[int]) -> list[Grown]:
    """What four cards of these totals become; `left` are the undealt, by points.

    Banker's third card is the last that can be due, whatever Player did.
    """
    size = sum(left)
    hand = _due(player, banker, (), ())
    if hand is None:
        return [((2, player, 2, banker), (), (), deals * perm(size, _MOST_DRAWN))]
    if hand is Hand.BANKER:
        return _with_bankers_third((2, player), (), banker, left, deals * (size - 1))
    grown: list[Grown] = []
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
) -> list[Grown]:
    """Each with one card more for Banker."""
    return [
        (worth, third, own, deals * copies)
        for worth, own, copies in zip(_worths(*player, banker), _THIRDS, left, strict=True)
        if copies
    ]


@cache
def _worths(player_cards: int, player: int, banker: int) -> list[Worth]:
    """By the points of Banker's third card."""
    return [(player_cards, player, 3, (banker + points) % 10) for points in range(10)]


@cache
def _due(player: int, banker: int, *thirds: Points) -> Hand | None:
    """Whose card is due to these totals of two cards and these third cards, by the draw table."""
    hands = [
        [any_card(0), any_card(total), *map(any_card, third)]
        for total, third in zip((player, banker), thirds, strict=True)
    ]
    return due(*hands)[0]


def points_left(shoe: Mapping[Card, int]) -> list[int]:
    """How many cards of each point value there are."""
    counts = [0] * 10
    for card, copies in shoe.items():
        counts[card.points] += copies
    return counts


def ways_of(counts: Sequence[int], points: Points) -> int:
    """In how many ways cards of these points come one after another out of `counts`."""
    left, ways = list(counts), 1
    for value in points:
        ways *= left[value]
        left[value] -= 1
    return ways


def any_card(points: int, suit: str = SUITS[0]) -> Card:
    """A card that counts so much."""
    return Card(f"{_RANK[points]}{suit}")
