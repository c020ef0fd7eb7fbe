"""Commission: what winners owe, what is prepaid, and the debts that result. Pure.

The commission on a win: the house's part of the winnings, and its rounding. What becomes of it is a
debt of a coup, a seat and, where the wagers name one, a patron.

Theory
------
Each minor unit of a debt is in exactly one `Part`, and `MOVES` says which event moves it where. A
move that is not in the table is refused: `fold_commission` raises `OurBug`. A correction reverses
and accrues only the difference, and only in the debts of its coup. So what was paid stays paid,
what was given up stays given up, and no other debt is touched, whatever the rulebooks' timings are.

The chips laid in advance are a deposit beside the debt: `commission_collected` moves both.

Logs of 0.1.0 hold balances of seats, and their events have no currency. Those are folded as that
build folded them: a sum is taken off the seat's debts, the coup's own first and then the oldest,
and never more than the seat owes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from events.errors import OurBug
from events.money import scale
from events.types import (
    CommissionAccrued,
    CommissionCollected,
    CommissionPrepaid,
    CommissionRecovered,
    CommissionRefunded,
    CommissionReturned,
    CommissionReversed,
    CommissionUncollected,
    PayerAmount,
    RefundMethod,
    ReversedAmount,
    SeatAmount,
    Settlement,
    SettlementLine,
    TableEvent,
    Wager,
)
from table_core.rules.rulebook import CommissionTiming, Rulebook

__all__ = [
    "MOVES",
    "ByPayer",
    "CommissionBook",
    "CommissionRefund",
    "CommissionTotals",
    "Debt",
    "Part",
    "amount_changes",
    "commission_of",
    "commission_on",
    "fold_commission",
    "moved_commission",
    "prepaid_changes",
    "prepaid_commission",
    "seat_amounts",
    "settlement_commission",
    "without_refunds",
]

_Payer = tuple[int, str | None]
"""A seat, and the patron where one is named."""
ByPayer = Mapping[_Payer, int]
"""Amounts by seat and patron."""
_Key = tuple[str, int, str | None]
"""A coup, a seat, and the patron where one is named."""
# The parts of a debt that a reversal comes off first; what is left of it had been collected.
_PAYABLE: Final = ("outstanding", "uncollected", "recovered")
_AT_ONCE: Final = {CommissionTiming.DEDUCT: "deducted", CommissionTiming.PREPAID: "prepaid"}
_AT_ONCE_WORDS: Final = frozenset(timing.value for timing in _AT_ONCE)


class Part(Enum):
    """Where a unit of a debt is; `NONE` before it is owed and after it is owed no longer."""

    NONE = "none"
    LAID = "laid"
    OUTSTANDING = "outstanding"
    COLLECTED = "collected"
    UNCOLLECTED = "uncollected"
    RECOVERED = "recovered"
    REFUNDABLE = "refundable"

    # Faster than Enum's own, which is written in Python: a coup may have thousands of payers.
    __hash__ = object.__hash__


MOVES: Final[dict[tuple[Part, str], Part]] = {
    (Part.NONE, CommissionPrepaid.TYPE): Part.LAID,
    (Part.LAID, CommissionReturned.TYPE): Part.NONE,
    (Part.LAID, CommissionCollected.TYPE): Part.NONE,
    (Part.NONE, CommissionAccrued.TYPE): Part.OUTSTANDING,
    (Part.OUTSTANDING, CommissionCollected.TYPE): Part.COLLECTED,
    (Part.OUTSTANDING, CommissionUncollected.TYPE): Part.UNCOLLECTED,
    (Part.OUTSTANDING, CommissionReversed.TYPE): Part.NONE,
    (Part.UNCOLLECTED, CommissionRecovered.TYPE): Part.RECOVERED,
    (Part.UNCOLLECTED, CommissionReversed.TYPE): Part.NONE,
    (Part.COLLECTED, CommissionReversed.TYPE): Part.REFUNDABLE,
    (Part.RECOVERED, CommissionReversed.TYPE): Part.REFUNDABLE,
    (Part.REFUNDABLE, CommissionRefunded.TYPE): Part.NONE,
}
"""(where a unit is, type of the event) to where it is then; what is absent cannot happen."""


class Debt(Struct, frozen=True, gc=False, kw_only=True):
    """The commission of one coup, seat and patron that somebody may still ask about.

    A debt that was collected whole is not kept: its settlement says how much that was.

    Args:
        coup: the coup's id; empty where an old log does not say.
        seat: of the wagers.
        patron: their opaque reference; None where they had none.
        currency: ISO 4217; empty for a debt of an old log.
        outstanding: owed and not yet taken, minor units.
        uncollected: given up and still unpaid.
        recovered: paid after it had been given up.
        refundable: reversed after it was taken, and not yet given back.
    """

    coup: str
    seat: int
    patron: str | None = None
    currency: str = ""
    outstanding: int = 0
    uncollected: int = 0
    recovered: int = 0
    refundable: int = 0

    @property
    def open(self) -> bool:
        """Whether something of it is still to be paid, was recovered, or is to be given back."""
        return bool(self.outstanding or self.uncollected or self.recovered or self.refundable)


class CommissionRefund(Struct, frozen=True, gc=False, kw_only=True):
    """Commission that the dealer hands back to a payer after a correction, and why."""

    coup: str
    seat: int
    patron: str | None
    currency: str
    amount: int
    reason: str


class CommissionTotals(Struct, frozen=True, gc=False):
    """The commission in one currency since the log began, minor units.

    Args:
        currency: ISO 4217; empty for what an old log has without one.
        accrued: owed by all settlements so far.
        reversed_: the part of `accrued` that was reversed with its settlement.
        collected: taken in any way, and kept.
        recovered: paid after the house had given it up, and kept.
        refunded: given back after it had been taken; in neither of the two.
    """

    currency: str = ""
    accrued: int = 0
    reversed_: int = 0
    collected: int = 0
    recovered: int = 0
    refunded: int = 0


class CommissionBook(Struct, frozen=True, gc=False, kw_only=True):
    """The table's commission.

    Args:
        totals: a currency each.
        debts: those of which something is still to be paid or was recovered, oldest first.
        laid: per payer, prepaid and lying next to the wagers of the coup in progress.
        refunds: what goes back after the corrections since betting was last opened.
    """

    totals: tuple[CommissionTotals, ...] = ()
    debts: tuple[Debt, ...] = ()
    laid: tuple[PayerAmount, ...] = ()
    refunds: tuple[CommissionRefund, ...] = ()

    @property
    def outstanding(self) -> tuple[SeatAmount, ...]:
        """By seat, owed and not yet taken, all currencies together."""
        return seat_amounts((debt.seat, debt.outstanding) for debt in self.debts)

    @property
    def uncollected(self) -> tuple[SeatAmount, ...]:
        """By seat, given up and still unpaid, all currencies together."""
        return seat_amounts((debt.seat, debt.uncollected) for debt in self.debts)

    @property
    def laid_by_seat(self) -> tuple[SeatAmount, ...]:
        """By seat, what lies next to the wagers of the coup in progress."""
        return seat_amounts((each.seat, each.amount) for each in self.laid)

    @property
    def accrued(self) -> int:
        """Owed by all settlements so far, all currencies together."""
        return sum(each.accrued for each in self.totals)

    @property
    def reversed_(self) -> int:
        """The part of it that was reversed."""
        return sum(each.reversed_ for each in self.totals)

    @property
    def collected(self) -> int:
        """The part of it that was taken and kept."""
        return sum(each.collected for each in self.totals)

    @property
    def recovered(self) -> int:
        """The part of it that was paid after it had been given up, and kept."""
        return sum(each.recovered for each in self.totals)

    @property
    def refunded(self) -> int:
        """Given back after it had been taken."""
        return sum(each.refunded for each in self.totals)

    @property
    def reconciles(self) -> bool:
        """Whether the identity of the house rules holds, in each currency."""
        left: dict[str, int] = {}
        for each in self.totals:
            taken = each.collected + each.recovered
            left[each.currency] = each.accrued - each.reversed_ - taken
        for debt in self.debts:
            owed = debt.outstanding + debt.uncollected
            left[debt.currency] = left.get(debt.currency, 0) - owed
        return not any(left.values())


# ---- what is owed ----


def prepaid_commission(rulebook: Rulebook, wagers: Iterable[Wager]) -> tuple[PayerAmount, ...]:
    """Return the prepaid commission by payer: for each wager, what it would owe if it won.

    Empty where the rulebook does not take commission in advance (seed 3).
    """
    terms = rulebook.commission
    if terms is None or terms.timing is not CommissionTiming.PREPAID:
        return ()
    sums: dict[_Payer, int] = {}
    for wager in wagers:
        payer = wager.seat, wager.patron
        sums[payer] = sums.get(payer, 0) + commission_on(rulebook, wager)
    return _amounts(sums)


def settlement_commission(
    was: Rulebook,
    now: Rulebook,
    book: CommissionBook,
    settlement: Settlement,
    *,
    reversed_: Settlement | None = None,
    reason: str = "",
    over: bool = False,
    moved: ByPayer = MappingProxyType({}),
) -> tuple[TableEvent, ...]:
    """Return the commission events of a settlement or of its revision.

    Each debt of the coup moves by the difference between the two settlements, and no other debt.
    What is owed no longer comes off what is outstanding, then off what was given up, then off what
    was recovered; only what is left of it had been collected and goes back.

    Args:
        was: the rulebook of the reversed settlement.
        now: the rulebook of the new settlement.
        book: the debts before both.
        settlement: the new settlement.
        reversed_: the settlement that it reverses; None for the first of its phase.
        reason: the correction's, for those to whom commission goes back.
        over: whether the coup was over before: nothing lies beside its wagers then.
        moved: what a correction moves to or from the coup's other phase (`moved_commission`).
    """
    rises = _rises(reversed_, settlement)
    if not rises and not book.laid:
        return ()
    less = {who: fall for who, rise in rises.items() if (fall := -rise - moved.get(who, 0)) > 0}
    more = {who: more for who, rise in rises.items() if (more := rise - moved.get(who, 0)) > 0}
    facts: list[TableEvent] = []
    if reversed_ is not None and less:
        facts += _taken_back(was, now, book, settlement, reversed_, less, reason, over=over)
    timing = now.commission.timing if now.commission else None
    if more and timing is not None:
        facts += _owed_now(now, settlement, timing, _amounts(more), over=over)
    # Only the last phase settles Banker wagers; prepaid commission that was not taken is
    # returned with it.
    if not over and book.laid and settlement.winner is not None:
        back = _off_laid(book.laid, _amounts(_by_payer(settlement.lines)))
        if back:
            facts.append(
                CommissionReturned(coup=settlement.coup, currency=now.currency, amounts=back)
            )
    return tuple(facts)


def moved_commission(
    revisions: Iterable[tuple[Settlement | None, Settlement]],
) -> ByPayer:
    """Return, by payer, the commission that one phase of a coup owes no longer and another owes.

    It is the same debt: a wager that a correction moves to another phase moves no chip of it.

    Args:
        revisions: each settlement of the correction, after the one that it reverses.
    """
    more: dict[_Payer, int] = {}
    less: dict[_Payer, int] = {}
    for before, after in revisions:
        for who, rise in _rises(before, after).items():
            sums = more if rise > 0 else less
            sums[who] = sums.get(who, 0) + abs(rise)
    return {who: min(amount, less.get(who, 0)) for who, amount in more.items()}


def _rises(before: Settlement | None, after: Settlement) -> ByPayer:
    """Return, by payer, the commission of a settlement less that of the one it reverses."""
    rises = dict(_by_payer(after.lines))
    for who, amount in (_by_payer(before.lines) if before else {}).items():
        rises[who] = rises.get(who, 0) - amount
    return rises


def _owed_now(
    now: Rulebook,
    settlement: Settlement,
    timing: CommissionTiming,
    owed: tuple[PayerAmount, ...],
    *,
    over: bool,
) -> list[TableEvent]:
    coup, currency = settlement.coup, now.currency
    facts: list[TableEvent] = []
    if over and timing is CommissionTiming.PREPAID:
        facts.append(CommissionPrepaid(coup=coup, currency=currency, amounts=owed))
    facts.append(
        CommissionAccrued(
            coup=coup,
            settlement_id=settlement.settlement_id,
            timing=timing.value,
            currency=currency,
            amounts=owed,
        )
    )
    if timing in _AT_ONCE:
        method = _AT_ONCE[timing]
        facts.append(CommissionCollected(coup=coup, method=method, currency=currency, amounts=owed))
    return facts


def _taken_back(
    was: Rulebook,
    now: Rulebook,
    book: CommissionBook,
    settlement: Settlement,
    reversed_: Settlement,
    less: ByPayer,
    reason: str,
    *,
    over: bool,
) -> list[TableEvent]:
    coup, currency = settlement.coup, now.currency
    amounts = tuple(_reversals(book, coup, less))
    facts: list[TableEvent] = [
        CommissionReversed(
            coup=coup,
            settlement_id=reversed_.settlement_id,
            timing=was.commission.timing.value if was.commission else "",
            currency=currency,
            amounts=amounts,
        )
    ]
    back = tuple(
        ReversedAmount(seat=each.seat, amount=taken, patron=each.patron, recovered=each.recovered)
        for each in amounts
        if (taken := each.amount - each.outstanding - each.uncollected)
    )
    if not back:
        return facts
    method: RefundMethod = "paid"
    timing = now.commission.timing if now.commission else None
    if timing is CommissionTiming.PREPAID and not over:
        method = "laid"
    elif timing is CommissionTiming.DEDUCT:
        method = "deducted"
    facts.append(
        CommissionRefunded(
            coup=coup,
            settlement_id=settlement.settlement_id,
            method=method,
            currency=currency,
            amounts=back,
            reason=reason or f"coup {coup} was settled again",
        )
    )
    if method == "laid":
        # It lies next to its wager again, until that is settled again or returned.
        again = _summed((each.seat, each.patron, each.amount) for each in back)
        facts.append(CommissionPrepaid(coup=coup, currency=currency, amounts=again))
    return facts


def _reversals(book: CommissionBook, coup: str, less: ByPayer) -> Iterable[ReversedAmount]:
    """Yield, per debt, what is reversed of it and where that stood."""
    debts = {_key(debt): debt for debt in book.debts if debt.coup == coup}
    for (seat, patron), amount in sorted(less.items(), key=_in_order):
        left, of_payer = amount, dict.fromkeys(_PAYABLE, 0)
        for whose in dict.fromkeys((patron, None)):
            debt = debts.get((coup, seat, whose))
            # An old log has the seat alone; a debt of now without a patron is nobody else's.
            if debt is None or (whose != patron and debt.currency):
                continue
            parts: dict[str, int] = {}
            for name in _PAYABLE:
                parts[name] = min(left, getattr(debt, name))
                left -= parts[name]
            rest = {name: getattr(debt, name) - off for name, off in parts.items()}
            debts[_key(debt)] = replace(debt, **rest)
            if whose == patron:
                of_payer = parts
            elif off := sum(parts.values()):
                yield ReversedAmount(seat=seat, patron=whose, amount=off, **parts)
        if off := left + sum(of_payer.values()):
            yield ReversedAmount(seat=seat, patron=patron, amount=off, **of_payer)


def prepaid_changes(
    rulebook: Rulebook, before: Iterable[Wager], after: Iterable[Wager]
) -> tuple[tuple[PayerAmount, ...], tuple[PayerAmount, ...]]:
    """Return, by payer, the prepaid commission to add and to return after wagers were corrected."""
    return amount_changes(prepaid_commission(rulebook, before), prepaid_commission(rulebook, after))


def amount_changes(
    was: Sequence[PayerAmount], now: Sequence[PayerAmount]
) -> tuple[tuple[PayerAmount, ...], tuple[PayerAmount, ...]]:
    """Return, by payer, the amounts to add and to return to get from `was` to `now`."""
    return _minus(now, was), _minus(was, now)


# ---- the fold ----


def fold_commission(book: CommissionBook, event: TableEvent) -> CommissionBook:
    """Return the book after one of the commission's events.

    Raises:
        OurBug: the event moves more than is where it takes it from.
    """
    handler = _FOLDS.get(type(event))
    if handler is None:
        raise OurBug(f"{event.TYPE} is no event of the commission")
    return handler(book, event)


def without_refunds(book: CommissionBook) -> CommissionBook:
    """Return the book once betting is opened: by then what goes back has gone back."""
    return replace(book, refunds=()) if book.refunds else book


class _Change:
    """Collects the moves of one event; never leaves the fold that made it."""

    def __init__(self, book: CommissionBook, event: Any) -> None:
        self.book = book
        self.type: str = event.TYPE
        self.coup: str = event.coup
        self.currency: str = event.currency
        self.debts = {_key(debt): debt for debt in book.debts}
        self._moved: dict[tuple[str, Part, Part], int] = {}
        self._sums: dict[tuple[str, str], int] = {}

    def move(self, amounts: Iterable[PayerAmount], source: Part) -> None:
        """Move amounts of debts of `coup` out of a part of them, by `MOVES`."""
        coup, debts, whole = self.coup, self.debts, dict[str, int]()
        ends = MOVES.get((source, self.type)) not in _KEPT
        for each in amounts:
            key = (coup, each.seat, each.patron)
            debt = debts.get(key)
            if ends and source is Part.OUTSTANDING and _is_all(debt, each.amount):
                del debts[key]
                whole[debt.currency] = whole.get(debt.currency, 0) + each.amount
            else:
                self.move_one(each.seat, each.patron, source, each.amount)
        for currency, amount in whole.items():
            self._count(currency, source, MOVES[source, self.type], amount)

    def begin(self, amounts: Sequence[PayerAmount]) -> None:
        """As `move` out of nothing; of a coup in which nothing is owed yet, in one go."""
        if self.debts:
            self.move(amounts, Part.NONE)
            return
        coup, currency, total = self.coup, self.currency, 0
        for each in amounts:
            self.debts[coup, each.seat, each.patron] = Debt(
                coup=coup,
                seat=each.seat,
                patron=each.patron,
                currency=currency,
                outstanding=each.amount,
            )
            total += each.amount
        if len(self.debts) != len(amounts):
            raise OurBug(f"{self.type} of coup {coup}: a payer comes twice")
        self._moved[currency, Part.NONE, MOVES[Part.NONE, self.type]] = total

    def move_one(self, seat: int, patron: str | None, source: Part, amount: int) -> None:
        """Move an amount of one debt of `coup` out of a part of it, by `MOVES`."""
        target = MOVES.get((source, self.type))
        if target is None:
            raise OurBug(f"{self.type} of commission that is {source.value}")
        key, changes = (self.coup, seat, patron), {}
        debt = self.debts.get(key)
        # What was collected is not kept, and neither is what is owed no longer.
        if source in _KEPT:
            changes[source.value] = (getattr(debt, source.value) if debt else 0) - amount
            if changes[source.value] < 0:
                raise OurBug(f"{self.type}: seat {seat}, coup {self.coup}: {amount} is too much")
        if target in _KEPT:
            changes[target.value] = (getattr(debt, target.value) if debt else 0) + amount
        if debt is None:
            debt = Debt(coup=self.coup, seat=seat, patron=patron, currency=self.currency, **changes)
        else:
            debt = replace(debt, **changes)
        if debt.outstanding or debt.uncollected or debt.recovered or debt.refundable:
            self.debts[key] = debt
        else:
            self.debts.pop(key, None)
        self._count(debt.currency, source, target, amount)

    def _count(self, currency: str, source: Part, target: Part, amount: int) -> None:
        moved = currency, source, target
        self._moved[moved] = self._moved.get(moved, 0) + amount

    def add(self, name: str, amount: int, currency: str) -> None:
        """Add to a currency's totals."""
        self._sums[currency, name] = self._sums.get((currency, name), 0) + amount

    def done(self, **changes: Any) -> CommissionBook:
        """Return the book with all moves."""
        for (currency, source, target), amount in self._moved.items():
            for name, sign in _SUMS[source, target]:
                self.add(name, sign * amount, currency)
        totals = {each.currency: each for each in self.book.totals}
        for (currency, name), amount in self._sums.items():
            was = totals.get(currency) or CommissionTotals(currency=currency)
            totals[currency] = replace(was, **{name: getattr(was, name) + amount})
        if sum([each.collected for each in totals.values()]) < 0:
            raise OurBug(f"{self.type}: more than was ever collected is given back")
        debts = tuple(self.debts.values())
        return replace(self.book, totals=tuple(totals.values()), debts=debts, **changes)


