"""Folds a table's events into the rows that the archive's questions read. Pure.

A table has a *state*, one small document: what stands at it now. A coup is a row from its end on;
until then it is part of the state, and its patrons' wagers are rows of their own. Corrections
change a coup's row, and each settlement is a row. So a batch is folded with nothing but the state
before it, and where it ends a coup, with that coup's wagers. The same fold makes everything again
from the stored bytes.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct, field

from events.cards import Card
from events.errors import UnreadableEvent
from events.free_text import whole_number
from events.money import MAX_AMOUNT
from events.types import (
    AlarmCleared,
    AlarmRaised,
    BettingOpened,
    CommissionAccrued,
    CommissionCollected,
    CommissionRecovered,
    CommissionReversed,
    CommissionUncollected,
    CoupSettled,
    CoupVoided,
    DealerAssigned,
    HandsCorrected,
    LinkDown,
    LinkOpen,
    LinkStalled,
    LinkUp,
    ReversedAmount,
    Settlement,
    ShoeEnded,
    ShoeLoaded,
    ShoeReported,
    WagersPlaced,
    WagersWithdrawn,
    decode_entry,
)
from events.types.registry import KINDS
from property.archive.batch import ArchiveRow

__all__ = [
    "ArchivedCommission",
    "ArchivedCoup",
    "ArchivedState",
    "CoupChange",
    "FoldedRows",
    "OpenCoup",
    "SettlementRow",
    "StandingAlarm",
    "WagerRow",
    "ends_a_coup",
    "fold_events",
]

_LINKS: Final = {LinkDown: "down", LinkOpen: "open", LinkStalled: "stalled", LinkUp: "up"}
_KNOWN: Final = {kind.TYPE for kind in KINDS}
# An index of PostgreSQL takes 2,704 bytes; an old log may hold a reference of any length.
_REFERENCE_BYTES: Final = 256
_REFERENCE_SHOWN: Final = 32
# With these a coup that was never finished is over as well.
_ENDS: Final = (CoupSettled, CoupVoided, BettingOpened, ShoeEnded, ShoeLoaded)
_ENDING: Final = {kind.TYPE for kind in _ENDS}
# What a picture of the table shows: with these it may have changed.
_SHOWN: Final = (
    AlarmCleared,
    AlarmRaised,
    CoupSettled,
    CoupVoided,
    DealerAssigned,
    HandsCorrected,
    ShoeEnded,
    ShoeLoaded,
)
_TAKEN_AT_ONCE: Final = ("deduct", "prepaid")
_OVER: Final = 2  # the phase in which a coup is over


class OpenCoup(Struct, omit_defaults=True):
    """The coup in progress.

    Args:
        coup: its id.
        position: at which it began.
        opened_at: when.
        rulebook: the rulebook's id.
        dealer: who dealt when it began.
        supervisor: who supervised.
        tail_bytes: bytes of the table's tail before it.
    """

    coup: str
    position: int
    opened_at: str
    rulebook: str
    dealer: str | None = None
    supervisor: str | None = None
    tail_bytes: int = 0


class ArchivedCommission(Struct, omit_defaults=True):
    """A seat's commission. `owed` and `open` are sums; what stands is the sum less its lowest.

    Args:
        accrued: all that became due.
        reversed: all that was reversed.
        owed: due and not taken.
        owed_low: the lowest that `owed` was, below zero or zero.
        open: the part that was not given up.
        open_low: as `owed_low`.
        at: of the newest change.
    """

    accrued: int = 0
    reversed: int = 0
    owed: int = 0
    owed_low: int = 0
    open: int = 0
    open_low: int = 0
    at: str = ""


class StandingAlarm(Struct):
    """An alarm that stands at the table."""

    text: str
    position: int
    at: str


class ArchivedState(Struct, omit_defaults=True):
    """What stands at a table after its newest event.

    Args:
        shoe: the shoe that was loaded last.
        shoe_position: where.
        link: the shoe's link, by its newest report.
        link_at: of that report.
        dealer: who deals.
        supervisor: who supervises.
        rulebook_hash: of the newest coup's rulebook.
        open: the coup in progress.
        alarms: by name.
        debts: by seat.
        shown: position of the newest event that a picture of the table shows.
        unread: position of the first event that this build could not read; 0 if there is none.
        tail_bytes: bytes of the events that are in no block yet.
    """

    shoe: str | None = None
    shoe_position: int = 0
    link: str | None = None
    link_at: str | None = None
    dealer: str | None = None
    supervisor: str | None = None
    rulebook_hash: str | None = None
    open: OpenCoup | None = None
    alarms: dict[str, StandingAlarm] = field(default_factory=dict)
    debts: dict[str, ArchivedCommission] = field(default_factory=dict)
    shown: int = 0
    unread: int = 0
    tail_bytes: int = 0


class WagerRow(Struct):
    """A patron's wager in the coup in progress, a row of `property.wager`."""

    table_id: int
    wager: str
    patron: str
    seat: int
    stake: int
    at: str
    withdrawn: bool = False


