"""Posts events: folds each event into balanced ledger entries and the next state. Pure.

    wagers placed         seat +stake     pool -stake
    a wager that loses    pool +stake     win -stake
    one that wins         pool +stake     win +winnings    seat -(stake + winnings)
    returned or void      pool +stake     seat -stake
    commission accrued    outstanding +c  commission -c
        collected         collected +c    outstanding -c
        reversed          commission +c   outstanding, uncollected or, where it was taken,
                                          refundable -c
        refunded          refundable +c   collected or recovered -c

Commission is a debt of the entry's coup and of the posting's seat and patron. Logs of 0.1.0 have
balances of seats, and their events no currency: what such an event reverses comes off what the seat
owes, whatever coup that is of.

A settlement is booked before commission, whatever the commission's timing; commission has events
of its own. A reversed settlement gets an entry of its own with every sign inverted: nothing is ever
edited. The state holds what an event does not carry, since a refund names its wager by id alone:
the layout of one coup, and the commission that seats owe by a log of 0.1.0.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from cage.ledger.chip_posting import CHIP_EVENT_TYPES, business_day_of, chip_entry
from cage.ledger.entries import LAID, LedgerEntry, Posting, PostingState, SeatCommission
from events.errors import LedgerError
from events.types import (
    BettingOpened,
    ChipEvent,
    CommissionAccrued,
    CommissionCollected,
    CommissionEvent,
    CommissionPrepaid,
    CommissionRecovered,
    CommissionRefunded,
    CommissionReturned,
    CommissionReversed,
    CommissionUncollected,
    CoupSettled,
    CoupVoided,
    HandsCorrected,
    PayerAmount,
    RulebookAdopted,
    Settlement,
    SettlementLine,
    ShoeLoaded,
    TableEvent,
    Wager,
    WagerCorrected,
    WagersPlaced,
    WagersVoided,
    WagersWithdrawn,
)

__all__ = [
    "POSTED_EVENT_TYPES",
    "REVERSAL",
    "SettlementLookup",
    "business_day",
    "post",
    "reversal_ref",
    "reversed_postings",
]

REVERSAL: Final = "reversal"
"""The kind of an entry that reverses a settlement; any other kind is the event's type."""

# The table takes this commission with the settlement: nobody ever owes it.
_TAKEN_WITH_SETTLEMENT: Final = frozenset({"deduct", "prepaid"})


SettlementLookup = Callable[[str], Sequence[Posting] | None]
"""Returns the postings of a settlement by its id; None if it was never booked."""


def post(
    books: PostingState, event: TableEvent, *, event_id: str, recall: SettlementLookup
) -> tuple[PostingState, tuple[LedgerEntry, ...]]:
    """Return the state after an event, and the event's entries; none if no value moves.

    Args:
        books: the state before the event.
        event: what happened.
        event_id: the id in the event's envelope.
        recall: finds the postings of earlier settlements.

    Raises:
        LedgerError: the event contradicts itself or what was booked; nothing is booked.
    """
    rule = _RULES.get(type(event))
    if rule is None:
        return books, ()
    if isinstance(event, CoupSettled):
        return books, _settled(event.settlement, books.currency, recall)
    if isinstance(event, ChipEvent):
        return books, (chip_entry(event, ref=event_id, shoe=books.shoe),)
    books, postings = rule(books, event)
    if postings is None:
        return books, ()
    coup = getattr(event, "coup", None) or ""
    entry = LedgerEntry(
        ref=event_id,
        kind=event.TYPE,
        coup=coup,
        shoe=_shoe_of(coup) or books.shoe,
        currency=event.currency if isinstance(event, CommissionEvent) else books.currency,
        postings=_merged(postings),
    )
    return books, (entry,)


def business_day(books: PostingState, at: str) -> str:
    """Return the business day to book on, YYYY-MM-DD: the day of the shoe on the table.

    Args:
        books: the state after the event.
        at: when the table appended the event; its day counts before the first shoe.
    """
    return business_day_of(books.shoe) if books.shoe else at[: len("YYYY-MM-DD")]


