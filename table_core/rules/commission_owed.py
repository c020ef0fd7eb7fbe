"""Commission: what winners owe, what is prepaid, and the balances that result. Pure.

The commission on a win: the house's part of the winnings, and its rounding.
`table_core.rules.commission_owed` records who owes it and when it is collected.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from events.errors import OurBug
from events.money import scale
from events.types.commission import (
    CommissionAccrued,
    CommissionCollected,
    CommissionPrepaid,
    CommissionRecovered,
    CommissionReturned,
    CommissionReversed,
    CommissionUncollected,
    SeatAmount,
)
from events.types.table import Settlement, SettlementLine, TableEvent, Wager
from table_core.rules.rulebook import CommissionTiming, Rulebook

__all__ = [
    "AmountBySeat",
    "CommissionBook",
    "amount_changes",
    "commission_of",
    "commission_on",
    "correction_commission",
    "fold_commission",
    "prepaid_changes",
    "prepaid_commission",
    "seat_amounts",
    "settlement_commission",
]

AmountBySeat = Mapping[int, int]
_AT_ONCE: Final = {CommissionTiming.DEDUCT: "deducted", CommissionTiming.PREPAID: "prepaid"}
_AT_ONCE_WORDS: Final = frozenset(timing.value for timing in _AT_ONCE)


class CommissionBook(Struct, frozen=True, gc=False, kw_only=True):
    """The table's commission balances, in minor units.

    Args:
        accrued: owed by all settlements so far.
        reversed_: the part of `accrued` that was reversed with its settlement.
        collected: taken in any way, and kept.
        recovered: paid after the house had given it up.
        outstanding: by seat, owed and not yet taken.
        uncollected: by seat, given up and still unpaid.
        laid: by seat, prepaid and lying next to the wagers of the coup in progress.
    """

    accrued: int = 0
    reversed_: int = 0
    collected: int = 0
    recovered: int = 0
    outstanding: tuple[SeatAmount, ...] = ()
    uncollected: tuple[SeatAmount, ...] = ()
    laid: tuple[SeatAmount, ...] = ()

    @property
    def outstanding_total(self) -> int:
        """The amount that all seats owe."""
        return _sum(self.outstanding)

    @property
    def uncollected_total(self) -> int:
        """The amount that was given up and is still unpaid."""
        return _sum(self.uncollected)

    @property
    def reconciles(self) -> bool:
        """Whether the identity of the house rules holds."""
        settled = self.collected + self.recovered
        return (
            self.accrued - self.reversed_
            == settled + self.outstanding_total + self.uncollected_total
        )


def seat_amounts(seats: AmountBySeat) -> tuple[SeatAmount, ...]:
    """Return the amounts by seat, in seat order, without the seats that have none."""
    return tuple(SeatAmount(seat=seat, amount=seats[seat]) for seat in sorted(seats) if seats[seat])


def prepaid_commission(rulebook: Rulebook, wagers: Iterable[Wager]) -> tuple[SeatAmount, ...]:
    """Return the prepaid commission by seat: for each wager, what it would owe if it won.

    Empty where the rulebook does not take commission in advance (seed 3).
    """
    terms = rulebook.commission
    if terms is None or terms.timing is not CommissionTiming.PREPAID:
        return ()
    seats: dict[int, int] = {}
    for wager in wagers:
        seats[wager.seat] = seats.get(wager.seat, 0) + commission_on(rulebook, wager)
    return seat_amounts(seats)


def settlement_commission(
    rulebook: Rulebook,
    book: CommissionBook,
    settlement: Settlement,
    *,
    reversed_: Settlement | None = None,
) -> tuple[TableEvent, ...]:
    """Return the commission events of a settlement: accrued, taken at once or left outstanding."""
    terms = rulebook.commission
    if terms is None:
        return ()
    owed = seat_amounts(_by_seat(settlement.lines))
    facts: list[TableEvent] = []
    if reversed_ is not None and (taken_back := seat_amounts(_by_seat(reversed_.lines))):
        facts.append(
            CommissionReversed(
                coup=settlement.coup,
                settlement_id=reversed_.settlement_id,
                timing=terms.timing.value,
                amounts=taken_back,
            )
        )
        if terms.timing is CommissionTiming.PREPAID:
            # It lies next to its wager again, until that is settled again or returned.
            facts.append(CommissionPrepaid(coup=settlement.coup, amounts=taken_back))
    if owed:
        facts.append(
            CommissionAccrued(
                coup=settlement.coup,
                settlement_id=settlement.settlement_id,
                timing=terms.timing.value,
                amounts=owed,
            )
        )
    if owed and terms.timing in _AT_ONCE:
        method = _AT_ONCE[terms.timing]
        facts.append(CommissionCollected(coup=settlement.coup, method=method, amounts=owed))
    # Only the last phase settles Banker wagers; prepaid commission that was not taken is
    # returned with it.
    back = _minus(book.laid, owed)
    if back and settlement.winner is not None:
        facts.append(CommissionReturned(coup=settlement.coup, amounts=back))
    return tuple(facts)


def correction_commission(
    was: Rulebook,
    now: Rulebook,
    book: CommissionBook,
    settlement: Settlement,
    *,
    reversed_: Settlement | None,
) -> tuple[TableEvent, ...]:
    """Return the commission events of a correction to a coup that is over.

    All of its commission is reversed and accrued again. Where commission is marked, what a seat had
    paid counts towards what it owes now, and what was given up stays given up. So chips move, and
    seats are asked to pay, only for the difference.

    Args:
        was: the rulebook of the reversed settlement.
        now: the rulebook of the new settlement.
        book: the balances before both.
        settlement: the new settlement.
        reversed_: the settlement that it reverses.
    """
    facts: list[TableEvent] = []
    coup = settlement.coup
    timing = now.commission.timing if now.commission else None
    before = _by_seat(reversed_.lines) if reversed_ and was.commission else {}
    owed = seat_amounts(_by_seat(settlement.lines)) if timing else ()
    if reversed_ and was.commission and (taken_back := seat_amounts(before)):
        facts.append(
            CommissionReversed(
                coup=coup,
                settlement_id=reversed_.settlement_id,
                timing=was.commission.timing.value,
                amounts=taken_back,
            )
        )
    if not owed or timing is None:
        return tuple(facts)
    if timing is CommissionTiming.PREPAID:
        facts.append(CommissionPrepaid(coup=coup, amounts=owed))
    facts.append(
        CommissionAccrued(
            coup=coup,
            settlement_id=settlement.settlement_id,
            timing=timing.value,
            amounts=owed,
        )
    )
    if timing in _AT_ONCE:
        facts.append(CommissionCollected(coup=coup, method=_AT_ONCE[timing], amounts=owed))
    elif was.commission and was.commission.timing not in _AT_ONCE:
        facts += _carried_over(book, coup, before, owed)
    return tuple(facts)


def _carried_over(
    book: CommissionBook, coup: str, before: AmountBySeat, owed: Sequence[SeatAmount]
) -> list[TableEvent]:
    """Carry over marked commission that was paid or given up before the correction."""
    paid: dict[int, int] = {}
    given_up: dict[int, int] = {}
    for each in owed:
        taken = before.get(each.seat, 0)
        taken -= min(taken, _of(book.outstanding, each.seat))
        lost = min(taken, _of(book.uncollected, each.seat))
        paid[each.seat] = min(each.amount, taken - lost)
        given_up[each.seat] = min(each.amount - paid[each.seat], lost)
    facts: list[TableEvent] = []
    if kept := seat_amounts(paid):
        facts.append(CommissionCollected(coup=coup, method="paid", amounts=kept))
    if lost_again := seat_amounts(given_up):
        reason = f"given up before the correction of coup {coup}"
        facts.append(CommissionUncollected(amounts=lost_again, reason=reason))
    return facts


def prepaid_changes(
    rulebook: Rulebook, before: Iterable[Wager], after: Iterable[Wager]
) -> tuple[tuple[SeatAmount, ...], tuple[SeatAmount, ...]]:
    """Return, by seat, the prepaid commission to add and to return after wagers were corrected."""
    return amount_changes(prepaid_commission(rulebook, before), prepaid_commission(rulebook, after))


def amount_changes(
    was: Sequence[SeatAmount], now: Sequence[SeatAmount]
) -> tuple[tuple[SeatAmount, ...], tuple[SeatAmount, ...]]:
    """Return, by seat, the amounts to add and to return to get from `was` to `now`."""
    return _minus(now, was), _minus(was, now)


def fold_commission(book: CommissionBook, event: TableEvent) -> CommissionBook:
    """Return the balances after one of the commission's events."""
    handler = _FOLDS.get(type(event))
    if handler is None:
        raise OurBug(f"{event.TYPE} is no event of the commission")
    return handler(book, event)