def _is_all(debt: Debt | None, outstanding: int) -> TypeGuard[Debt]:
    """Return whether this is outstanding of a debt, and nothing else of it is anywhere."""
    return debt is not None and (
        (debt.outstanding, debt.uncollected, debt.recovered, debt.refundable)
        == (outstanding, 0, 0, 0)
    )


_KEPT: Final = frozenset(part for part in Part if part.value in Debt.__struct_fields__)
_SUMS: Final[dict[tuple[Part, Part], tuple[tuple[str, int], ...]]] = {
    (Part.NONE, Part.OUTSTANDING): (("accrued", 1),),
    (Part.OUTSTANDING, Part.COLLECTED): (("collected", 1),),
    (Part.OUTSTANDING, Part.UNCOLLECTED): (),
    (Part.UNCOLLECTED, Part.RECOVERED): (("recovered", 1),),
    (Part.OUTSTANDING, Part.NONE): (("reversed_", 1),),
    (Part.UNCOLLECTED, Part.NONE): (("reversed_", 1),),
    (Part.COLLECTED, Part.REFUNDABLE): (("reversed_", 1), ("collected", -1)),
    (Part.RECOVERED, Part.REFUNDABLE): (("reversed_", 1), ("recovered", -1)),
    (Part.REFUNDABLE, Part.NONE): (("refunded", 1),),
}
"""What a move of a debt does to the totals."""


