"""A shuffled shoe with its cut card: the cards in the device before the first coup.

The order comes from the seed alone. The cut card lies in front of the 14th card from the end. The
first card is exposed and as many cards are burned as its face says, ten for a ten or a court card.
"""

import random
from collections import Counter
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from events.cards import RANKS, Card
from events.errors import InputError, OurBug

__all__ = ["CUT_CARD_FROM_END", "DECKS", "BurnedCards", "Deck", "burn_count", "shuffled"]

CUT_CARD_FROM_END: Final = 14
DECKS: Final = (4, 6, 8)
_MOST_BURNED: Final = 10


class BurnedCards(Struct, frozen=True, kw_only=True):
    """The opening of a shoe: the exposed first card, and the cards burned face down."""

    first: Card
    burned: tuple[Card, ...]


def shuffled(seed: int | str, decks: int = 8) -> tuple[Card, ...]:
    """The cards of `decks` whole decks in the order that `seed` gives, next card first.

    Raises:
        InputError: the game is not played with so many decks.
    """
    if decks not in DECKS:
        raise InputError(f"{decks} decks: a shoe holds 4, 6 or 8")
    cards = list(Card) * decks
    random.Random(seed).shuffle(cards)
    return tuple(cards)


def burn_count(first: Card) -> int:
    """Return how many cards are burned after `first`: its face value, court cards ten."""
    return min(RANKS.index(first.rank) + 1, _MOST_BURNED)


class Deck:
    """The cards still in the shoe. They come out one at a time, in order.

    Args:
        cards: all cards, next one first.
        cut_card: the number of cards after the cut card.
    """

    def __init__(self, cards: tuple[Card, ...], *, cut_card: int = CUT_CARD_FROM_END) -> None:
        self._cards = cards
        self._cut_card = cut_card
        self._next = 0

    @property
    def left(self) -> int:
        """Cards that have not come out yet."""
        return len(self._cards) - self._next

    @property
    def cut_card_is_next(self) -> bool:
        """Whether the next draw brings the cut card, before the card after it."""
        return self.left == self._cut_card

    @property
    def cut_card_is_out(self) -> bool:
        """Whether the cut card has come out."""
        return self.left < self._cut_card

    def cut(self, cut_card: int) -> None:
        """Move the cut card to so many cards from the end."""
        self._cut_card = cut_card

    def draw(self) -> Card:
        """Take the next card out.

        Raises:
            OurBug: the shoe is empty; the caller has miscounted the last coup.
        """
        if not self.left:
            raise OurBug("a card was drawn from an empty shoe")
        card = self._cards[self._next]
        self._next += 1
        return card

    def burn(self) -> BurnedCards:
        """Expose the first card and burn as many as it says (house rule, shoe life)."""
        first = self.draw()
        return BurnedCards(first=first, burned=tuple(self.draw() for _ in range(burn_count(first))))

    def rest(self) -> Iterator[Card]:
        """The cards that never came out, in order: for the audit of a whole shoe."""
        return iter(self._cards[self._next :])

    def spent(self) -> list[Card]:
        """Faces of which no copy is left, in their printed order."""
        left = self.composition()
        return [card for card in Card if not left[card]]

    def composition(self) -> Counter[Card]:
        """Return how many of each face are still in the shoe."""
        return Counter(self.rest())