def _accrued(book: CommissionBook, event: CommissionAccrued) -> CommissionBook:
    return replace(
        book,
        accrued=book.accrued + _sum(event.amounts),
        outstanding=_plus(book.outstanding, event.amounts),
    )


def _reversed(book: CommissionBook, event: CommissionReversed) -> CommissionBook:
    """Cancel what is still owed or given up; return what was already taken."""
    left, owed, given_up = event.amounts, book.outstanding, book.uncollected
    if event.timing not in _AT_ONCE_WORDS:
        owed, left = _minus(owed, left), _minus(left, owed)
        given_up, left = _minus(given_up, left), _minus(left, given_up)
    back = _sum(left)
    recovered = max(0, back - book.collected)
    return replace(
        book,
        reversed_=book.reversed_ + _sum(event.amounts),
        collected=book.collected - (back - recovered),
        recovered=book.recovered - recovered,
        outstanding=owed,
        uncollected=given_up,
    )


def _collected(book: CommissionBook, event: CommissionCollected) -> CommissionBook:
    laid = _minus(book.laid, event.amounts) if event.method == "prepaid" else book.laid
    return replace(
        book,
        collected=book.collected + _sum(event.amounts),
        outstanding=_minus(book.outstanding, event.amounts),
        laid=laid,
    )