class ArchivedCoup(Struct):
    """A coup that is over, a row of `property.coup_row`; lists are by patron.

    Args:
        table_id: the table's number in the archive.
        position: at which it began.
        coup: its id.
        opened_at: when it began.
        rulebook: the rulebook's id.
        dealer: who dealt when it began.
        supervisor: who supervised.
        patrons: whose wagers lay, sorted.
        laid_at: since when; None where all were withdrawn.
        seats: at which seats, `1,4`.
        staked: how much, minor units.
        settled_at: when it was settled last; None if it never was.
        ended_at: when it was over first.
        winner: `player`, `banker` or `tie`.
        player: Player's cards, `9DKH`.
        banker: Banker's cards.
        player_total: points.
        banker_total: points.
        revision: of the settlement.
        void: whether it does not count.
    """

    table_id: int
    position: int
    coup: str
    opened_at: str
    rulebook: str
    dealer: str | None
    supervisor: str | None
    patrons: list[str] = field(default_factory=list)
    laid_at: list[str | None] = field(default_factory=list)
    seats: list[str] = field(default_factory=list)
    staked: list[int] = field(default_factory=list)
    settled_at: str | None = None
    ended_at: str | None = None
    winner: str | None = None
    player: str = ""
    banker: str = ""
    player_total: int | None = None
    banker_total: int | None = None
    revision: int | None = None
    void: bool = False


class CoupChange(Struct):
    """What later events change in a coup's row; None changes nothing, nor do cards unless settled.

    Args:
        table_id: the table's number in the archive.
        coup: the coup's id.
        ended_at: unless it had ended before.
        void: whether it does not count.
        settled: the fields of a settlement.
    """

    table_id: int
    coup: str
    ended_at: str | None = None
    void: bool | None = None
    settled: dict[str, Any] | None = None


class SettlementRow(Struct):
    """A settlement, a row of `property.settlement_row`; lists are by line, texts with commas.

    Args:
        table_id: the table's number in the archive.
        position: of its event.
        at: when.
        coup: the coup's id.
        phase: 1 or 2.
        revision: from 1.
        reverses: the revision that it takes back.
        rulebook: the rulebook's id.
        wagers: ids, a line each.
        seats: 1 to 99.
        bets: the bets' ids.
        patrons: references; None for nobody's, or for all where nobody is named.
        kinds: `chips`, `promo` or `toke`; None where all are chips.
        results: `win`, `lose`, `push` or `void`.
        stakes: minor units, as the following.
        winnings: before commission.
        commissions: kept by the house; None where all are 0.
        paids: to the patron.
    """

    table_id: int
    position: int
    at: str
    coup: str
    phase: int
    revision: int
    reverses: int | None
    rulebook: str
    wagers: str
    seats: str
    bets: str
    patrons: list[str | None] | None
    kinds: str | None
    results: str
    stakes: str
    winnings: str
    commissions: str | None
    paids: str


class FoldedRows(Struct):
    """What a table's events come to, beside its state.

    Args:
        coups: that are over.
        changes: of coups that were over before.
        settlements: in order.
        ended: whether the coup that was in progress is over: its earlier wagers' rows go.
        placed: wagers of the coup that is in progress now, those withdrawn too.
    """

    coups: dict[str, ArchivedCoup] = field(default_factory=dict)
    changes: dict[str, CoupChange] = field(default_factory=dict)
    settlements: list[SettlementRow] = field(default_factory=list)
    ended: bool = False
    placed: dict[str, WagerRow] = field(default_factory=dict)


def ends_a_coup(rows: Iterable[ArchiveRow]) -> bool:
    """Return whether events may end a coup: then `fold_events` needs its wagers."""
    return any(row.type in _ENDING for row in rows)


def fold_events(
    table_id: int, state: ArchivedState, rows: Iterable[ArchiveRow], placed: Iterable[WagerRow] = ()
) -> FoldedRows:
    """Fold a table's next events into its state, and return the rows that they make.

    Args:
        table_id: the table's number in the archive.
        state: after the event before; it is changed.
        rows: the events.
        placed: the wagers of the coup in progress, where `ends_a_coup` holds of the events.
    """
    fold = _Fold(table_id, state, {each.wager: each for each in placed})
    for row in rows:
        fold.take(row)
    return fold.rows


