"""The state of a table: frozen types, nothing else."""

from collections.abc import Iterable
from itertools import islice
from types import MappingProxyType
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card, Hand
from events.types import (
    ChipMove,
    DealCompleted,
    DeviceResult,
    LimitsSet,
    Pieces,
    Settlement,
    SettlementLine,
    Wager,
)
from table_core.persistent_list import PersistentList
from table_core.rules.commission_owed import CommissionBook
from table_core.rules.wager_totals import WagerTotals, add_wagers
from table_core.state.coup import OVER, Phase
from table_core.state.shoe import ShoeState

__all__ = [
    "KEPT_CORRECTIONS",
    "KEPT_FLOATS",
    "KEPT_JOURNALS",
    "KEPT_WAGERS",
    "MORE_ERRORS",
    "MOST_ERRORS",
    "MOST_SLIPS",
    "STALLED",
    "Alarm",
    "ChipsToMove",
    "Coup",
    "DealtCard",
    "HeldShoe",
    "MoneyTotals",
    "SeatChips",
    "ShoeLink",
    "Slip",
    "TableFloat",
    "TableState",
    "TableTotals",
    "Wagers",
    "by_id",
]

KEPT_CORRECTIONS: Final = 50
"""Coups whose chips are still to be moved: a dealer moves them between two coups."""
KEPT_FLOATS: Final = 8
"""Two or three make a day. The table no longer waits for an older float's drop box, and no longer
notices a slip number used again; the ledger's report still names both."""
MOST_SLIPS: Final = 100
"""Of one float: many more than any table sees between two counts, and a bound on the state."""


KEPT_JOURNALS: Final = 256
"""A driver begins a journal when its disk has lost events: a table sees a few in its life."""
KEPT_WAGERS: Final = 10_000
"""Wagers of the shoe's past coups that the state holds: the log has those of the older coups."""
MOST_ERRORS: Final = 32
"""Error codes that a device may hold active at once: no device has so many that say something."""
MORE_ERRORS: Final = "more_errors"
"""Stands for all codes beyond them, until the device restarts or a person clears it."""


class Slip(Struct, frozen=True, gc=False):
    """A fill's or a credit's slip as corrected; without chips it is void."""

    move: ChipMove
    number: str
    chips: tuple[Pieces, ...]


class TableFloat(Struct, frozen=True, gc=False, kw_only=True):
    """One float, from its opening to its closing and the count of its drop.

    Args:
        id: `YYYYMMDD-NN`.
        currency: ISO 4217.
        opening: counted at the opening.
        slips: fills and credits, in order.
        counted: by the last count between; None before the first.
        closing: counted at the closing; None while it is open.
        drops: each drop box that was counted, and its amount in minor units.
    """

    id: str
    currency: str
    opening: tuple[Pieces, ...]
    slips: tuple[Slip, ...] = ()
    counted: tuple[Pieces, ...] | None = None
    closing: tuple[Pieces, ...] | None = None
    drops: tuple[tuple[str, int], ...] = ()

    @property
    def open(self) -> bool:
        """Whether the float is in use."""
        return self.closing is None

    def recorded(self, move: ChipMove, slip: str) -> tuple[Pieces, ...] | None:
        """Return the chips recorded for a move; None where there is no record."""
        if move == "opening":
            return self.opening if not slip else None
        if move == "closing":
            return self.closing if not slip else None
        found = (each.chips for each in self.slips if (each.move, each.number) == (move, slip))
        return next(found, None)


STALLED: Final = "stalled"
"""The link while a device that should report is silent; a person clears it by this name."""


class DealtCard(Struct, frozen=True, gc=False):
    """A card at its place.

    Args:
        hand: whose card.
        number: 1, 2 or 3 within the hand.
        card: its face; None until disclosed.
        rule: the draw rule by which it was due; None where the disclosure decides that.
        source: `shoe`, `unread` (a person must enter the face) or `manual`.
    """

    hand: Hand
    number: int
    card: Card | None
    rule: str | None
    source: str


Wagers = MappingProxyType[str, Wager]
"""The wagers of a coup by their ids, in the order in which they were placed."""


def by_id(wagers: Iterable[Wager]) -> Wagers:
    """Return wagers, in the order in which they were placed, by their ids."""
    return MappingProxyType({wager.id: wager for wager in wagers})


