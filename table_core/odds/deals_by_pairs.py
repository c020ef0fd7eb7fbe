"""Splits deals by the pairs among each hand's first two cards, and whether all four have one rank.

Given the points of all cards, this does not depend on the third cards.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain, combinations_with_replacement, product
from typing import Final, NamedTuple

from msgspec import Struct

from events.cards import Card
from table_core.odds.deals import CompletedDeals, DealClass, HandTotals, Points, any_card, by_points
from table_core.rules.draw import judge_hands

__all__ = ["classes_by_pairs"]

_RED: Final = frozenset("HD")
_TWO: Final = 2


class _Share(NamedTuple):
    """The share of the faces with certain points that make certain pairs.

    Args:
        pairs: the kind of pair of each two cards.
        one_rank: whether all the cards are of one rank.
        faces: cards of this kind.
        ways: the number of ways in which such cards come.
    """

    pairs: tuple[str, ...]
    one_rank: bool
    faces: tuple[Card, ...]
    ways: int


class _Counted(Struct):
    """A class that is being counted, with its first deal."""

    faces: tuple[Card, ...]
    thirds: tuple[Points, Points]
    deals: int = 0


def classes_by_pairs(shoe: Mapping[Card, int]) -> Iterator[DealClass]:
    """Yield all deals by totals, numbers of cards, and the pairs among the first two cards.

    Args:
        shoe: the number of copies of each face left; in all at least
            `table_core.odds.deals.MAX_DEAL_CARDS`.
    """
    # The shares of cards of one value, which are few; all other shares combine these.
    of_one_value = cache(lambda points: _shares_of_one_value(shoe, points))
    found: dict[object, dict[HandTotals, _Counted]] = {}
    for player, banker, grown in by_points(shoe):
        shares = _shares(of_one_value, player, banker)
        ways = sum(share.ways for share in shares)
        alike = _alike(grown)
        for share in shares:
            by_worth = found.setdefault((share.pairs, share.one_rank), {})
            all_of_them = share.ways == ways
            for worth, (thirds, deals) in alike.items():
                counted = by_worth.get(worth)
                if counted is None:
                    counted = by_worth[worth] = _Counted(share.faces, thirds)
                counted.deals += deals if all_of_them else deals * share.ways // ways
    for by_worth in found.values():
        yield from map(_as_class, by_worth.values())


def _as_class(counted: _Counted) -> DealClass:
    first, thirds = counted.faces, [tuple(map(any_card, third)) for third in counted.thirds]
    return DealClass(judge_hands(first[:2] + thirds[0], first[2:] + thirds[1]), counted.deals)


def _alike(grown: Iterable[CompletedDeals]) -> dict[HandTotals, tuple[tuple[Points, Points], int]]:
    """Group by worth: the third cards of the first deal, and the number of all deals."""
    found: dict[HandTotals, tuple[tuple[Points, Points], int]] = {}
    for worth, player, banker, deals in grown:
        known = found.get(worth)
        found[worth] = (known[0], known[1] + deals) if known else ((player, banker), deals)
    return found


def _shares(
    of_one_value: Callable[[Points], list[_Share]], player: Points, banker: Points
) -> list[_Share]:
    """Return the shares of both hands' first two cards, by their pairs."""
    if len({*player, *banker}) == 1:
        return of_one_value(player + banker)
    # A hand that may be a pair shares its points with no other hand that may be one.
    hands = [
        of_one_value(points)
        if len(set(points)) == 1
        else [_Share(("none",), False, tuple(map(any_card, points)), 1)]
        for points in (player, banker)
    ]
    return [
        _Share(own.pairs + other.pairs, False, own.faces + other.faces, own.ways * other.ways)
        for own, other in product(*hands)
    ]


class _Two(NamedTuple):
    """Two cards of a hand, in either order.

    Args:
        pair: the kind of pair that they are.
        ways: the number of ways in which they come out of a whole shoe.
        orders: the number of orders in which they can lie.
    """

    faces: tuple[Card, ...]
    pair: str
    ways: int
    orders: int


def _shares_of_one_value(shoe: Mapping[Card, int], points: Points) -> list[_Share]:
    """Return the shares of one hand's first two cards, or of both hands' of one value."""
    faces = [card for card, copies in shoe.items() if copies and card.points == points[0]]
    twos = [
        _Two(two, _pair(*two), len(set(two)) * _copies(shoe, two), len(set(two)))
        for two in combinations_with_replacement(faces, _TWO)
    ]
    first: dict[tuple[tuple[str, ...], bool], tuple[_Two, ...]] = {}
    ways: Counter[tuple[tuple[str, ...], bool]] = Counter()
    for hands in product(twos, repeat=len(points) // _TWO):
        pairs = tuple([two.pair for two in hands])
        alike = pairs, "none" not in pairs and len({two.faces[0].rank for two in hands}) == 1
        first.setdefault(alike, hands)
        ways[alike] += _ways(shoe, *hands)
    return [
        _Share(*alike, tuple(chain.from_iterable(two.faces for two in first[alike])), count)
        for alike, count in ways.items()
        if count
    ]


def _ways(shoe: Mapping[Card, int], own: _Two, other: _Two | None = None) -> int:
    if other is None:
        return own.ways
    if own.faces[0] in other.faces or own.faces[1] in other.faces:
        return _copies(shoe, own.faces + other.faces) * own.orders * other.orders
    return own.ways * other.ways


def _pair(first: Card, second: Card) -> str:
    if first.rank != second.rank:
        return "none"
    if first is second:
        return "perfect"
    return "coloured" if (first.suit in _RED) == (second.suit in _RED) else "mixed"


def _copies(shoe: Mapping[Card, int], cards: tuple[Card, ...]) -> int:
    """Return the number of ways to draw these faces, in order, out of the shoe."""
    ways = 1
    for place, card in enumerate(cards):
        ways *= shoe[card] - cards[:place].count(card)
    return ways
