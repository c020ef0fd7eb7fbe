"""Events that correct a coup's cards, wagers or rulebook; none edits history.

The envelope's `actor` names the person, `reason` the reason. If the coup was settled, the next
revision of its settlements follows the correction in the same transaction: `coup_settled` with
`reverses` and the `difference` of each seat. A coup that is voided after its settlement gets a
`coup_voided` without refunds, and settlements that give the stakes back.
"""

from events.cards import Card
from events.types.table import TableEvent, Wager

__all__ = [
    "CorrectionAcknowledged",
    "CorrectionSigned",
    "HandsCorrected",
    "RulebookCorrected",
    "WagerCorrected",
]


class HandsCorrected(TableEvent, frozen=True, kw_only=True):
    """The cards of a coup as they really lay: a wrong face, a wrong hand, a missed card.

    Args:
        coup: the coup's id.
        was_player: Player's known cards on record until now, in dealing order.
        was_banker: Banker's.
        player: Player's cards.
        banker: Banker's.
        counts_again: the coup was void after its settlement, and is not.
        reason: the person's.
    """

    TYPE = "hands_corrected"
    coup: str
    was_player: tuple[Card, ...]
    was_banker: tuple[Card, ...]
    player: tuple[Card, ...]
    banker: tuple[Card, ...]
    counts_again: bool = False
    reason: str


class WagerCorrected(TableEvent, frozen=True, kw_only=True):
    """A wager that was entered wrongly, left out, or entered though it was not laid.

    Args:
        coup: the coup's id.
        was: as it stood on record; None where it was left out.
        wager: the real wager, under the same id; None where there was no such wager.
        reason: the person's.
    """

    TYPE = "wager_corrected"
    coup: str
    was: Wager | None = None
    wager: Wager | None = None
    reason: str


class RulebookCorrected(TableEvent, frozen=True, kw_only=True):
    """A coup was played by another rulebook than was in force on record.

    Args:
        coup: the coup's id; in progress, or settled.
        was: id of the rulebook that it was judged by.
        was_hash: SHA-256 of its file.
        rulebook: id of the rulebook that it is judged by from now on.
        rulebook_hash: SHA-256 of its file.
        reason: the person's.
    """

    TYPE = "rulebook_corrected"
    coup: str
    was: str
    was_hash: str
    rulebook: str
    rulebook_hash: str
    reason: str


class CorrectionAcknowledged(TableEvent, frozen=True, kw_only=True):
    """The dealer has moved the chips that corrections of a coup asked for.

    Args:
        coup: the coup's id.
        settlements: ids of the corrected settlements, in the order they were issued.
    """

    TYPE = "correction_acknowledged"
    coup: str
    settlements: tuple[str, ...]


class CorrectionSigned(TableEvent, frozen=True, kw_only=True):
    """Further people than the actor signed a correction; it is in the same transaction.

    Args:
        coup: the corrected coup's id.
        signed: opaque references of the staff who signed.
    """

    TYPE = "correction_signed"
    coup: str
    signed: tuple[str, ...]
