"""Commands about the shoe: load, burn, cut card, end, replace, count, errors that are over."""

from typing import Literal

from msgspec import field

from events.cards import Card
from events.commands.base import Command
from events.types import CutPlace

__all__ = [
    "Burn",
    "ClearShoeError",
    "CountShoe",
    "CutCard",
    "EndShoe",
    "LoadShoe",
    "ReleaseShoe",
    "ReplaceShoe",
]


class LoadShoe(Command, frozen=True, kw_only=True):
    """Load a shuffled shoe.

    Args:
        shoe: `YYYYMMDD-NN` by the site's business day.
        decks: 4, 6 or 8.
    """

    shoe: str
    decks: int = 8


class Burn(Command, frozen=True, kw_only=True):
    """Record the burn that the shoe did not report, or that was skipped.

    Args:
        cards: how many were burned after the first card.
        reason: why it is recorded by hand.
    """

    cards: int
    reason: str


class CutCard(Command, frozen=True, kw_only=True):
    """Report the cut card where the shoe does not."""

    place: CutPlace


class EndShoe(Command, frozen=True, kw_only=True):
    """End the shoe: it gives no more coups."""

    reason: str = ""


class CountShoe(Command, frozen=True, kw_only=True):
    """Record a count of all cards of an ended shoe, dealt or not, by a person or a device.

    Args:
        shoe: its id.
        cards: how many there are.
        faces: face to count, where faces were counted too.
    """

    shoe: str
    cards: int
    faces: dict[Card, int] = field(default_factory=dict)


class ReleaseShoe(Command, frozen=True, kw_only=True):
    """Release a held shoe: the next one may be loaded.

    Args:
        shoe: the held shoe's id.
        reason: what was found.
    """

    shoe: str
    reason: str


class ReplaceShoe(Command, frozen=True, kw_only=True):
    """Replace the shoe on the table before its end.

    Args:
        shoe: the new one's id.
        decks: 4, 6 or 8.
        coup: what becomes of a coup in progress: `continue` from the new shoe, or `void`.
        reason: why.
    """

    shoe: str
    decks: int = 8
    coup: Literal["continue", "void"] = "void"
    reason: str


class ClearShoeError(Command, frozen=True, kw_only=True):
    """Clear an error of the shoe that is over, and that no report will clear."""

    code: str
    reason: str
