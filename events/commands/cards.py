"""Commands about cards that went wrong: unread, misread, missed, in excess, misaligned."""

from events.cards import Card, Hand
from events.commands.base import Command, Correction

__all__ = ["CorrectCard", "EnterCard", "MarkUnreadable", "Realign", "ResolveIrregularity"]


class MarkUnreadable(Command, frozen=True, kw_only=True):
    """Do not trust a face that was read; somebody must enter it."""

    hand: Hand
    number: int
    reason: str


class EnterCard(Command, frozen=True, kw_only=True):
    """Enter the face of a card that the shoe did not read, or never reported."""

    hand: Hand
    number: int
    face: Card
    reason: str


class CorrectCard(Correction, frozen=True, kw_only=True):
    """Correct the face of a card of the coup in progress, or of a `coup` that is over."""

    hand: Hand
    number: int
    face: Card
    reason: str
    coup: str | None = None


class Realign(Command, frozen=True, kw_only=True):
    """Confirm the cards of a misaligned coup as the log has them; the coup goes on."""

    reason: str


class ResolveIrregularity(Command, frozen=True, kw_only=True):
    """Resolve an irregularity, or record one.

    Args:
        kind: `excess_card`, or one that is only recorded.
        reason: what happened, in a person's words.
        seen: for an excess card: whether the table has seen its face.
    """

    kind: str
    reason: str
    seen: bool | None = None
