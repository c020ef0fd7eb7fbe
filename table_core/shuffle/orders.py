"""Orders of cards as texts of one letter a card, and the ways in which one can be read. Pure."""

from collections.abc import Iterable
from string import ascii_letters
from typing import Final

from msgspec import Struct

from events.cards import RANKS, SUITS, Card

__all__ = ["FACTORY_ORDERS", "LETTERS", "WAYS", "Way", "cards_of", "order_of", "piles"]

LETTERS: Final = ascii_letters
"""The letters of the cards."""
_LETTERS: Final = dict(zip(Card, LETTERS, strict=True))
_CARDS: Final = {letter: card for card, letter in _LETTERS.items()}


def order_of(cards: Iterable[Card]) -> str:
    """Return cards as an order."""
    return "".join(map(_LETTERS.__getitem__, cards))


def cards_of(order: str) -> tuple[Card, ...]:
    """Return the cards of an order."""
    return tuple(_CARDS[letter] for letter in order)


class Way(Struct, frozen=True):
    """A way to read the cards of a shoe.

    Args:
        step: every card (1), every second one and then the others (2), and so on. An interleaved
            order lies in a row again when it is read in steps.
        backwards: from the last card to the first.
    """

    step: int
    backwards: bool

    def read(self, order: str) -> str:
        """Return the order read in this way."""
        read = "".join([order[start :: self.step] for start in range(self.step)])
        return read[::-1] if self.backwards else read

    def place(self, cards: int, at: int) -> int:
        """Return the place in dealing order of the card that is read at a place.

        Args:
            cards: the number of cards.
            at: the place in the reading, counted from 0.
        """
        places = [place for start in range(self.step) for place in range(start, cards, self.step)]
        return places[::-1][at] if self.backwards else places[at]


WAYS: Final = tuple(Way(step, backwards) for step in (1, 2, 3, 4) for backwards in (False, True))


def piles(order: str) -> str:
    """Return an order dealt alternately to two piles, one laid on the other."""
    return order[::2] + order[1::2]


def _pack(faces: Iterable[str]) -> str:
    return order_of(Card(face) for face in faces)


FACTORY_ORDERS: Final = {
    "by_suits": _pack(rank + suit for suit in SUITS for rank in RANKS),
    "by_ranks": _pack(rank + suit for rank in RANKS for suit in SUITS),
    "two_suits_up_two_down": _pack(
        rank + suit
        for suit, ranks in zip("SDCH", (RANKS, RANKS, RANKS[::-1], RANKS[::-1]), strict=True)
        for rank in ranks
    ),
}
"""The order of a new pack. Packs are cut anywhere and laid either way up: an order is a circle."""
