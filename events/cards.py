"""Playing cards: faces, hands, winners and point totals. A face is rank then suit (`9D`, `TH`).

Points follow the seeds: an ace counts 1, two to nine count their pips, tens and court cards count
nothing (seed 2, "the highest count possible is nine"; seed 3, "Ace equals one").
"""

from collections.abc import Iterable
from enum import Enum
from typing import Final

from events.errors import InputError

__all__ = ["POINTS", "RANKS", "SUITS", "Card", "Hand", "Winner", "parse_card", "total"]

RANKS: Final = "A23456789TJQK"
SUITS: Final = "SHDC"
POINTS: Final = {rank: min(index, 10) % 10 for index, rank in enumerate(RANKS, start=1)}


class Hand(Enum):
    """The two hands of the game; no patron holds cards."""

    PLAYER = "player"
    BANKER = "banker"

    # Enum's own __hash__ is a Python function, and hands and faces are looked up all the time.
    __hash__ = object.__hash__


class Winner(Enum):
    """How a coup came out."""

    PLAYER = "player"
    BANKER = "banker"
    TIE = "tie"

    __hash__ = object.__hash__  # as above


class Card(Enum):
    """One of the 52 faces. The value is what stands in the log and on the bus."""

    SA, S2, S3, S4, S5, S6, S7 = "AS", "2S", "3S", "4S", "5S", "6S", "7S"
    S8, S9, ST, SJ, SQ, SK = "8S", "9S", "TS", "JS", "QS", "KS"
    HA, H2, H3, H4, H5, H6, H7 = "AH", "2H", "3H", "4H", "5H", "6H", "7H"
    H8, H9, HT, HJ, HQ, HK = "8H", "9H", "TH", "JH", "QH", "KH"
    DA, D2, D3, D4, D5, D6, D7 = "AD", "2D", "3D", "4D", "5D", "6D", "7D"
    D8, D9, DT, DJ, DQ, DK = "8D", "9D", "TD", "JD", "QD", "KD"
    CA, C2, C3, C4, C5, C6, C7 = "AC", "2C", "3C", "4C", "5C", "6C", "7C"
    C8, C9, CT, CJ, CQ, CK = "8C", "9C", "TC", "JC", "QC", "KC"

    def __init__(self, text: str) -> None:
        self.text: str = text  # the value again: an enum's own `value` is a Python function
        self.rank: str = text[0]
        self.suit: str = text[1]
        self.points: int = POINTS[text[0]]

    __hash__ = object.__hash__  # as above

    def __str__(self) -> str:
        return str(self.value)


_BY_TEXT: Final = {card.value: card for card in Card} | {
    f"10{card.suit}": card for card in Card if card.rank == "T"
}


def parse_card(text: str) -> Card:
    """Parse a card as people write it: `9D`, `th`, `10H`.

    Raises:
        InputError: the text is not one of the 52 faces.
    """
    card = _BY_TEXT.get(text.strip().upper())
    if card is None:
        raise InputError(
            f"{text!r} is not a card; write rank then suit, such as 9D, TH or 10H "
            f"(ranks {RANKS}, suits {SUITS})"
        )
    return card


def total(cards: Iterable[Card]) -> int:
    """Return a hand's points, the sum's last digit (seed 2: "a hand totaling 15 becomes 5")."""
    return sum([card.points for card in cards]) % 10