class Coup(Struct, frozen=True, gc=False, kw_only=True):
    """The coup in progress, or the last one.

    Args:
        id: `<shoe>/<n>`.
        phase: of the coup.
        rulebook: id of the rulebook it is played by.
        rulebook_hash: SHA-256 of that rulebook's file.
        wagerless: its first card came without open betting.
        wagers: those placed, by id and in the order they were placed.
        summed: totals of the first of them; the rest are few (see
            `table_core.rules.wager_totals`).
        cards: in the order they were dealt.
        completed: our own outcome, once every card due is known.
        reason: why it is disputed, misaligned or void.
        settlements: those in force, one a phase.
        paid_by: the first settlements of phases that were corrected since; the dealer pays by them.
        round_over: the shoe has reported that its round is over.
        excess: the fate of an excess card: `drawn` outside the game and to be judged or resolved,
            `several` of them, `taken_out` of play by the shoe itself; and in the end `carried`,
            `dummy` or `burned`. Empty where there was none.
        device_result: the shoe's own result, once it has reported it.
        slim: its wagers and the lines of its settlements are left out; the log has them.
    """

    id: str
    phase: Phase
    rulebook: str
    rulebook_hash: str
    wagerless: bool = False
    wagers: Wagers = by_id(())
    summed: WagerTotals = WagerTotals()
    cards: tuple[DealtCard, ...] = ()
    completed: DealCompleted | None = None
    reason: str = ""
    settlements: tuple[Settlement, ...] = ()
    round_over: bool = False
    excess: str = ""
    device_result: DeviceResult | None = None
    slim: bool = False
    paid_by: tuple[Settlement, ...] = ()

    @property
    def excess_open(self) -> bool:
        """Whether a card lies outside the game and a person must resolve it."""
        return self.excess in {"drawn", "several", "taken_out"}

    @property
    def standing(self) -> WagerTotals:
        """Totals of all wagers placed."""
        more = self.unsummed
        return add_wagers(self.summed, more) if more else self.summed

    @property
    def unsummed(self) -> list[Wager]:
        """The newest wagers, which are not in `summed`, the newest first."""
        count = len(self.wagers) - self.summed.count
        return [self.wagers[name] for name in islice(reversed(self.wagers), count)]

    def settlement(self, phase: int) -> Settlement | None:
        """Return the settlement in force of a phase."""
        for each in self.settlements:
            if each.phase == phase:
                return each
        return None

    def lines_listed_before(self, settlement: Settlement) -> tuple[SettlementLine, ...]:
        """Return the lines of a phase's first settlement whose wagers an earlier phase has listed.

        The coup's rulebook was corrected between the two phases. The dealer has moved such a wager
        by the earlier list, and moves the difference alone.
        """
        earlier = [each for each in self.paid_by if each.phase < settlement.phase]
        listed = {line.wager for each in earlier for line in each.lines}
        return tuple([line for line in settlement.lines if line.wager in listed])

    @property
    def settled(self) -> tuple[int, ...]:
        """The settlement phases already issued."""
        return tuple(each.phase for each in self.settlements)

    @property
    def unread(self) -> bool:
        """Whether a card lies there whose face a person must enter."""
        return any(dealt.source == "unread" for dealt in self.cards)

    def hand(self, hand: Hand) -> tuple[DealtCard, ...]:
        """Return the cards of one hand, in dealing order."""
        return tuple([dealt for dealt in self.cards if dealt.hand is hand])


class ShoeLink(Struct, frozen=True, gc=False, kw_only=True):
    """The shoe link as far as the log knows it.

    Args:
        journal: id of the journal of the newest shoe event; empty before the first.
        seq: the last appended number of that journal.
        past: ids of the newest earlier journals, the newest last; an event of theirs is a
            repetition.
        state: `down`, `open`, `up` or `stalled`.
        carried: an overdrawn card waits to be the next coup's first.
        dummy: the next coup is a dummy, without wagers.
        errors: the active device errors, and `MORE_ERRORS` for those beyond `MOST_ERRORS`.
        locked: the device's key lock.
        residue: cards of a round whose coup is over may still come; they belong to no hand.
    """

    journal: str = ""
    seq: int = 0
    past: tuple[str, ...] = ()
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


class SeatChips(Struct, frozen=True, gc=False, kw_only=True):
    """What a seat gets from the house, minor units; below zero, what it gives back."""

    seat: int
    gets: int