def _accrued(book: CommissionBook, event: CommissionAccrued) -> CommissionBook:
    change = _Change(book, event)
    change.begin(event.amounts)
    return change.done()


def _collected(book: CommissionBook, event: CommissionCollected) -> CommissionBook:
    laid = book.laid
    if event.method == "prepaid":
        laid = _off_laid(laid, event.amounts, strict=bool(event.currency))
    return _paid(book, event, Part.OUTSTANDING, laid=laid)


def _uncollected(book: CommissionBook, event: CommissionUncollected) -> CommissionBook:
    return _paid(book, event, Part.OUTSTANDING)


def _recovered(book: CommissionBook, event: CommissionRecovered) -> CommissionBook:
    return _paid(book, event, Part.UNCOLLECTED)


def _paid(book: CommissionBook, event: Any, source: Part, **changes: Any) -> CommissionBook:
    change = _Change(book, event)
    if event.currency:
        change.move(event.amounts, source)
    else:
        for each in event.amounts:
            _take_off_seat(change, each.seat, source, each.amount)
    return change.done(**changes)


def _reversed(book: CommissionBook, event: CommissionReversed) -> CommissionBook:
    """Cancel what is still owed or given up; what was taken is to be given back."""
    change = _Change(book, event)
    if not event.currency:
        return _reversed_balances(change, event)
    for each in event.amounts:
        taken = each.amount - each.outstanding - each.uncollected - each.recovered
        for source, amount in (
            (Part.OUTSTANDING, each.outstanding),
            (Part.UNCOLLECTED, each.uncollected),
            (Part.RECOVERED, each.recovered),
            (Part.COLLECTED, taken),
        ):
            if amount:
                change.move_one(each.seat, each.patron, source, amount)
    return change.done()