def reversed_postings(postings: Iterable[Posting]) -> tuple[Posting, ...]:
    """Return the postings with every sign inverted."""
    return tuple(replace(each, amount=-each.amount) for each in postings)


def reversal_ref(settlement_id: str) -> str:
    """Return the reference of the one entry that can reverse a settlement."""
    return f"{settlement_id}/{REVERSAL}"


# ---- settlements ----


def _settled(
    settlement: Settlement, currency: str, recall: SettlementLookup
) -> tuple[LedgerEntry, ...]:
    entry = LedgerEntry(
        ref=settlement.settlement_id,
        kind=CoupSettled.TYPE,
        coup=settlement.coup,
        shoe=_shoe_of(settlement.coup),
        phase=settlement.phase,
        rulebook=settlement.rulebook,
        currency=currency,
        postings=_merged(_of_lines(settlement)),
    )
    if settlement.reverses is None:
        return (entry,)
    before = recall(settlement.reverses)
    if before is None:
        raise LedgerError(
            f"settlement {entry.ref} takes back {settlement.reverses}, which was never booked"
        )
    back = replace(
        entry,
        ref=reversal_ref(settlement.reverses),
        kind=REVERSAL,
        reverses=settlement.reverses,
        postings=tuple(sorted(reversed_postings(before))),
    )
    return (back, entry)


def _of_lines(settlement: Settlement) -> list[Posting]:
    said = (settlement.staked, settlement.paid, settlement.commission)
    lines = settlement.lines
    summed = (
        sum(line.stake for line in lines if line.kind != "promo"),
        sum(line.paid for line in lines),
        sum(line.commission for line in lines),
    )
    if said != summed:
        raise LedgerError(
            f"settlement {settlement.settlement_id} says staked, paid, commission {said}, "
            f"and its lines come to {summed}"
        )
    return [posting for line in lines for posting in _of_line(settlement, line)]


def _of_line(settlement: Settlement, line: SettlementLine) -> Iterable[Posting]:
    token = line.kind == "promo"
    giver, lies = LAID[line.kind]
    lost = line.stake if line.result == "lose" and not token else 0
    back = 0 if token else line.stake - lost
    handed = line.paid + line.commission
    if handed != back + line.winnings:
        raise LedgerError(
            f"settlement {settlement.settlement_id}: wager {line.wager} is paid {line.paid} and "
            f"keeps back {line.commission}, but {back + line.winnings} is due"
        )
    where, whose = (line.seat, line.bet, line.result), line.patron or ""
    yield Posting(lies, *where, line.stake, whose)
    if token:
        yield Posting(
            "promo" if line.result == "void" else "promo_used", *where, -line.stake, whose
        )
        giver = "seat"  # the house pays a token's winnings in chips
    yield Posting(giver, *where, -handed, whose)
    yield Posting("win", *where, line.winnings - lost, whose)


# ---- wagers ----

# The state, and the entry's postings: empty for an entry without any, None for no entry.
_Booked = tuple[PostingState, Iterable[Posting] | None]


def _lay(wagers: Iterable[Wager], sign: int, result: str = "") -> Iterable[Posting]:
    for wager in wagers:
        giver, lies = LAID[wager.kind]
        where, whose = (wager.seat, wager.bet, result), wager.patron or ""
        yield Posting(giver, *where, sign * wager.stake, whose)
        yield Posting(lies, *where, -sign * wager.stake, whose)


def _placed(books: PostingState, event: WagersPlaced) -> _Booked:
    return replace(books, layout=(*books.layout, *event.wagers)), _lay(event.wagers, 1)


def _withdrawn(books: PostingState, event: WagersWithdrawn) -> _Booked:
    books, gone = _taken(books, event.wagers)
    return books, _lay(gone, -1)


