"""Commands that put right the hands, a wager or the rulebook of a coup, and the chips after it."""

from events.cards import Card
from events.commands.base import Command, Correction
from events.commands.wagers import WagerRequest

__all__ = ["AcknowledgeCorrection", "CorrectHands", "CorrectRulebook", "CorrectWager"]


class CorrectHands(Correction, frozen=True, kw_only=True):
    """Correct all cards of a coup: wrong faces, a wrong hand, a missed card."""

    coup: str
    player: tuple[Card, ...]
    banker: tuple[Card, ...]
    reason: str


class CorrectWager(Correction, frozen=True, kw_only=True):
    """Correct a wager after betting has closed.

    Args:
        coup: whose.
        wager: the id of the one on record; None for one that was left out.
        to: the right wager; None where there was no such wager. Without a patron, the patron of
            the one on record stays.
        reason: why.
    """

    coup: str
    wager: str | None = None
    to: WagerRequest | None = None
    reason: str


class CorrectRulebook(Correction, frozen=True, kw_only=True):
    """Judge a coup by this rulebook, by which it was really played; again if it was settled."""

    coup: str
    rulebook: str
    rulebook_hash: str
    reason: str


class AcknowledgeCorrection(Command, frozen=True, kw_only=True):
    """Confirm that the dealer has moved the chips that the corrections of a coup require.

    Args:
        coup: whose.
        settlements: ids of the corrected settlements, as the list of chips named them.
    """

    coup: str
    settlements: tuple[str, ...]
