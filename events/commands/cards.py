"""Commands about cards that went wrong: unread, misread, missed, in excess, misaligned."""

from events.cards import Card, Hand
from events.commands.base import Command, Correction

__all__ = ["CorrectCard", "EnterCard", "MarkUnreadable", "Realign", "ResolveIrregularity"]


class MarkUnreadable(Command, frozen=True, kw_only=True):
    """A face that was read is not trusted; it must be entered."""

    hand: Hand
    number: int
    reason: str


class EnterCard(Command, frozen=True, kw_only=True):
    """The face of a card that was not read, or that the shoe never told of."""

    hand: Hand
    number: int
    face: Card
    reason: str


class CorrectCard(Correction, frozen=True, kw_only=True):
    """Another face for a card of the coup in progress, or of a `coup` that is over."""

    hand: Hand
    number: int
    face: Card
    reason: str
    coup: str | None = None


class Realign(Command, frozen=True, kw_only=True):
    """A supervisor vouches for the cards of a misaligned coup as they stand in the log."""

    reason: str


class ResolveIrregularity(Command, frozen=True, kw_only=True):
    """The way out of an irregularity.

    Args:
        kind: `excess_card`, or one that is only recorded.
        reason: what happened, in a person's words.
        seen: for an excess card: whether the table has seen its face.
    """

    kind: str
    reason: str
    seen: bool | None = None