class _Fold:
    def __init__(self, table_id: int, state: ArchivedState, placed: dict[str, WagerRow]) -> None:
        self.rows = FoldedRows(placed=placed)
        self._id = table_id
        self._state = state
        self._at = ""
        self._position = self._version = 0

    def take(self, row: ArchiveRow) -> None:
        self._at, self._position = row.at, row.position
        if row.type in _TAKES or row.type not in _KNOWN:
            self._read(row)
        self._state.tail_bytes += len(row.stored)

    def _read(self, row: ArchiveRow) -> None:
        state = self._state
        try:
            entry = decode_entry(row.stored)
        except UnreadableEvent:
            state.unread = state.unread or row.position
            return
        event, self._version = entry.data, entry.v
        if isinstance(event, _SHOWN):
            state.shown = row.position
        _TAKES[event.TYPE](self, event)

    def report(self, event: ShoeReported) -> None:
        link = _LINKS.get(type(event.source.report))
        if link is not None:
            self._state.link, self._state.link_at = link, self._at
            self._state.shown = self._position

    def alarm(self, event: AlarmRaised) -> None:
        alarm = StandingAlarm(text=event.text, position=self._position, at=self._at)
        self._state.alarms[event.alarm] = alarm

    def clear(self, event: AlarmCleared) -> None:
        self._state.alarms.pop(event.alarm, None)

    def staff(self, event: DealerAssigned) -> None:
        self._state.dealer = _reference(event.dealer)
        self._state.supervisor = _reference(event.supervisor)

    def load(self, event: ShoeLoaded) -> None:
        self._end()
        self._state.shoe, self._state.shoe_position = event.shoe, self._position

    def end_shoe(self, _: ShoeEnded) -> None:
        self._end()

    def open(self, event: BettingOpened) -> None:
        self._end()
        state = self._state
        state.rulebook_hash = event.rulebook_hash
        state.open = OpenCoup(
            coup=event.coup,
            position=self._position,
            opened_at=self._at,
            rulebook=event.rulebook,
            dealer=state.dealer,
            supervisor=state.supervisor,
            tail_bytes=state.tail_bytes,
        )

    def place(self, event: WagersPlaced) -> None:
        for each in event.wagers:
            patron = _reference(each.patron)
            if patron is not None:
                self.rows.placed[each.id] = WagerRow(
                    self._id, each.id, patron, each.seat, each.stake, self._at
                )

    def withdraw(self, event: WagersWithdrawn) -> None:
        for wager in event.wagers:
            known = self.rows.placed.get(wager)
            if known is None:  # its row is in the archive
                known = WagerRow(self._id, wager, "", 0, 0, self._at)
                self.rows.placed[wager] = known
            known.withdrawn = True

    def settle(self, event: CoupSettled) -> None:
        made = event.settlement
        self.rows.settlements.append(self._settlement(event.coup, made))
        if made.phase == _OVER:
            self._change(
                event.coup,
                ended_at=self._at,
                settled={
                    "settled_at": self._at,
                    "rulebook": made.rulebook,
                    "winner": made.winner.value if made.winner else None,
                    "player": _cards(made.player),
                    "banker": _cards(made.banker),
                    "player_total": made.player_total,
                    "banker_total": made.banker_total,
                    "revision": made.revision,
                },
            )

    def void(self, event: CoupVoided) -> None:
        self._change(event.coup, ended_at=self._at, void=True)

    def correct(self, event: HandsCorrected) -> None:
        if event.counts_again:
            self._change(event.coup, void=False)

    def commission(
        self,
        event: CommissionAccrued
        | CommissionCollected
        | CommissionRecovered
        | CommissionReversed
        | CommissionUncollected,
    ) -> None:
        changed: dict[str, ArchivedCommission] = {}
        for each in event.amounts:
            seat = str(each.seat)
            debt = changed[seat] = self._state.debts.setdefault(seat, ArchivedCommission())
            owed = opened = -each.amount
            match event:
                case CommissionAccrued():
                    owed = opened = each.amount
                    debt.accrued += each.amount
                case CommissionRecovered():
                    opened = 0
                case CommissionUncollected():
                    owed = 0
                case CommissionReversed() if isinstance(each, ReversedAmount):
                    debt.reversed += each.amount
                    owed, opened = _reversed(event, each, self._version)
                case _:
                    pass
            debt.owed += owed
            debt.open += opened
        for debt in changed.values():
            debt.owed_low = min(debt.owed_low, debt.owed)
            debt.open_low = min(debt.open_low, debt.open)
            debt.at = self._at

    def _settlement(self, coup: str, made: Settlement) -> SettlementRow:
        lines = made.lines
        patrons = [_reference(line.patron) for line in lines]
        kinds, taken = {line.kind for line in lines}, any(line.commission for line in lines)
        reverses = (made.reverses or "").rpartition("/")[2]
        return SettlementRow(
            table_id=self._id,
            position=self._position,
            at=self._at,
            coup=coup,
            phase=made.phase,
            revision=made.revision,
            reverses=whole_number(reverses, MAX_AMOUNT),
            rulebook=made.rulebook,
            wagers="\n".join(line.wager.replace("\n", " ") for line in lines),
            seats=_list(line.seat for line in lines),
            bets=_list(line.bet for line in lines),
            patrons=patrons if any(patrons) else None,
            kinds=_list(line.kind for line in lines) if kinds - {"chips"} else None,
            results=_list(line.result for line in lines),
            stakes=_list(line.stake for line in lines),
            winnings=_list(line.winnings for line in lines),
            commissions=_list(line.commission for line in lines) if taken else None,
            paids=_list(line.paid for line in lines),
        )

    def _change(
        self,
        coup: str,
        *,
        ended_at: str | None = None,
        void: bool | None = None,
        settled: Mapping[str, Any] | None = None,
    ) -> None:
        if self._state.open is not None and self._state.open.coup == coup:
            self._end()
        row = self.rows.coups.get(coup)
        if row is None:
            change = self.rows.changes.setdefault(coup, CoupChange(self._id, coup))
            change.settled = dict(settled) if settled else change.settled
            change.ended_at = change.ended_at or ended_at
            change.void = change.void if void is None else void
            return
        for name, value in (settled or {}).items():
            setattr(row, name, value)
        row.void = row.void if void is None else void

    def _end(self) -> None:
        """Make the coup in progress a row."""
        coup, self._state.open = self._state.open, None
        if coup is None:
            return
        row = ArchivedCoup(
            self._id, coup.position, coup.coup, coup.opened_at, coup.rulebook, coup.dealer,
            coup.supervisor, ended_at=self._at,
        )  # fmt: skip
        wagers = self.rows.placed
        for patron in sorted({each.patron for each in wagers.values() if each.patron}):
            lay = [e for e in wagers.values() if e.patron == patron and not e.withdrawn]
            row.patrons.append(patron)
            row.laid_at.append(min((each.at for each in lay), default=None))
            row.seats.append(",".join(map(str, sorted({each.seat for each in lay}))))
            row.staked.append(sum(each.stake for each in lay))
        self.rows.coups[coup.coup] = row
        self.rows.placed, self.rows.ended = {}, True