def _refunded(book: CommissionBook, event: CommissionRefunded) -> CommissionBook:
    change = _Change(book, event)
    change.move(event.amounts, Part.REFUNDABLE)
    if event.method != "paid":  # no chips of their own: they are paid, or lie, with the wager
        return change.done()
    told = [
        CommissionRefund(
            coup=event.coup,
            seat=each.seat,
            patron=each.patron,
            currency=event.currency,
            amount=each.amount,
            reason=event.reason,
        )
        for each in event.amounts
    ]
    return change.done(refunds=(*book.refunds, *told))


def _laid(book: CommissionBook, event: CommissionPrepaid) -> CommissionBook:
    return replace(book, laid=_plus(book.laid, event.amounts))


def _returned(book: CommissionBook, event: CommissionReturned) -> CommissionBook:
    return replace(book, laid=_off_laid(book.laid, event.amounts, strict=bool(event.currency)))


def _off_laid(
    laid: Sequence[PayerAmount], less: Iterable[PayerAmount], *, strict: bool = False
) -> tuple[PayerAmount, ...]:
    """Take amounts off what lies there; where an old log laid it, off what the seat has."""
    sums = {(each.seat, each.patron): each.amount for each in laid}
    for each in less:
        payer = each.seat, each.patron
        payer = payer if payer in sums else (each.seat, None)
        left = sums.get(payer, 0) - each.amount
        if strict and left < 0:
            raise OurBug(f"seat {each.seat}: {-left} of commission that is not laid")
        sums[payer] = max(0, left)
    return _amounts(sums)


