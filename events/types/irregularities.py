"""Events about irregularities at a table and how a named person resolved them.

None edits history. The envelope's `actor` names the person, `reason` the reason.
"""

from typing import Literal

from events.cards import Card, Hand
from events.types.table import TableEvent

__all__ = [
    "CardCorrected",
    "CardEntered",
    "CardMarkedUnreadable",
    "CardUnread",
    "CoupRealigned",
    "DealerAssigned",
    "ExcessCardDrawn",
    "ExcessCardResolved",
    "ExcessOutcome",
    "IrregularityRecorded",
    "ShoeErrorCleared",
]

ExcessOutcome = Literal["carried", "dummy", "burned"]


class CardUnread(TableEvent, frozen=True, kw_only=True):
    """A card came to its place and its face could not be read: a person must enter it."""

    TYPE = "card_unread"
    coup: str
    hand: Hand
    number: int


class CardMarkedUnreadable(TableEvent, frozen=True, kw_only=True):
    """A person does not trust the face that was read: it counts as unread until entered."""

    TYPE = "card_marked_unreadable"
    coup: str
    hand: Hand
    number: int
    was: Card
    reason: str


class CardEntered(TableEvent, frozen=True, kw_only=True):
    """A person entered the face of a card that lies at its place: a source of its own."""

    TYPE = "card_entered"
    coup: str
    hand: Hand
    number: int
    card: Card
    reason: str


class CardCorrected(TableEvent, frozen=True, kw_only=True):
    """A person corrected a face before the settlement; the coup is judged again."""

    TYPE = "card_corrected"
    coup: str
    hand: Hand
    number: int
    was: Card
    card: Card
    reason: str


class CoupRealigned(TableEvent, frozen=True, kw_only=True):
    """A person vouches for the cards that the log has, and the coup goes on from there."""

    TYPE = "coup_realigned"
    coup: str
    reason: str


class ExcessCardDrawn(TableEvent, frozen=True, kw_only=True):
    """A card was drawn when none was due: the coup is held. The event hides the card's face."""

    TYPE = "excess_card_drawn"
    coup: str


class ExcessCardResolved(TableEvent, frozen=True, kw_only=True):
    """A person said whether the table had seen the excess card, and the policy decided.

    Args:
        coup: the coup it was drawn in.
        seen: the table had seen its face.
        outcome: `carried` over as the next coup's first card; shown in a `dummy` coup without
            wagers; or `burned`.
        reason: the person's.
    """

    TYPE = "excess_card_resolved"
    coup: str
    seen: bool
    outcome: ExcessOutcome
    reason: str


class IrregularityRecorded(TableEvent, frozen=True, kw_only=True):
    """Something went wrong that changes no card and no money, and was put right by hand."""

    TYPE = "irregularity_recorded"
    coup: str | None = None
    kind: str
    reason: str


class DealerAssigned(TableEvent, frozen=True, kw_only=True):
    """From here on these people answer for the coups: opaque staff references."""

    TYPE = "dealer_assigned"
    dealer: str
    supervisor: str | None = None


class ShoeErrorCleared(TableEvent, frozen=True, kw_only=True):
    """A person has looked at the shoe, and an error that the line still counts as standing is over.

    Not every shoe says so itself, and of one that does the report can be lost.

    Args:
        code: the error.
        reason: the person's.
    """

    TYPE = "shoe_error_cleared"
    code: str
    reason: str
