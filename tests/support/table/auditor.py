"""An auditor who sees nothing but the table's events and moves the chips as they say.

Every chip is somewhere: in a seat's purse, on the layout under a wager, in the circle beside it, or
in the house's tray. A wager can leave the layout once. What the house wins is added up from what
was lost, won and kept, and never from what the settlements call paid.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, Final

from events.types.commission import (
    CommissionAccrued,
    CommissionCollected,
    CommissionPrepaid,
    CommissionRecovered,
    CommissionRefunded,
    CommissionReturned,
    CommissionReversed,
    CommissionUncollected,
    PayerAmount,
)
from events.types.corrections import RulebookCorrected, WagerCorrected
from events.types.table import (
    CoupSettled,
    CoupVoided,
    Refund,
    Settlement,
    SettlementLine,
    TableEvent,
    Wager,
    WagersPlaced,
    WagersWithdrawn,
)
from events.types.wagers import AggregateCapped, WagersVoided
from table_core.rules.rulebook import Rulebook
from table_core.state.table import TableState

__all__ = ["Auditor"]


class Auditor:
    """Counts chips. Tokens are no chips: they come from nowhere and go nowhere.

    Args:
        rulebooks: what is played by, and what coups may be judged again by; payouts round up.
    """

    def __init__(self, *rulebooks: Rulebook) -> None:
        self.books = {book.hash: book for book in rulebooks}
        self.methods = {
            method for book in rulebooks for method in _METHODS.get(_timing(book), set())
        }
        self.purse: Counter[int] = Counter()
        self.tray = 0
        self.layout: dict[str, Wager] = {}
        self.circle: Counter[int] = Counter()
        self.owed: Counter[_Debt] = Counter()
        self.given_up: Counter[_Debt] = Counter()
        self.collected_: Counter[_Debt] = Counter()
        self.recovered_: Counter[_Debt] = Counter()
        self.to_refund: Counter[_Debt] = Counter()
        self.standing: dict[str, Settlement] = {}  # settlements that were not taken back
        self.settled: dict[str, Wager] = {}  # wagers that a settlement has taken
        self.over: set[str] = set()  # coups that were settled to their end, or void
        self.changed: dict[str, Wager | None] = {}  # wagers corrected, not yet taken back
        self.taken_back: set[str] = set()  # settlements whose wagers a correction has lifted
        self.won: Counter[tuple[str, int]] = Counter()  # by the house, of coup and seat
        self.cut: dict[tuple[str, str], int] = {}  # settlement and wager to winnings before a cap

    def hear(self, events: Iterable[TableEvent]) -> None:
        """Move the chips."""
        for event in events:
            mover = _MOVERS.get(type(event))
            if mover is not None:
                mover(self, event)
            self._count()

    def _count(self) -> None:
        on_layout = sum(wager.stake for wager in self.layout.values() if wager.kind != "promo")
        assert self.purse.total() + on_layout + self.circle.total() + self.tray == 0
        parts = (self.owed, self.given_up, self.collected_, self.recovered_, self.to_refund)
        for never_negative in (self.circle, *parts):
            assert min(never_negative.values(), default=0) >= 0

    def check(self, state: TableState) -> None:
        """Hold the table's own books against the chips."""
        totals = state.totals
        staked, paid, commission = self._said()
        assert totals.staked == staked.total()
        assert totals.paid == paid.total()
        assert totals.commission == commission
        assert totals.house == self.won.total()
        for key in {*staked, *paid, *self.won}:
            assert staked[key] == paid[key] + self.won[key]
        outside = self.owed.total() + self.given_up.total()
        assert totals.house == self.tray + outside
        assert state.commission.reconciles
        self._check_debts(state)
        assert _by_seat(state.commission.laid) == +self.circle
        if not state.in_progress:
            assert self.layout == {}
            assert not +self.circle
            self._check_purses()

    def _said(self) -> tuple[Counter[tuple[str, int]], Counter[tuple[str, int]], int]:
        """What the settlements that stand say was staked and paid, by coup and seat."""
        staked: Counter[tuple[str, int]] = Counter()
        paid: Counter[tuple[str, int]] = Counter()
        commission = 0
        for name, settlement in self.standing.items():
            for line in settlement.lines:
                staked[settlement.coup, line.seat] += _chips(line)
                paid[settlement.coup, line.seat] += line.paid
                commission += line.commission
                won = self.cut.get((name, line.wager), line.winnings)
                assert won == _exact(line, self.books[settlement.rulebook_hash].unit)
        return staked, paid, commission

    def _check_purses(self) -> None:
        """What a seat has lost is in the tray, but for commission that it still owes."""
        lost: Counter[int] = Counter()
        for (_, seat), amount in self.won.items():
            lost[seat] += amount
        for (_, seat, _), amount in [*self.owed.items(), *self.given_up.items()]:
            lost[seat] -= amount
        for seat in {*lost, *self.purse}:
            assert -self.purse[seat] == lost[seat]

    # ---- wagers come and go ----

    def placed(self, event: WagersPlaced) -> None:
        for wager in event.wagers:
            assert wager.id not in self.layout
            assert wager.id not in self.settled
            self.layout[wager.id] = wager
            self.purse[wager.seat] -= _chips(wager)

    def withdrawn(self, event: WagersWithdrawn) -> None:
        for name in event.wagers:
            self._back(self.layout.pop(name))

    def refunded(self, event: WagersVoided | CoupVoided) -> None:
        for refund in event.refunds:
            wager = self.layout.pop(refund.wager)
            assert refund == Refund(wager=wager.id, seat=wager.seat, stake=wager.stake)
            self._back(wager)
        if isinstance(event, CoupVoided):
            assert event.coup not in self.over or not event.refunds
            self.over.add(event.coup)

    def _back(self, wager: Wager) -> None:
        self.purse[wager.seat] += _chips(wager)

    # ---- settlements ----

    def settle(self, event: CoupSettled) -> None:
        settlement = event.settlement
        before = self.standing.pop(settlement.reverses or "", None)
        assert (before is None) is (settlement.reverses is None)
        if before is not None and before.settlement_id not in self.taken_back:
            self._take_back(before)
        self._compare(before, settlement, corrected=settlement.coup in self.over)
        assert settlement.settlement_id not in self.standing
        for line in settlement.lines:
            wager = self.layout.pop(line.wager)
            assert (line.seat, line.bet, line.patron, line.kind, line.stake) == (
                wager.seat,
                wager.bet,
                wager.patron,
                wager.kind,
                wager.stake,
            )
            self.settled[wager.id] = wager
            self._pay(settlement, line, 1)
        assert settlement.staked == sum(_chips(line) for line in settlement.lines)
        assert settlement.paid == sum(line.paid for line in settlement.lines)
        assert settlement.commission == sum(line.commission for line in settlement.lines)
        self.standing[settlement.settlement_id] = settlement
        if settlement.phase == _LAST:
            self.over.add(settlement.coup)

    def _take_back(self, settlement: Settlement) -> None:
        for line in settlement.lines:
            self.layout[line.wager] = self.settled.pop(line.wager)
            self._pay(settlement, line, -1)
            if line.wager in self.changed:
                self._change(line.wager, self.changed.pop(line.wager))

    def _compare(self, before: Settlement | None, after: Settlement, *, corrected: bool) -> None:
        """The difference that a revision names is what its lines come to, seat by seat."""
        sums: dict[int, list[int]] = {}
        if before is not None or corrected:
            for sign, lines in ((-1, before.lines if before else ()), (1, after.lines)):
                for line in lines:
                    amounts = sums.setdefault(line.seat, [0, 0, 0])
                    for index, amount in enumerate((_chips(line), line.paid, line.commission)):
                        amounts[index] += sign * amount
        named = {each.seat: [each.staked, each.paid, each.commission] for each in after.difference}
        assert named == {seat: amounts for seat, amounts in sums.items() if any(amounts)}

    def _pay(self, settlement: Settlement, line: SettlementLine, sign: int) -> None:
        """The stake to the tray, and out of it what the seat gets; commission as it is taken."""
        coup, handed = settlement.coup, line.paid + line.commission
        self.tray += sign * (_chips(line) - handed)
        self.purse[line.seat] += sign * handed
        self.won[coup, line.seat] += sign * _won_by_house(line)

    def capped(self, event: AggregateCapped) -> None:
        lines = {line.wager: line for line in self.standing[event.settlement_id].lines}
        assert sum(share.winnings for share in event.wagers) > event.maximum
        if event.scope == "table":
            assert sum(share.paid for share in event.wagers) == event.maximum
        for share in event.wagers:
            assert 0 <= share.paid <= share.winnings
            assert lines[share.wager].winnings == share.paid
            assert lines[share.wager].kind != "toke"
            self.cut[event.settlement_id, share.wager] = share.winnings

    # ---- corrections ----

    def wager_corrected(self, event: WagerCorrected) -> None:
        """The chips follow at once, or when the settlement that took the wager is taken back."""
        if event.was is None:
            assert event.wager is not None
            assert event.wager.id not in self.layout
            self.layout[event.wager.id] = event.wager
            self.purse[event.wager.seat] -= _chips(event.wager)
        elif event.was.id in self.layout:
            self._change(event.was.id, event.wager)
        else:
            assert self.settled[event.was.id] == event.was
            self.changed[event.was.id] = event.wager

    def _change(self, name: str, wager: Wager | None) -> None:
        self._back(self.layout.pop(name))
        if wager is not None:
            assert wager.id == name
            self.layout[name] = wager
            self.purse[wager.seat] -= _chips(wager)

    def rulebook_corrected(self, event: RulebookCorrected) -> None:
        """Wagers may move from one phase to another: all of them are lifted first."""
        for settlement in self.standing.values():
            if settlement.coup == event.coup:
                self._take_back(settlement)
                self.taken_back.add(settlement.settlement_id)

    # ---- commission: debts of a coup, a seat and a patron ----

    def accrued(self, event: CommissionAccrued) -> None:
        settlement = self.standing[event.settlement_id]
        assert event.timing == _timing(self.books[settlement.rulebook_hash])
        self.owed.update(_debts(event))

    def reversed(self, event: CommissionReversed) -> None:
        """What is owed or given up falls away; what was taken waits to go back."""
        for each in event.amounts:
            debt = event.coup, each.seat, each.patron
            parts = (each.outstanding, each.uncollected, each.recovered)
            for account, off in zip(
                (self.owed, self.given_up, self.recovered_), parts, strict=True
            ):
                account[debt] -= off
            taken = each.amount - sum(parts)
            self.collected_[debt] -= taken
            self.to_refund[debt] += taken + each.recovered

    def commission_refunded(self, event: CommissionRefunded) -> None:
        assert event.reason
        for debt, amount in _debts(event).items():
            self.to_refund[debt] -= amount
            self._move(self.purse, debt[1], amount)

    def collected(self, event: CommissionCollected) -> None:
        assert event.method in self.methods
        for debt, amount in _debts(event).items():
            self.owed[debt] -= amount
            self.collected_[debt] += amount
            if event.method == "prepaid":
                self.circle[debt[1]] -= amount
                self.tray += amount
            else:
                self._move(self.purse, debt[1], -amount)

    def _move(self, account: Counter[int], seat: int, amount: int) -> None:
        account[seat] += amount
        self.tray -= amount

    def prepaid(self, event: CommissionPrepaid) -> None:
        for each in event.amounts:
            self.purse[each.seat] -= each.amount
            self.circle[each.seat] += each.amount

    def returned(self, event: CommissionReturned) -> None:
        for each in event.amounts:
            self.circle[each.seat] -= each.amount
            self.purse[each.seat] += each.amount

    def uncollected(self, event: CommissionUncollected) -> None:
        for debt, amount in _debts(event).items():
            self.owed[debt] -= amount
            self.given_up[debt] += amount

    def recovered(self, event: CommissionRecovered) -> None:
        for debt, amount in _debts(event).items():
            self.given_up[debt] -= amount
            self.recovered_[debt] += amount
            self._move(self.purse, debt[1], -amount)

    def _check_debts(self, state: TableState) -> None:
        """Each debt is what the settlements that stand say, and the table has it so."""
        due = Counter[_Debt]()
        for settlement in self.standing.values():
            due.update(_commission(settlement))
        kept = (self.collected_, self.recovered_, self.owed, self.given_up)
        for debt in {*due, *(debt for each in kept for debt in each)}:
            assert due[debt] == sum(each[debt] for each in kept), debt
        assert not +self.to_refund
        book = state.commission
        for name, ours in (("outstanding", self.owed), ("uncollected", self.given_up)):
            theirs = {(d.coup, d.seat, d.patron): getattr(d, name) for d in book.debts}
            assert {debt: amount for debt, amount in theirs.items() if amount} == +ours
        assert book.collected == self.collected_.total()
        assert book.recovered == self.recovered_.total()