# ---- the balances of seats, as 0.1.0 folded them ----


def _take_off_seat(change: _Change, seat: int, source: Part, amount: int) -> int:
    """Take an amount off a seat's debts, the event's own coup first; return what none had."""
    coup = change.coup
    mine = [key for key, debt in change.debts.items() if debt.seat == seat]
    for key in sorted(mine, key=lambda each: each[0] != coup):
        off = min(amount, getattr(change.debts[key], source.value))
        if off:
            change.coup = key[0]
            change.move_one(seat, key[2], source, off)
            amount -= off
    change.coup = coup
    return amount


def _reversed_balances(change: _Change, event: CommissionReversed) -> CommissionBook:
    back = 0
    for each in event.amounts:
        left = each.amount
        if event.timing not in _AT_ONCE_WORDS:
            for source in (Part.OUTSTANDING, Part.UNCOLLECTED):
                left = _take_off_seat(change, each.seat, source, left)
        debt = change.debts.get((event.coup, each.seat, None))
        if debt is not None:
            rest = replace(debt, recovered=debt.recovered - min(left, debt.recovered))
            change.debts[_key(debt)] = rest
            if not rest.open:
                del change.debts[_key(debt)]
        back += left
    kept = next((each.collected for each in change.book.totals if not each.currency), 0)
    recovered = max(0, back - kept)
    for name, amount in (
        ("reversed_", back),
        ("collected", recovered - back),
        ("recovered", -recovered),
    ):
        change.add(name, amount, "")
    return change.done()


