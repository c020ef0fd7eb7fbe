"""What people and programs may ask of the table: imperative, frozen, with a transaction id.

The command's name is the last segment of its topic, `request/<user>/<command>`; the body is the
struct below as JSON. Same transaction and same body again answers `exists`; same transaction with
another body is refused with `exists_with_different_<field>`.
"""

from typing import Any, Final, Literal

from msgspec import Struct

from events.cards import Card, Hand
from events.types.shoe_life import CutPlace
from events.types.table import WagerKind
from events.types.wagers import BetLimits

__all__ = [
    "ANSWER_ACCEPTED",
    "ANSWER_EXISTS",
    "ANSWER_REFUSED",
    "Ack",
    "AcknowledgeAlarm",
    "Answer",
    "AssignDealer",
    "Burn",
    "ClearShoeError",
    "CloseBetting",
    "CollectCommission",
    "Command",
    "ConfirmResult",
    "CorrectCard",
    "CorrectHands",
    "CorrectRulebook",
    "CorrectWager",
    "CutCard",
    "EndShoe",
    "EnterCard",
    "FreeHand",
    "LoadShoe",
    "MarkUncollected",
    "MarkUnreadable",
    "OpenBetting",
    "PlaceWager",
    "Preview",
    "Realign",
    "RecoverCommission",
    "Refusal",
    "ReplaceShoe",
    "Replay",
    "ResolveIrregularity",
    "SetLimits",
    "ShowCoup",
    "ShowRequest",
    "VoidCoup",
    "WagerRequest",
    "WithdrawWager",
]

ANSWER_ACCEPTED: Final = "accepted"
ANSWER_EXISTS: Final = "exists"
ANSWER_REFUSED: Final = "refused"


class Command(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The root of all commands.

    Args:
        transaction: made by the client, unique for ever, 1 to 128 characters.
        actor: the person on whose behalf a delegate (a console service) asks.
    """

    transaction: str
    actor: str | None = None


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


class OpenBetting(Command, frozen=True, kw_only=True):
    """Begin a coup: patrons may place wagers."""


class CloseBetting(Command, frozen=True, kw_only=True):
    """No more wagers. Answers `exists` when the first card has already closed it.

    Args:
        coup: of this coup alone; None for whichever is in progress.
    """

    coup: str | None = None


class WagerRequest(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One wager as it is asked for.

    Args:
        seat: 1 to 99.
        bet: the bet's id, such as `banker`.
        stake: minor units.
        patron: an opaque reference, where the site keeps one; never a name.
        kind: `chips`, `promo` or `toke`.
    """

    seat: int
    bet: str
    stake: int
    patron: str | None = None
    kind: WagerKind = "chips"


class PlaceWager(Command, frozen=True, kw_only=True):
    """Place these wagers: all of them, or none.

    Args:
        wagers: in order.
        coup: in this coup alone; None for whichever takes wagers when the command comes.
    """

    wagers: tuple[WagerRequest, ...]
    coup: str | None = None


class SetLimits(Command, frozen=True, kw_only=True):
    """The table's own limits from the next coup on; see `LimitsSet`."""

    bets: tuple[BetLimits, ...] = ()
    table_maximum: int | None = None
    differential: int | None = None


class WithdrawWager(Command, frozen=True, kw_only=True):
    """Take wagers back while betting is open."""

    wagers: tuple[str, ...]


class ConfirmResult(Command, frozen=True, kw_only=True):
    """A supervisor confirms the table's own result where the device is silent or disagrees."""

    reason: str


class VoidCoup(Command, frozen=True, kw_only=True):
    """The coup does not count; unsettled stakes go back.

    Args:
        reason: why.
        coup: one that was settled, where not the coup in progress is meant.
    """

    reason: str
    coup: str | None = None


class FreeHand(Command, frozen=True, kw_only=True):
    """Begin a coup without wagers: a free hand, or the dummy coup that shows an excess card."""


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


class CorrectCard(Command, frozen=True, kw_only=True):
    """Another face for a card of the coup in progress, or of a settled `coup`."""

    hand: Hand
    number: int
    face: Card
    reason: str
    coup: str | None = None


class CorrectHands(Command, frozen=True, kw_only=True):
    """The cards of a coup as they really lay, whole: wrong faces, a wrong hand, a missed card."""

    coup: str
    player: tuple[Card, ...]
    banker: tuple[Card, ...]
    reason: str


class CorrectWager(Command, frozen=True, kw_only=True):
    """A wager as it really stood, once betting is closed.

    Args:
        coup: whose.
        wager: the id of the one on record; None for one that was left out.
        to: what it is corrected to; None where it did not stand.
        reason: why.
    """

    coup: str
    wager: str | None = None
    to: WagerRequest | None = None
    reason: str


class CorrectRulebook(Command, frozen=True, kw_only=True):
    """A coup was played by this rulebook: it is judged by it, again if it was settled."""

    coup: str
    rulebook: str
    rulebook_hash: str
    reason: str


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


class AcknowledgeAlarm(Command, frozen=True, kw_only=True):
    """A person has seen an alarm that nothing else will clear."""

    alarm: str


class ClearShoeError(Command, frozen=True, kw_only=True):
    """An error of the shoe is over, and no report of it will say so."""

    code: str
    reason: str


class AssignDealer(Command, frozen=True, kw_only=True):
    """Who answers for the coups from here on: opaque staff references, no names."""

    dealer: str
    supervisor: str | None = None


class CollectCommission(Command, frozen=True, kw_only=True):
    """A seat has paid commission that it owed.

    Args:
        seat: whose; None for every seat that owes any.
        amount: minor units; None for all that is outstanding.
    """

    seat: int | None = None
    amount: int | None = None


class MarkUncollected(Command, frozen=True, kw_only=True):
    """A seat's outstanding commission cannot be collected (the patron has left, for example)."""

    seat: int
    reason: str


class RecoverCommission(Command, frozen=True, kw_only=True):
    """Commission that had been marked uncollected was paid after all, in minor units."""

    seat: int
    amount: int


class Replay(Command, frozen=True, kw_only=True, rename={"start": "from"}):
    """Send the stored events from position `from` on again, on `response/<user>/events`."""

    start: int


class Ack(Command, frozen=True, kw_only=True):
    """A durable consumer has stored everything up to and including `position`.

    Args:
        consumer: its name, which registers it.
        position: of the log.
        retired: it is the last one: nobody waits for this consumer any more.
    """

    consumer: str
    position: int
    retired: bool = False


class ShowCoup(Command, frozen=True, kw_only=True):
    """A coup of any shoe as it stands on record, wagers and settlements; changes nothing."""

    coup: str


class ShowRequest(Command, frozen=True, kw_only=True):
    """What became of a request of one's own; changes nothing.

    Args:
        request: its transaction.
    """

    request: str


class Preview(Command, frozen=True, kw_only=True):
    """What a command of this name and body, to put a coup right, would do; changes nothing."""

    command: str
    body: dict[str, Any]


class Refusal(Struct, frozen=True, kw_only=True):
    """A command that changes nothing, and why.

    Args:
        code: stable, for programs.
        text: one line for a person.
    """

    code: str
    text: str


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`response/<user>`: what became of a command; `shown` is what it only asked to see."""

    transaction: str
    result: str
    position: int | None = None
    code: str | None = None
    text: str | None = None
    shown: Any = None
