"""Every deal that a shoe can give, counted exactly, in classes that no wager's judge tells apart.

Unit of counting: ordered six-card deals. A coup that ends on fewer cards counts once for every way
in which the undrawn ones could have come, so the counts of a shoe of n cards add up to
n(n-1)(n-2)(n-3)(n-4)(n-5).

First, all deals by points, grown by the draw table: who draws and who wins depends on points alone.
Each of these is then split as far as a judge looks, by the share of the faces with those points:

- `classes_by_pairs`: which pair the first two cards of each hand are, if any, and whether both are
  of one rank. Given the points of all cards, that does not depend on the third ones.
- `classes_by_suits`: whether a hand of three cards is of one suit, and whether both hands are of
  the same one. Ranks have no part in that.

A class comes with one deal of it, so that the judges themselves say what the class is worth. That
they cannot tell a class's deals apart is for the suite to show; a judge that looks at more than
these needs a finer split here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, combinations_with_replacement, product
from math import perm
from operator import mul
from typing import Final, NamedTuple

from events.cards import POINTS, SUITS, Card, Hand
from table_core.draw import due
from table_core.outcome import Outcome, judge

__all__ = ["DEAL", "DealClass", "classes_by_pairs", "classes_by_suits"]

DEAL: Final = 6
"""The most cards that a coup can need."""

_MOST_DRAWN: Final = 2  # behind the first four

_Points = tuple[int, ...]  # of a hand's cards; the first two in ascending order
_PAIRS: Final = tuple(combinations_with_replacement(range(10), 2))
_RANK: Final = {points: rank for rank, points in reversed(POINTS.items())}
_RED: Final = frozenset("HD")

_Suits = tuple[str, str]  # of each hand, for a deal that stands for its class
_ONE, _OTHER, _MIXED = "SSS", "HHH", "SHH"
_NO_SUIT: Final = [0] * len(SUITS)
_THREE: Final = 3


class DealClass(NamedTuple):
    """Deals that no judge tells apart: one of them judged, and how many there are."""

    outcome: Outcome
    deals: int


class _PointDeal(NamedTuple):
    player: _Points
    banker: _Points
    deals: int

    @property
    def key(self) -> tuple[int, int, int, int]:
        """What the hands are worth, and on how many cards."""
        return len(self.player), sum(self.player) % 10, len(self.banker), sum(self.banker) % 10


# ---- by points ----


def _by_points(shoe: Mapping[Card, int]) -> Iterator[list[_PointDeal]]:
    """All deals, in groups of those that have their first four cards in common."""
    counts = _counts(shoe)
    for player, banker in product(_PAIRS, _PAIRS):
        orders = len(set(player)) * len(set(banker))
        if deals := orders * _ways(counts, player + banker):
            left = list(counts)
            for points in player + banker:
                left[points] -= 1
            yield list(_grown(_PointDeal(player, banker, deals), left, sum(left)))


def _grown(dealt: _PointDeal, left: list[int], size: int) -> Iterator[_PointDeal]:
    """The deals that four cards become; `left`, by points, and `size` are those undealt.

    Banker's third card is the last that can be due, whatever Player did.
    """
    player, banker, deals = dealt
    totals = sum(player) % 10, sum(banker) % 10
    hand = _due(*totals, (), ())
    if hand is None:
        yield _PointDeal(player, banker, deals * perm(size, _MOST_DRAWN))
    elif hand is Hand.BANKER:
        yield from _with_bankers_third(dealt, left, size - 1)
    else:
        for points, copies in enumerate(left):
            if not copies:
                continue
            drawn = _PointDeal((*player, points), banker, deals * copies)
            if _due(*totals, (points,), ()) is None:
                yield drawn._replace(deals=drawn.deals * (size - 1))
                continue
            left[points] -= 1
            yield from _with_bankers_third(drawn, left, 1)
            left[points] += 1


def _with_bankers_third(dealt: _PointDeal, left: list[int], rest: int) -> Iterator[_PointDeal]:
    """Each with one card more for Banker; in `rest` ways what is undealt then could have come."""
    player, banker, deals = dealt
    for points, copies in enumerate(left):
        if copies:
            yield _PointDeal(player, (*banker, points), deals * copies * rest)


@cache
def _due(player: int, banker: int, *thirds: _Points) -> Hand | None:
    """Whose card is due to these totals of two cards and these third cards, by the draw table."""
    hands = [
        [_card(0), _card(total), *map(_card, third)]
        for total, third in zip((player, banker), thirds, strict=True)
    ]
    return due(*hands)[0]


# ---- split by pairs ----


class _Share(NamedTuple):
    """What part of the faces with certain points makes certain pairs.

    Args:
        pairs: the pair that each two cards are.
        one_rank: all the cards are of one rank.
        faces: cards of this kind.
        ways: in how many ways such cards come.
    """

    pairs: tuple[str, ...]
    one_rank: bool
    faces: tuple[Card, ...]
    ways: int


def classes_by_pairs(shoe: Mapping[Card, int]) -> Iterator[DealClass]:
    """All deals by totals, number of cards, and the pairs that the first two cards are.

    Args:
        shoe: how many copies of each face are left; at least `DEAL` cards in all.
    """
    # Of cards of one value, which are few; all the rest is put together out of these.
    of_one_value = cache(lambda points: _shares_of_one_value(shoe, points))
    found: dict[object, tuple[_PointDeal, _Share, int]] = {}
    for group in _by_points(shoe):
        shares = _shares(of_one_value, group[0].player[:2], group[0].banker[:2])
        ways = sum(share.ways for share in shares)
        for worth, (dealt, alike) in _alike(group).items():
            for share in shares:
                key = (worth, share.pairs, share.one_rank)
                first, kept, deals = found.get(key, (dealt, share, 0))
                found[key] = first, kept, deals + alike * share.ways // ways
    for dealt, share, deals in found.values():
        player = (*share.faces[:2], *map(_card, dealt.player[2:]))
        banker = (*share.faces[2:], *map(_card, dealt.banker[2:]))
        yield DealClass(judge(player, banker), deals)


def _alike(group: Iterable[_PointDeal]) -> dict[object, tuple[_PointDeal, int]]:
    """By what they are worth on how many cards: the first of those, and the deals of all."""
    found: dict[object, tuple[_PointDeal, int]] = {}
    for dealt in group:
        worth = dealt.key
        first, deals = found.get(worth, (dealt, 0))
        found[worth] = first, deals + dealt.deals
    return found


def _shares(
    of_one_value: Callable[[_Points], list[_Share]], player: _Points, banker: _Points
) -> list[_Share]:
    """The first two cards of both hands, by the pairs that they are."""
    if len({*player, *banker}) == 1:
        return of_one_value(player + banker)
    # A hand that could be a pair has its points to itself, or meets them in a hand that is none.
    hands = [
        of_one_value(points)
        if len(set(points)) == 1
        else [_Share(("none",), False, tuple(map(_card, points)), 1)]
        for points in (player, banker)
    ]
    return [
        _Share(own.pairs + other.pairs, False, own.faces + other.faces, own.ways * other.ways)
        for own, other in product(*hands)
    ]


def _shares_of_one_value(shoe: Mapping[Card, int], points: _Points) -> list[_Share]:
    faces = [card for card, copies in shoe.items() if copies and card.points == points[0]]
    found: dict[object, _Share] = {}
    for cards in product(faces, repeat=len(points)):
        pairs = tuple(_pair(*cards[start : start + 2]) for start in range(0, len(cards), 2))
        one_rank = len({card.rank for card in cards}) == 1
        ways = _copies(shoe, cards)
        share = found.get((pairs, one_rank))
        if share:
            ways += share.ways
        found[pairs, one_rank] = _Share(pairs, one_rank, cards, ways)
    return [share for share in found.values() if share.ways]


def _pair(first: Card, second: Card) -> str:
    if first.rank != second.rank:
        return "none"
    if first is second:
        return "perfect"
    return "coloured" if (first.suit in _RED) == (second.suit in _RED) else "mixed"


# ---- split by suits ----


def classes_by_suits(shoe: Mapping[Card, int]) -> Iterator[DealClass]:
    """All deals by totals, number of cards, and the suits of hands of three cards.

    Args:
        shoe: how many copies of each face are left; at least `DEAL` cards in all.
    """
    split = _suit_splitter(shoe)
    found: dict[object, tuple[_PointDeal, _Suits, int]] = {}
    for dealt in chain.from_iterable(_by_points(shoe)):
        for suits, deals in split(dealt):
            if deals:
                key = (dealt.key, suits)
                first, _, counted = found.get(key, (dealt, suits, 0))
                found[key] = first, suits, counted + deals
    for dealt, suits, deals in found.values():
        player, banker = (
            tuple(_card(points, suit) for points, suit in zip(hand, row, strict=False))
            for hand, row in zip((dealt.player, dealt.banker), suits, strict=True)
        )
        yield DealClass(judge(player, banker), deals)


def _suit_splitter(
    shoe: Mapping[Card, int],
) -> Callable[[_PointDeal], Iterator[tuple[_Suits, int]]]:
    """Splits a deal by points as far as suits matter; what it has counted once it keeps."""
    counts = _counts(shoe)
    by_suit = [_counts({c: n for c, n in shoe.items() if c.suit == suit}) for suit in SUITS]
    every = cache(lambda points: _ways(counts, points))
    one_suit = cache(lambda points: [_ways(suit, points) for suit in by_suit])

    def split(dealt: _PointDeal) -> Iterator[tuple[_Suits, int]]:
        player, banker, deals = dealt
        own, other = (one_suit(h) if len(h) == _THREE else _NO_SUIT for h in (player, banker))
        same = apart = 0
        if any(own) and any(other):
            six = tuple(sorted(player + banker))
            same = deals * sum(one_suit(six)) // every(six)
            any_two = sum(own) * sum(other) - sum(map(mul, own, other))
            apart = deals * any_two // every(six)
        player_only = deals * sum(own) // every(player) - same - apart
        banker_only = deals * sum(other) // every(banker) - same - apart
        yield (_ONE, _ONE), same
        yield (_ONE, _OTHER), apart
        yield (_ONE, _MIXED), player_only
        yield (_MIXED, _ONE), banker_only
        yield (_MIXED, _MIXED), deals - same - apart - player_only - banker_only

    return split


def _counts(shoe: Mapping[Card, int]) -> list[int]:
    """How many cards of each point value there are."""
    counts = [0] * 10
    for card, copies in shoe.items():
        counts[card.points] += copies
    return counts


def _copies(shoe: Mapping[Card, int], cards: tuple[Card, ...]) -> int:
    """In how many ways these faces come one after another out of the shoe."""
    ways = 1
    for place, card in enumerate(cards):
        ways *= shoe[card] - cards[:place].count(card)
    return ways


def _ways(counts: Sequence[int], points: _Points) -> int:
    """In how many ways cards of these points come one after another out of `counts`."""
    left, ways = list(counts), 1
    for value in points:
        ways *= left[value]
        left[value] -= 1
    return ways


def _card(points: int, suit: str = SUITS[0]) -> Card:
    return Card(f"{_RANK[points]}{suit}")