_FOLDS: Final[dict[type[TableEvent], Callable[[CommissionBook, Any], CommissionBook]]] = {
    CommissionAccrued: _accrued,
    CommissionReversed: _reversed,
    CommissionRefunded: _refunded,
    CommissionCollected: _collected,
    CommissionPrepaid: _laid,
    CommissionReturned: _returned,
    CommissionUncollected: _uncollected,
    CommissionRecovered: _recovered,
}


# ---- amounts ----


def _key(debt: Debt) -> _Key:
    return debt.coup, debt.seat, debt.patron


def _in_order(item: tuple[_Payer, int]) -> tuple[int, str]:
    (seat, patron), _ = item
    return seat, patron or ""


def _amounts(sums: ByPayer) -> tuple[PayerAmount, ...]:
    """Return the amounts by seat and patron, without those who have none."""
    return tuple(
        [
            PayerAmount(seat=seat, amount=amount, patron=patron)
            for (seat, patron), amount in sorted(sums.items(), key=_in_order)
            if amount
        ]
    )


def _summed(rows: Iterable[tuple[int, str | None, int]]) -> tuple[PayerAmount, ...]:
    sums: dict[_Payer, int] = {}
    for seat, patron, amount in rows:
        sums[seat, patron] = sums.get((seat, patron), 0) + amount
    return _amounts(sums)


