"""Counts every deal that a shoe can give, by points, because points alone decide draws and winners.

The unit of counting is an ordered six-card deal. A coup that ends on fewer cards counts once for
every way in which the undrawn cards could have come. So the counts of a shoe of n cards add up to
n(n-1)(n-2)(n-3)(n-4)(n-5).

The deals are split as finely as a wager's judge needs, by the share of the faces with those points,
in `classes_by_pairs` and `classes_by_suits`. For a judge that uses
totals alone, `merged_by_totals` merges classes again. Each class comes with one of its deals, and
the judges themselves say what the class is worth. The test suite shows that no judge tells a
class's deals apart; a judge that uses more of a deal needs a finer split.

Splits deals by the pairs among each hand's first two cards, and whether all four have one rank.
Given the points of all cards, this does not depend on the third cards.

Splits deals by which three-card hands have one suit, and whether both have the same suit. Neither
ranks nor the order of a hand's cards matter for this.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, combinations_with_replacement, product
from math import perm
from operator import mul
from typing import Final, NamedTuple

from msgspec import Struct

from events.cards import POINTS, SUITS, Card, Hand
from table_core.rules.draw import Outcome, hand_due, judge_hands

__all__ = [
    "MAX_DEAL_CARDS",
    "CompletedDeals",
    "DealClass",
    "FirstFour",
    "HandTotals",
    "Points",
    "any_card",
    "by_points",
    "classes_by_pairs",
    "classes_by_suits",
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
