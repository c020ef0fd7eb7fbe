"""What the fold knows about a table: frozen values, nothing else."""

from typing import Final

from msgspec import Struct

from events.cards import Card, Hand
from events.types.shoe_reports import DeviceResult
from events.types.table import DealCompleted, Settlement, Wager
from events.types.wagers import LimitsSet
from table_core.persistent_list import Trail
from table_core.rules.commission import CommissionBook
from table_core.rules.wager_totals import Standing, with_wagers
from table_core.state.coup import OVER, Phase
from table_core.state.floats import TableFloat
from table_core.state.shoe import ShoeView

__all__ = ["STALLED", "Alarm", "Coup", "DealtCard", "LinkView", "TableState", "Totals"]

STALLED: Final = "stalled"
"""The link while the device is silent and ought to speak; also what a person then clears."""


class DealtCard(Struct, frozen=True, gc=False):
    """A card at its place.

    Args:
        hand: whose card.
        number: 1, 2 or 3 within the hand.
        card: its face; None until disclosed.
        rule: the draw rule by which it was due; None where that is judged at disclosure.
        source: `shoe`, `unread` (a person must enter the face) or `manual`.
    """

    hand: Hand
    number: int
    card: Card | None
    rule: str | None
    source: str


class Coup(Struct, frozen=True, gc=False, kw_only=True):
    """The coup in progress, or the last one.

    Args:
        id: `<shoe>/<n>`.
        phase: where it stands.
        rulebook: id of the rulebook it is played by.
        rulebook_hash: SHA-256 of that rulebook's file.
        wagerless: its first card came without open betting.
        wagers: those that stand, in the order they were placed.
        summed: the first of them, summed up; the rest are few (see
        `table_core.rules.wager_totals`). cards: in the order they were dealt. completed: our own
        outcome, once every card due is known. reason: why it is disputed, misaligned or void.
        settlements: those in force, one a phase. round_over: the shoe has said that its round is
        over. excess: what became of an excess card: `drawn` outside the game and to be judged or
            resolved, `several` of them, `taken_out` of play by the shoe itself; and in the end
            `carried`, `dummy` or `burned`. Empty where there was none.
        device_result: what the shoe says came out, once it has said so.
    """

    id: str
    phase: Phase
    rulebook: str
    rulebook_hash: str
    wagerless: bool = False
    wagers: tuple[Wager, ...] = ()
    summed: Standing = Standing()
    cards: tuple[DealtCard, ...] = ()
    completed: DealCompleted | None = None
    reason: str = ""
    settlements: tuple[Settlement, ...] = ()
    round_over: bool = False
    excess: str = ""
    device_result: DeviceResult | None = None

    @property
    def excess_open(self) -> bool:
        """Whether a card lies outside the game of which a person must say what becomes of it."""
        return self.excess in {"drawn", "several", "taken_out"}

    @property
    def standing(self) -> Standing:
        """All wagers that stand, summed up."""
        more = self.wagers[self.summed.count :]
        return with_wagers(self.summed, more) if more else self.summed

    def settlement(self, phase: int) -> Settlement | None:
        """The settlement in force of a phase."""
        return next((each for each in self.settlements if each.phase == phase), None)

    @property
    def settled(self) -> tuple[int, ...]:
        """The settlement phases already issued."""
        return tuple(each.phase for each in self.settlements)

    @property
    def unread(self) -> bool:
        """Whether a card lies there whose face a person must enter."""
        return any(dealt.source == "unread" for dealt in self.cards)

    def hand(self, hand: Hand) -> tuple[DealtCard, ...]:
        """The cards of one hand, in dealing order."""
        return tuple(dealt for dealt in self.cards if dealt.hand is hand)


class LinkView(Struct, frozen=True, gc=False, kw_only=True):
    """The shoe link as far as the log knows it.

    Args:
        journal: id of the journal last heard; empty before the first.
        seq: the last appended number of that journal.
        past: ids of journals before it; what comes of them again is no news.
        state: `down`, `open`, `up` or `stalled`.
        carried: an overdrawn card waits to be the next coup's first.
        dummy: the next coup is a dummy, without wagers.
        errors: the device errors that stand.
        locked: the device's key lock.
        residue: cards of a round whose coup is over may still come; they belong to no hand.
    """

    journal: str = ""
    seq: int = 0
    past: frozenset[str] = frozenset()
    state: str = "down"
    carried: bool = False
    dummy: bool = False
    errors: frozenset[str] = frozenset()
    locked: bool = False
    residue: bool = False


class Alarm(Struct, frozen=True, gc=False, kw_only=True):
    """Something that needs a person; `name` is stable."""

    name: str
    text: str
    coup: str | None = None


class Totals(Struct, frozen=True, gc=False, kw_only=True):
    """What has gone over the table since the log began, in minor units."""

    coups: int = 0
    voids: int = 0
    staked: int = 0
    paid: int = 0
    commission: int = 0

    @property
    def house(self) -> int:
        """What the house has won: staked less paid."""
        return self.staked - self.paid


class TableState(Struct, frozen=True, gc=False, kw_only=True):
    """The whole table.

    Args:
        position: of the last event folded in; 0 for an empty log.
        rulebook: id of the rulebook in force, empty before the first.
        rulebook_hash: SHA-256 of its file.
        shoe: the shoe on the table.
        replaced: shoes before it whose cards may still be told of: those of the coup in progress,
            or of the last one until the next begins.
        orders: id and order of the shoes before it, the newest last.
        link: the shoe link.
        coup: in progress, or the last one.
        past: the coups that are over since the shoe was loaded, as they stand now.
        limits: the table's own, where it has set some.
        dealer: who deals, an opaque reference.
        supervisor: who answers for it.
        alarms: those that stand and were raised by an event.
        totals: what has gone over the table.
        commission: how the house's commission stands.
        floats: the table's last ones, the newest last.
    """

    position: int = 0
    rulebook: str = ""
    rulebook_hash: str = ""
    shoe: ShoeView | None = None
    replaced: tuple[ShoeView, ...] = ()
    orders: tuple[tuple[str, str], ...] = ()
    link: LinkView = LinkView()
    coup: Coup | None = None
    past: Trail[Coup] = Trail()
    limits: LimitsSet = LimitsSet()
    dealer: str | None = None
    supervisor: str | None = None
    alarms: tuple[Alarm, ...] = ()
    totals: Totals = Totals()
    commission: CommissionBook = CommissionBook()
    floats: tuple[TableFloat, ...] = ()

    @property
    def phase(self) -> Phase:
        """The coup's phase; `NONE` before the first coup."""
        return self.coup.phase if self.coup else Phase.NONE

    @property
    def in_progress(self) -> bool:
        """Whether a coup is neither settled nor void."""
        return self.phase not in OVER