_Debt = tuple[str, int, str | None]


def _debts(event: Any) -> Counter[_Debt]:
    """Return the amounts of an event by debt; none occurs twice in an event."""
    rows = [((event.coup, each.seat, each.patron), each.amount) for each in event.amounts]
    assert len(dict(rows)) == len(rows)
    assert event.currency
    assert all(amount > 0 for _, amount in rows)
    return Counter(dict(rows))


_LAST: Final = 2
_METHODS: Final[dict[str | None, set[str]]] = {
    None: set(),
    "deduct": {"deducted"},
    "prepaid": {"prepaid"},
    "per_coup": {"paid"},
    "per_shoe": {"paid"},
}


def _timing(rulebook: Rulebook) -> str | None:
    return rulebook.commission.timing.value if rulebook.commission else None


def _exact(line: SettlementLine, unit: int) -> int:
    """Stake times odds, up to the next payable amount."""
    return _payable(line.stake, line.odds or "0", unit)


@cache
def _payable(stake: int, odds: str, unit: int) -> int:
    return math.ceil(stake * Fraction(odds) / unit) * unit


def _chips(wager: Wager | SettlementLine) -> int:
    return 0 if wager.kind == "promo" else wager.stake


def _won_by_house(line: SettlementLine) -> int:
    """What a wager came to for the house, and that its line says so in itself."""
    lost = _chips(line) if line.result == "lose" else 0
    assert (line.winnings > 0) <= (line.result == "win")
    assert 0 <= line.commission <= line.winnings
    assert line.paid >= 0
    return lost - line.winnings + line.commission