def _uncollected(book: CommissionBook, event: CommissionUncollected) -> CommissionBook:
    return replace(
        book,
        outstanding=_minus(book.outstanding, event.amounts),
        uncollected=_plus(book.uncollected, event.amounts),
    )


def _recovered(book: CommissionBook, event: CommissionRecovered) -> CommissionBook:
    return replace(
        book,
        recovered=book.recovered + _sum(event.amounts),
        uncollected=_minus(book.uncollected, event.amounts),
    )


_FOLDS: Final[dict[type[TableEvent], Callable[[CommissionBook, Any], CommissionBook]]] = {
    CommissionAccrued: _accrued,
    CommissionReversed: _reversed,
    CommissionCollected: _collected,
    CommissionPrepaid: lambda book, event: replace(book, laid=_plus(book.laid, event.amounts)),
    CommissionReturned: lambda book, event: replace(book, laid=_minus(book.laid, event.amounts)),
    CommissionUncollected: _uncollected,
    CommissionRecovered: _recovered,
}


def _by_seat(lines: Iterable[SettlementLine]) -> AmountBySeat:
    seats: dict[int, int] = {}
    for line in lines:
        seats[line.seat] = seats.get(line.seat, 0) + line.commission
    return seats


def _sum(amounts: Sequence[SeatAmount]) -> int:
    return sum(each.amount for each in amounts)


def _of(amounts: Sequence[SeatAmount], seat: int) -> int:
    return next((each.amount for each in amounts if each.seat == seat), 0)


def _plus(amounts: Sequence[SeatAmount], more: Sequence[SeatAmount]) -> tuple[SeatAmount, ...]:
    seats = {each.seat: each.amount for each in amounts}
    for each in more:
        seats[each.seat] = seats.get(each.seat, 0) + each.amount
    return seat_amounts(seats)


def _minus(amounts: Sequence[SeatAmount], less: Sequence[SeatAmount]) -> tuple[SeatAmount, ...]:
    """Subtract seat by seat; no seat falls below zero."""
    taken = {each.seat: each.amount for each in less}
    return seat_amounts(
        {each.seat: max(0, each.amount - taken.get(each.seat, 0)) for each in amounts}
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
