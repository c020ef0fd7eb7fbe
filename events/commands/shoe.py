"""Commands about the shoe: load, burn, cut card, end, replace, count, errors that are over."""

from typing import Literal

from msgspec import field

from events.cards import Card
from events.commands.base import Command
from events.types.shoe_life import CutPlace

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
    """A shuffled shoe is in place.

    Args:
        shoe: `YYYYMMDD-NN` by the site's business day.
        decks: 4, 6 or 8.
    """

    shoe: str
    decks: int = 8


class Burn(Command, frozen=True, kw_only=True):
    """A person records the burn that the shoe did not report, or that was skipped.

    Args:
        cards: how many were burned behind the first card.
        reason: why it is recorded by hand.
    """

    cards: int
    reason: str


class CutCard(Command, frozen=True, kw_only=True):
    """The dealer reports the cut card, where the shoe does not itself."""

    place: CutPlace


class EndShoe(Command, frozen=True, kw_only=True):
    """No more coups from this shoe."""

    reason: str = ""


class CountShoe(Command, frozen=True, kw_only=True):
    """All cards of an ended shoe were counted, dealt or not, by a person or a counting device.

    Args:
        shoe: its id.
        cards: how many there are.
        faces: face to count, where faces were counted too.
    """

    shoe: str
    cards: int
    faces: dict[Card, int] = field(default_factory=dict)


class ReleaseShoe(Command, frozen=True, kw_only=True):
    """The next shoe may be loaded, although this one is held.

    Args:
        shoe: the held shoe's id.
        reason: what was found.
    """

    shoe: str
    reason: str


class ReplaceShoe(Command, frozen=True, kw_only=True):
    """Another shoe takes the place of the one on the table before its time.

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
    """An error of the shoe is over, and no report of it will say so."""

    code: str
    reason: str