def _reference(text: str | None) -> str | None:
    """Return a person's reference; one that no index can hold is cut, and ends in its SHA-256."""
    data = (text or "").encode(errors="surrogatepass")
    if text is None or len(data) <= _REFERENCE_BYTES:
        return text
    return f"{text[:_REFERENCE_SHOWN]}...{hashlib.sha256(data).hexdigest()}"


def _list(values: Iterable[object]) -> str:
    return ",".join(str(value).replace(",", ";") for value in values)


def _cards(hand: Iterable[Card]) -> str:
    return "".join(card.text for card in hand)


def _reversed(event: CommissionReversed, each: ReversedAmount, version: int) -> tuple[int, int]:
    """Return by how much a reversal changes what is owed, and the part that is not given up.

    Since version 2 it says what was still owed and what was given up.
    """
    if version > 1:
        return -each.outstanding - each.uncollected, -each.outstanding
    taken = event.timing in _TAKEN_AT_ONCE
    return (0, 0) if taken else (-each.amount, -each.amount)


_TAKES: Final[Mapping[str, Any]] = {
    kind.TYPE: take
    for kind, take in (
        (AlarmCleared, _Fold.clear),
        (AlarmRaised, _Fold.alarm),
        (BettingOpened, _Fold.open),
        (CommissionAccrued, _Fold.commission),
        (CommissionCollected, _Fold.commission),
        (CommissionRecovered, _Fold.commission),
        (CommissionReversed, _Fold.commission),
        (CommissionUncollected, _Fold.commission),
        (CoupSettled, _Fold.settle),
        (CoupVoided, _Fold.void),
        (DealerAssigned, _Fold.staff),
        (HandsCorrected, _Fold.correct),
        (ShoeEnded, _Fold.end_shoe),
        (ShoeLoaded, _Fold.load),
        (ShoeReported, _Fold.report),
        (WagersPlaced, _Fold.place),
        (WagersWithdrawn, _Fold.withdraw),
    )
}