def _refunded(books: PostingState, event: WagersVoided | CoupVoided) -> _Booked:
    books, back = _taken(books, [refund.wager for refund in event.refunds])
    for wager, refund in zip(back, event.refunds, strict=True):
        if (wager.seat, wager.stake) != (refund.seat, refund.stake):
            raise LedgerError(
                f"wager {wager.id} of seat {wager.seat} is {wager.stake}, "
                f"and {refund.stake} goes back to seat {refund.seat}"
            )
    return books, _lay(back, -1, "void")


def _taken(books: PostingState, names: Iterable[str]) -> tuple[PostingState, list[Wager]]:
    """Take wagers off the layout, each once; return the state without them, and the wagers."""
    layout = {wager.id: wager for wager in books.layout}
    taken: list[Wager] = []
    for name in names:
        wager = layout.pop(name, None)
        if wager is None:
            raise LedgerError(f"wager {name} goes back, and does not lie on the layout")
        taken.append(wager)
    return replace(books, layout=tuple(layout.values())), taken


def _corrected(books: PostingState, event: WagerCorrected) -> _Booked:
    """Move the chips at once; the settlement's own reversal follows in a later event."""
    layout = books.layout
    was, now = ((each,) if each else () for each in (event.was, event.wager))
    if any(wager.id == each.id for wager in layout for each in was):
        others = (wager for wager in layout if wager.id not in {each.id for each in was})
        layout = (*others, *now)
    elif now and not was:
        layout = (*layout, *now)
    return replace(books, layout=layout), [*_lay(was, -1), *_lay(now, 1)]


# ---- commission ----

# (account, sign) of each amount; a debit is positive.
_Sides = tuple[tuple[str, int], ...]
_PREPAID: Final[_Sides] = (("seat", 1), ("laid", -1))
_RETURNED: Final[_Sides] = (("laid", 1), ("seat", -1))
_ACCRUED: Final[_Sides] = (("outstanding", 1), ("commission", -1))
_TAKEN: Final[_Sides] = (("collected", 1), ("outstanding", -1))
_COLLECTED: Final[dict[str, _Sides]] = {
    "deducted": _TAKEN,
    "paid": _TAKEN,
    "prepaid": (*_TAKEN, *_RETURNED),
}
_UNCOLLECTED: Final[_Sides] = (("uncollected", 1), ("outstanding", -1))
_RECOVERED: Final[_Sides] = (("recovered", 1), ("uncollected", -1))
# The parts of a reversed debt, each with the account that it leaves; what is left had been taken.
_STILL_OWED: Final = ("outstanding", "uncollected")
_OWING: Final = frozenset(SeatCommission.__struct_fields__) - {"seat"}


def _by(sides: _Sides) -> Callable[[PostingState, Any], _Booked]:
    return lambda books, event: _moved(books, event, sides)


def _collected(books: PostingState, event: CommissionCollected) -> _Booked:
    sides = _COLLECTED.get(event.method)
    if sides is None:
        raise LedgerError(f"commission collected in an unknown way, {event.method!r}")
    return _moved(books, event, sides)


def _reversed(books: PostingState, event: CommissionReversed) -> _Booked:
    """Cancel what is still owed or uncollected; what was taken is to be given back."""
    if not event.currency:
        return _reversed_balances(books, event)
    postings = []
    for each in event.amounts:
        parts = {name: getattr(each, name) for name in _STILL_OWED}
        parts["refundable"] = each.amount - sum(parts.values())
        if parts["refundable"] < each.recovered:
            raise LedgerError(
                f"seat {each.seat}: {each.amount} of commission is reversed, and its parts are more"
            )
        postings += [_of_payer("commission", each, each.amount)]
        postings += [_of_payer(account, each, -amount) for account, amount in parts.items()]
    return books, postings


