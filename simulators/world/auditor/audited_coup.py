"""The auditor's own record of a coup, and the violation that it raises."""

from msgspec import Struct, field

from events.cards import Card, Hand
from events.types import CardDrawn, CardUnreadable, Report, Settlement, Wager

__all__ = ["AuditedCoup", "Violation", "require"]


class Violation(AssertionError):  # noqa: N818 - named for what it is
    """Something that must never happen, in one line."""


class AuditedCoup(Struct):
    """A coup by the auditor's own record.

    Args:
        id: the coup's.
        cards: by place; None for an unknown face.
        entered: places of cards that a person entered, and the shoe has not reported.
        layout: the wagers on the table.
        taken: wagers that a settlement in force has taken.
        settled: settlements in force, by phase.
        closed: betting is over.
        misaligned: nobody vouches for its cards.
        held: there is a card too many, and nobody has decided about it.
        over: it was settled to its end, or is void.
        void: it does not count.
    """

    id: str
    cards: dict[tuple[Hand, int], Card | None] = field(default_factory=dict)
    entered: set[tuple[Hand, int]] = field(default_factory=set)
    layout: dict[str, Wager] = field(default_factory=dict)
    taken: dict[str, Wager] = field(default_factory=dict)
    settled: dict[int, Settlement] = field(default_factory=dict)
    closed: bool = False
    misaligned: bool = False
    held: bool = False
    over: bool = False
    void: bool = False

    def confirms(self, report: Report) -> bool:
        """Return whether a late report says again which card a person entered."""
        if not isinstance(report, CardDrawn | CardUnreadable):
            return False
        if report.hand is None or report.number is None:
            return False
        place = (report.hand, report.number)
        if place not in self.entered:
            return False
        self.entered.discard(place)
        return getattr(report, "face", None) in {None, self.cards.get(place)}

    def hand(self, hand: Hand) -> tuple[Card | None, ...]:
        """Return the cards of one hand, by their numbers."""
        of_hand = sorted((place[1], card) for place, card in self.cards.items() if place[0] is hand)
        return tuple(card for _, card in of_hand)


def require(holds: bool, else_: str, *of: object) -> None:
    """Raise a violation unless the condition holds.

    Args:
        holds: the condition.
        else_: the violation's text.
        of: fills the braces of `else_`: cards and wagers are formatted for a violation only.

    Raises:
        Violation: it does not hold.
    """
    if not holds:
        raise Violation(else_.format(*of) if of else else_)