def _by_payer(lines: Iterable[SettlementLine]) -> ByPayer:
    sums: dict[_Payer, int] = {}
    for line in lines:
        if line.commission:
            payer = line.seat, line.patron
            sums[payer] = sums.get(payer, 0) + line.commission
    return sums


def seat_amounts(amounts: Iterable[tuple[int, int]]) -> tuple[SeatAmount, ...]:
    """Return the sums by seat, in seat order, without the seats that have none."""
    seats: dict[int, int] = {}
    for seat, amount in amounts:
        seats[seat] = seats.get(seat, 0) + amount
    return tuple(SeatAmount(seat=seat, amount=seats[seat]) for seat in sorted(seats) if seats[seat])


def _plus(amounts: Sequence[PayerAmount], more: Sequence[PayerAmount]) -> tuple[PayerAmount, ...]:
    return _summed((each.seat, each.patron, each.amount) for each in (*amounts, *more))


def _minus(amounts: Sequence[PayerAmount], less: Sequence[PayerAmount]) -> tuple[PayerAmount, ...]:
    """Subtract payer by payer; none falls below zero."""
    taken = {(each.seat, each.patron): each.amount for each in less}
    return _amounts(
        {
            payer: max(0, each.amount - taken.get(payer, 0))
            for each in amounts
            for payer in [(each.seat, each.patron)]
        }
    )


def commission_on(rulebook: Rulebook, wager: Wager) -> int:
    """Return the commission that a wager owes if it wins, by the best of its odds; else nothing."""
    bet = rulebook.bets.get(wager.bet)
    if bet is None or not bet.commission:
        return 0
    payout = rulebook.rounding.payout
    return max(
        commission_of(rulebook, scale(wager.stake, odds, unit=rulebook.unit, rounding=payout))
        for odds in bet.schedule.values()
        if odds is not None
    )


def commission_of(rulebook: Rulebook, winnings: int) -> int:
    """Return the commission on winnings, never more than the winnings."""
    terms = rulebook.commission
    if terms is None:
        return 0
    counted = -(-winnings // terms.block) * terms.block
    rounding = rulebook.rounding.commission
    return min(winnings, scale(counted, terms.rate, unit=rulebook.unit, rounding=rounding))
