"""A coup as the auditor keeps it, and what is said of one that cannot be."""

from msgspec import Struct, field

from events.cards import Card, Hand
from events.types.table import Settlement, Wager

__all__ = ["AuditedCoup", "Violation", "require"]


class Violation(AssertionError):  # noqa: N818 - named for what it is
    """Something that must never be, in one line."""


class AuditedCoup(Struct):
    """A coup by the auditor's own books.

    Args:
        id: the coup's.
        cards: by place; None for a face that is not known.
        layout: wagers that lie there.
        taken: wagers that a settlement in force has taken.
        settled: settlements in force, by phase.
        closed: no more wagers come or go.
        misaligned: nobody vouches for its cards.
        held: a card too many lies there, and nobody has said what becomes of it.
        over: it was settled to its end, or is void.
        void: it does not count.
    """

    id: str
    cards: dict[tuple[Hand, int], Card | None] = field(default_factory=dict)
    layout: dict[str, Wager] = field(default_factory=dict)
    taken: dict[str, Wager] = field(default_factory=dict)
    settled: dict[int, Settlement] = field(default_factory=dict)
    closed: bool = False
    misaligned: bool = False
    held: bool = False
    over: bool = False
    void: bool = False

    def hand(self, hand: Hand) -> tuple[Card | None, ...]:
        """The cards of one hand, by their numbers."""
        of_hand = sorted((place[1], card) for place, card in self.cards.items() if place[0] is hand)
        return tuple(card for _, card in of_hand)


def require(holds: bool, else_: str, *of: object) -> None:
    """Go on where it holds.

    Args:
        holds: whether it does.
        else_: what is wrong where it does not.
        of: fills the braces of `else_`: cards and wagers are written out for a violation only.

    Raises:
        Violation: it does not hold.
    """
    if not holds:
        raise Violation(else_.format(*of) if of else else_)
