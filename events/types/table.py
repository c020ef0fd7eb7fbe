"""Events of play: shoe, betting, cards, results, settlements and alarms.

All are frozen, versioned and in the past tense; the log holds nothing but events. The envelope
holds a type's name and integer version, `data` its fields. A field is never renamed or given
another meaning: a new version is a new class with an upcast. `events.types.registry` lists every
type.
"""

from typing import ClassVar, Literal

from msgspec import Struct

from events.cards import Card, Hand, Winner
from events.types.shoe_reports import ShoeEvent

__all__ = [
    "AlarmCleared",
    "AlarmRaised",
    "BettingClosed",
    "BettingOpened",
    "CardDealt",
    "CardDisclosed",
    "CoupMisaligned",
    "CoupSettled",
    "CoupVoided",
    "DealCompleted",
    "DrawRule",
    "Refund",
    "ResultConfirmed",
    "ResultDisputed",
    "RulebookAdopted",
    "SeatDifference",
    "Settlement",
    "SettlementLine",
    "ShoeEnded",
    "ShoeLoaded",
    "ShoeReported",
    "TableEvent",
    "Wager",
    "WagerKind",
    "WagersPlaced",
    "WagersWithdrawn",
]


class TableEvent(
    Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The root of all table events.

    No event can be part of a reference cycle, so the garbage collector tracks none (`gc=False`).
    """

    TYPE: ClassVar[str]
    VERSION: ClassVar[int] = 1


class RulebookAdopted(TableEvent, frozen=True, kw_only=True):
    """From here on coups are played by this rulebook (its id and the SHA-256 of its file).

    `currency` is that of all amounts from here on, ISO 4217; empty in logs of old.
    """

    TYPE = "rulebook_adopted"
    VERSION = 2
    rulebook: str
    rulebook_hash: str
    currency: str


class ShoeLoaded(TableEvent, frozen=True, kw_only=True):
    """A shuffled shoe is in place."""

    TYPE = "shoe_loaded"
    shoe: str
    decks: int


class ShoeEnded(TableEvent, frozen=True, kw_only=True):
    """No more coups come from this shoe."""

    TYPE = "shoe_ended"
    shoe: str
    reason: str


class ShoeReported(TableEvent, frozen=True, kw_only=True):
    """The shoe's report as it came, kept whole. Sealed: displays never see its contents."""

    TYPE = "shoe_reported"
    source: ShoeEvent


class BettingOpened(TableEvent, frozen=True, kw_only=True):
    """A coup began. Without open betting (`wagerless`) its first card began it."""

    TYPE = "betting_opened"
    coup: str
    rulebook: str
    rulebook_hash: str
    wagerless: bool = False


WagerKind = Literal["chips", "promo", "toke"]
"""The kind of a wager: house chips, a promotional token, or a wager for the dealer."""


class Wager(
    Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A wager in force.

    Args:
        id: user, transaction id and index, `dealer/t-17/0`; without the user in logs of old.
        seat: 1 to 99.
        bet: the bet's id.
        stake: minor units.
        patron: an opaque reference, where given.
        kind: `chips`; `promo`, a token that is forfeited win or lose and counts for nothing in the
            house's cash; `toke`, a wager for the dealer, outside aggregate maxima.
    """

    id: str
    seat: int
    bet: str
    stake: int
    patron: str | None = None
    kind: WagerKind = "chips"


class WagersPlaced(TableEvent, frozen=True, kw_only=True):
    """These wagers were accepted, all of them."""

    TYPE = "wagers_placed"
    coup: str
    wagers: tuple[Wager, ...]


class WagersWithdrawn(TableEvent, frozen=True, kw_only=True):
    """These wagers were taken back before betting closed; their stakes went back."""

    TYPE = "wagers_withdrawn"
    coup: str
    wagers: tuple[str, ...]


class BettingClosed(TableEvent, frozen=True, kw_only=True):
    """No more wagers: by the `dealer`, or by the `first_card`."""

    TYPE = "betting_closed"
    coup: str
    by: str


class CardDealt(TableEvent, frozen=True, kw_only=True):
    """A card came to its place. Without `card` its face is not yet disclosed.

    Args:
        coup: the coup's id.
        hand: whose card.
        number: 1, 2 or 3 within the hand.
        card: the face, where known.
        rule: the draw rule by which the card was due; None where it is judged at disclosure.
        source: `shoe` or `manual`.
    """

    TYPE = "card_dealt"
    coup: str
    hand: Hand
    number: int
    card: Card | None = None
    rule: str | None = None
    source: str = "shoe"


class CardDisclosed(TableEvent, frozen=True, kw_only=True):
    """The face of a card dealt before."""

    TYPE = "card_disclosed"
    coup: str
    hand: Hand
    number: int
    card: Card


class DrawRule(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """One application of the draw table: for whom, drawn or not, and by which row."""

    hand: Hand
    draws: bool
    rule: str


class DealCompleted(TableEvent, frozen=True, kw_only=True):
    """Every card due has come and is known; this is the outcome by our own draw table."""

    TYPE = "deal_completed"
    coup: str
    player: tuple[Card, ...]
    banker: tuple[Card, ...]
    player_total: int
    banker_total: int
    natural: bool
    winner: Winner
    rules: tuple[DrawRule, ...]


class ResultConfirmed(TableEvent, frozen=True, kw_only=True):
    """The result may be paid: by the `device`'s agreement, or by a person with a reason."""

    TYPE = "result_confirmed"
    coup: str
    by: str
    reason: str = ""


class ResultDisputed(TableEvent, frozen=True, kw_only=True):
    """The device's result is another than ours: the settlement is held for a person."""

    TYPE = "result_disputed"
    coup: str
    ours: Winner
    device: str
    detail: str


class CoupMisaligned(TableEvent, frozen=True, kw_only=True):
    """Continuity broke in mid-coup: nothing settles until a named person resolves it."""

    TYPE = "coup_misaligned"
    coup: str
    reason: str
    detail: str


class SettlementLine(
    Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The result of one wager, in minor units: paid = stake returned + winnings - commission.

    Args:
        wager: the wager's id.
        seat: 1 to 99.
        bet: the bet's id.
        patron: an opaque reference, where given.
        kind: as of the wager; of a token no stake goes back.
        result: `win`, `lose`, `push` or `void`.
        category: which row of the bet's schedule applied.
        odds: that row's odds to one, `19/20`; None where nothing is won.
        stake: staked.
        winnings: won, before commission.
        commission: kept by the house out of the winnings.
        paid: what the patron receives, stake included.
    """

    wager: str
    seat: int
    bet: str
    patron: str | None = None
    kind: WagerKind = "chips"
    result: str
    category: str
    odds: str | None = None
    stake: int
    winnings: int
    commission: int
    paid: int


class SeatDifference(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """By how much a revision changes what a seat has to do with the house, in minor units.

    Args:
        seat: 1 to 99.
        staked: this revision's stakes less those that it takes back, tokens aside.
        paid: the same of what is paid: what the seat gets, or, below nothing, gives back.
        commission: the same of commission; it is in `paid` already.
    """

    seat: int
    staked: int = 0
    paid: int = 0
    commission: int = 0


class Settlement(
    Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One settlement phase of one coup, whole and self-contained.

    Args:
        settlement_id: `<table>/<shoe>/<coup number>/<phase>/<revision>`.
        phase: 1 after the initial deal, 2 at the end of the coup.
        winner: how the coup came out; None in phase 1, when it has not.
        revision: 1 for the first; a higher one names in `reverses` what it takes back.
        lines: one for each wager of the phase, in the order they were placed.
        staked: sum of the lines' stakes, tokens aside.
        paid: sum of the lines' payments.
        commission: sum of the lines' commission.
        difference: of a revision, the seats for which it changes anything, in seat order.
    """

    settlement_id: str
    coup: str
    phase: int
    revision: int
    reverses: str | None = None
    rulebook: str
    rulebook_hash: str
    player: tuple[Card, ...]
    banker: tuple[Card, ...]
    player_total: int
    banker_total: int
    winner: Winner | None = None
    lines: tuple[SettlementLine, ...]
    staked: int
    paid: int
    commission: int
    difference: tuple[SeatDifference, ...] = ()


class CoupSettled(TableEvent, frozen=True, kw_only=True):
    """A phase of the coup was settled; in phase 2 the coup is over."""

    TYPE = "coup_settled"
    coup: str
    settlement: Settlement


class Refund(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """A stake that goes back because the wager or its coup is void."""

    wager: str
    seat: int
    stake: int


class CoupVoided(TableEvent, frozen=True, kw_only=True):
    """The coup does not count; unsettled stakes went back."""

    TYPE = "coup_voided"
    coup: str
    reason: str
    refunds: tuple[Refund, ...]


class AlarmRaised(TableEvent, frozen=True, kw_only=True):
    """Something needs a person. `alarm` is its stable name; the alarm lasts until cleared."""

    TYPE = "alarm_raised"
    alarm: str
    text: str
    coup: str | None = None


class AlarmCleared(TableEvent, frozen=True, kw_only=True):
    """The cause of the alarm is gone."""

    TYPE = "alarm_cleared"
    alarm: str