def _by_seat(amounts: Sequence[PayerAmount]) -> Counter[int]:
    seats: Counter[int] = Counter()
    for each in amounts:
        seats[each.seat] += each.amount
    return seats


def _commission(settlement: Settlement) -> Counter[_Debt]:
    debts: Counter[_Debt] = Counter()
    for line in settlement.lines:
        debts[settlement.coup, line.seat, line.patron] += line.commission
    return +debts


_MOVERS: Final[dict[type[TableEvent], Callable[[Auditor, Any], None]]] = {
    WagersPlaced: Auditor.placed,
    WagersWithdrawn: Auditor.withdrawn,
    WagersVoided: Auditor.refunded,
    CoupVoided: Auditor.refunded,
    CoupSettled: Auditor.settle,
    WagerCorrected: Auditor.wager_corrected,
    RulebookCorrected: Auditor.rulebook_corrected,
    AggregateCapped: Auditor.capped,
    CommissionAccrued: Auditor.accrued,
    CommissionReversed: Auditor.reversed,
    CommissionRefunded: Auditor.commission_refunded,
    CommissionCollected: Auditor.collected,
    CommissionPrepaid: Auditor.prepaid,
    CommissionReturned: Auditor.returned,
    CommissionUncollected: Auditor.uncollected,
    CommissionRecovered: Auditor.recovered,
}
