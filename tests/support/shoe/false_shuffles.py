"""False shuffles by kind: for the tests and the detection curves."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, TypeAlias

from msgspec import Struct

from events.cards import Card
from table_core.shuffle.orders import FACTORY_ORDERS, WAYS, order_of, piles

EarlierShoes: TypeAlias = Sequence[tuple[str, str]]

DECKS: Final = 8
DEALT: Final = 400
"""Cards that coups show of a shoe of eight decks: fourteen lie behind the cut card."""
_PACK: Final = order_of(Card)


class Curve(Struct, frozen=True):
    """A kind of false shuffle and what docs/shoe/shuffle.md promises of it.

    Args:
        name: as in the document.
        make: makes such a shoe, given earlier ones.
        cards: cards after which nearly all are found; None where that is not promised.
        share: of the shoes that are found by then or, without cards, at the shoe's end, in percent.
    """

    name: str
    make: Callable[[Random, EarlierShoes], str]
    cards: int | None
    share: int


def honest(rng: Random) -> str:
    """Return the order of an honest shoe."""
    return "".join(rng.sample(_PACK * DECKS, len(_PACK) * DECKS))


def _riffled(order: str, rng: Random, times: int) -> str:
    """Riffle all cards: a cut by tossing coins, and each packet drops by its size."""
    for _ in range(times):
        cut = sum(rng.random() < 0.5 for _ in order)
        left, right, mixed = list(order[:cut]), list(order[cut:]), []
        while left or right:
            packet = left if rng.random() * (len(left) + len(right)) < len(left) else right
            mixed.append(packet.pop(0))
        order = "".join(mixed)
    return order


def _cut(order: str, rng: Random) -> str:
    at = rng.randrange(len(order))
    return order[at:] + order[:at]


def _new_packs(rng: Random, _: EarlierShoes) -> str:
    """Return new packs one on the other, cut, either way up."""
    order = rng.choice(list(FACTORY_ORDERS.values())) * DECKS
    return _cut(order, rng)[:: rng.choice((1, -1))]


def _one_order(rng: Random, _: EarlierShoes) -> str:
    return "".join(rng.sample(_PACK, len(_PACK))) * DECKS


def _reused(rng: Random, earlier: EarlierShoes) -> str:
    """Return an earlier shoe, cut, backwards, interleaved or dealt to two piles."""
    order = _cut(rng.choice(earlier)[1], rng)
    order = piles(order) if rng.random() < 0.2 else order
    way = rng.choice(WAYS)
    places = [way.place(len(order), at) for at in range(len(order))]
    laid = dict(zip(places, order, strict=True))
    return "".join(laid[at] for at in range(len(order)))


def _after(
    make: Callable[[Random, EarlierShoes], str], riffles: int
) -> Callable[[Random, EarlierShoes], str]:
    return lambda rng, earlier: _riffled(make(rng, earlier), rng, riffles)


def _slug(
    make: Callable[[Random, EarlierShoes], str], cards: int
) -> Callable[[Random, EarlierShoes], str]:
    """Return an honest shoe in which so many cards in a row were not shuffled."""

    def made(rng: Random, earlier: EarlierShoes) -> str:
        order, slug = honest(rng), make(rng, earlier)[:cards]
        at = rng.randrange(DEALT - cards)
        return order[:at] + slug + order[at + cards :]

    return made


def _straight(rng: Random, earlier: EarlierShoes) -> str:
    return _cut(rng.choice(earlier)[1], rng)


CURVES: Final = (
    Curve("new packs, not shuffled", _new_packs, 26, 100),
    Curve("new packs, one riffle", _after(_new_packs, 1), 104, 99),
    Curve("new packs, two riffles", _after(_new_packs, 2), 182, 99),
    Curve("new packs, three riffles", _after(_new_packs, 3), 312, 99),
    Curve("new packs, four riffles", _after(_new_packs, 4), None, 85),
    Curve("half the cards from new packs, half honest", _slug(_new_packs, 208), 234, 99),
    Curve("10 cards from new packs in an honest shoe", _slug(_new_packs, 10), None, 99),
    Curve("an earlier shoe, cut, backwards or interleaved", _reused, 78, 99),
    Curve("an earlier shoe, one riffle", _after(_straight, 1), 156, 99),
    Curve("an earlier shoe, two riffles", _after(_straight, 2), None, 95),
    Curve("20 cards of an earlier shoe in an honest one", _slug(_straight, 20), None, 99),
    Curve("10 cards of an earlier shoe in an honest one", _slug(_straight, 10), None, 99),
    Curve("packs of one unknown order", _one_order, 104, 99),
    Curve("packs of one unknown order, one riffle", _after(_one_order, 1), 286, 99),
    Curve("packs of one unknown order, two riffles", _after(_one_order, 2), None, 50),
)


class Contents(Struct, frozen=True, kw_only=True):
    """A shoe that does not hold the cards that it should.

    Args:
        name: as in the document.
        exchanged: cards that became one face, of which the shoe has all copies.
        missing: cards taken out.
        extra: cards put in, of one face.
        faces: only a count of faces finds it; else the number of cards does.
        in_play: of the shoes, found by the cards dealt, at least, in percent.
    """

    name: str
    exchanged: int = 0
    missing: int = 0
    extra: int = 0
    faces: bool = False
    in_play: int = 0

    def make(self, rng: Random) -> str:
        """Return the order of such a shoe."""
        face = rng.choice(_PACK)
        others = _PACK.replace(face, "") * DECKS
        gone = self.missing + self.exchanged
        kept = rng.sample(others, len(others) - gone)
        cards = kept + [face] * (DECKS + self.extra + self.exchanged)
        return "".join(rng.sample(cards, len(cards)))


CONTENTS: Final = (
    *(
        Contents(name=f"{number} cards exchanged", exchanged=number, faces=True, in_play=in_play)
        for number, in_play in ((1, 60), (2, 88), (3, 95), (4, 97))
    ),
    Contents(name="a card missing", missing=1),
    Contents(name="three cards missing", missing=3),
    Contents(name="a card too many", extra=1, in_play=60),
    Contents(name="a face doubled", extra=DECKS, in_play=100),
)