def _given_back(books: PostingState, event: CommissionRefunded) -> _Booked:
    return books, [
        _of_payer(account, each, amount)
        for each in event.amounts
        for account, amount in (
            ("refundable", each.amount),
            ("recovered", -each.recovered),
            ("collected", each.recovered - each.amount),
        )
    ]


def _of_payer(account: str, payer: PayerAmount, amount: int) -> Posting:
    return Posting(account, payer.seat, "", "", amount, payer.patron or "")


def _reversed_balances(books: PostingState, event: CommissionReversed) -> _Booked:
    """Cancel what the seat still owes or has not paid, and give back what was collected."""
    postings: list[Posting] = []
    for amount in event.amounts:
        owing = next((each for each in books.owing if each.seat == amount.seat), SeatCommission(0))
        sides = [("commission", amount.amount)]
        left = amount.amount
        if event.timing not in _TAKEN_WITH_SETTLEMENT:
            for account in ("outstanding", "uncollected"):
                off = min(left, getattr(owing, account))
                sides.append((account, -off))
                left -= off
        collected = min(left, owing.collected)
        sides += [("collected", -collected), ("recovered", collected - left)]
        made = [Posting(account, amount.seat, "", "", moved) for account, moved in sides]
        books = _owed(books, made)
        postings += made
    return books, postings


def _moved(books: PostingState, event: Any, sides: _Sides) -> _Booked:
    postings = [
        _of_payer(account, each, sign * each.amount)
        for each in event.amounts
        for account, sign in sides
    ]
    return books if event.currency else _owed(books, postings), postings


def _owed(books: PostingState, postings: Iterable[Posting]) -> PostingState:
    """Return the state with the postings applied to the seats' commission."""
    seats = {each.seat: each for each in books.owing}
    for posting in postings:
        if posting.account in _OWING:
            was = seats.get(posting.seat, SeatCommission(posting.seat))
            now = getattr(was, posting.account) + posting.amount
            seats[posting.seat] = replace(was, **{posting.account: now})
    return replace(books, owing=tuple(seats[seat] for seat in sorted(seats)))


# ---- all ----


def _merged(postings: Iterable[Posting]) -> tuple[Posting, ...]:
    """Merge postings of one account, seat, bet, result and patron; drop zero amounts."""
    sums: dict[tuple[str, int, str, str, str], int] = {}
    for each in postings:
        key = (each.account, each.seat, each.bet, each.result, each.patron)
        sums[key] = sums.get(key, 0) + each.amount
    made = (Posting(*key[:-1], amount, key[-1]) for key, amount in sorted(sums.items()) if amount)
    return tuple(made)


def _shoe_of(coup: str) -> str:
    return coup.partition("/")[0]


_RULES: Final[dict[type[TableEvent], Callable[[PostingState, Any], _Booked]]] = {
    ShoeLoaded: lambda books, event: (replace(books, shoe=event.shoe), None),
    RulebookAdopted: lambda books, event: (replace(books, currency=event.currency), None),
    BettingOpened: lambda books, _: (replace(books, layout=()), None),
    WagersPlaced: _placed,
    WagersWithdrawn: _withdrawn,
    WagersVoided: _refunded,
    CoupVoided: _refunded,
    WagerCorrected: _corrected,
    CommissionPrepaid: _by(_PREPAID),
    CommissionReturned: _by(_RETURNED),
    CommissionAccrued: _by(_ACCRUED),
    CommissionCollected: _collected,
    CommissionUncollected: _by(_UNCOLLECTED),
    CommissionRecovered: _by(_RECOVERED),
    CommissionReversed: _reversed,
    CommissionRefunded: _given_back,
    CoupSettled: lambda books, _: (books, None),  # `post` books it itself
    HandsCorrected: lambda books, event: (books, () if event.counts_again else None),
    **dict.fromkeys(CHIP_EVENT_TYPES, lambda books, _: (books, None)),  # booked whole
}

POSTED_EVENT_TYPES: Final = frozenset(kind.TYPE for kind in _RULES)
"""The types of the events that `post` reads."""