class ChipsToMove(Struct, frozen=True, gc=False, kw_only=True):
    """The chips that corrections of a coup ask the dealer to move, until that is acknowledged.

    Args:
        coup: the coup's id.
        settlements: ids of the corrected settlements, in the order they were issued.
        seats: each that a correction has moved chips of.
    """

    coup: str
    settlements: tuple[str, ...]
    seats: tuple[SeatChips, ...]

    @property
    def due(self) -> tuple[SeatChips, ...]:
        """The seats whose chips are to be moved."""
        return tuple(seat for seat in self.seats if seat.gets)


class HeldShoe(Struct, frozen=True, gc=False, kw_only=True):
    """A shoe that a person must release before another is loaded; `cause` as in `ShoeHeld`."""

    shoe: str
    cause: str
    text: str


class MoneyTotals(Struct, frozen=True, gc=False, kw_only=True):
    """What was settled in one currency since the log began, in minor units.

    Args:
        currency: ISO 4217; empty where the log of old names none.
        staked: by the settlements in force.
        paid: by them.
        commission: kept back by them.
    """

    currency: str = ""
    staked: int = 0
    paid: int = 0
    commission: int = 0

    @property
    def house(self) -> int:
        """The house's win: staked less paid."""
        return self.staked - self.paid


class TableTotals(MoneyTotals, frozen=True, gc=False, kw_only=True):
    """Totals of the table since the log began; the amounts are of the currency in force.

    Args:
        coups: those settled, in any currency.
        voids: those void.
        others: amounts in the other currencies of the table, the oldest first.
    """

    coups: int = 0
    voids: int = 0
    others: tuple[MoneyTotals, ...] = ()

    def turned_to(self, currency: str) -> "TableTotals":
        """Return the totals of a table that plays in this currency from here on."""
        if currency == self.currency:
            return self
        now = next((each for each in self.others if each.currency == currency), MoneyTotals())
        mine = MoneyTotals(
            currency=self.currency, staked=self.staked, paid=self.paid, commission=self.commission
        )
        return replace(
            self,
            currency=currency,
            staked=now.staked,
            paid=now.paid,
            commission=now.commission,
            others=(*(each for each in self.others if each is not now), mine),
        )


class TableState(Struct, frozen=True, gc=False, kw_only=True):
    """The whole table.

    Args:
        position: of the last event folded in; 0 for an empty log.
        rulebook: id of the rulebook in force, empty before the first.
        rulebook_hash: SHA-256 of its file.
        currency: that it names, ISO 4217; empty in logs of old.
        shoe: the shoe on the table.
        replaced: earlier shoes whose cards may still be reported: those of the coup in progress,
            or of the last coup until the next begins.
        orders: id and order of earlier shoes, the newest last, as `table_core.shuffle.orders`.
        held: shoes that a person must release before another is loaded.
        link: the shoe link.
        coup: in progress, or the last one.
        past: the coups that ended since the shoe was loaded, with their corrections; the older of
            many wagers are slim.
        limits: the table's own, where it has set some.
        dealer: the dealer, an opaque reference.
        supervisor: the supervisor in charge, an opaque reference.
        alarms: the active alarms that an event raised.
        totals: since the log began.
        commission: the debts of commission.
        floats: the newest floats, the newest last.
        to_move: chips to move after corrections, in the order of their coups' first.
    """

    position: int = 0
    rulebook: str = ""
    rulebook_hash: str = ""
    currency: str = ""
    shoe: ShoeState | None = None
    replaced: tuple[ShoeState, ...] = ()
    orders: tuple[tuple[str, str], ...] = ()
    held: tuple[HeldShoe, ...] = ()
    link: ShoeLink = ShoeLink()
    coup: Coup | None = None
    past: PersistentList[Coup] = PersistentList()
    limits: LimitsSet = LimitsSet()
    dealer: str | None = None
    supervisor: str | None = None
    alarms: tuple[Alarm, ...] = ()
    totals: TableTotals = TableTotals()
    commission: CommissionBook = CommissionBook()
    floats: tuple[TableFloat, ...] = ()
    to_move: tuple[ChipsToMove, ...] = ()

    @property
    def phase(self) -> Phase:
        """The coup's phase; `NONE` before the first coup."""
        return self.coup.phase if self.coup else Phase.NONE

    @property
    def in_progress(self) -> bool:
        """Whether the coup is neither settled nor void."""
        return self.coup is not None and self.coup.phase not in OVER
