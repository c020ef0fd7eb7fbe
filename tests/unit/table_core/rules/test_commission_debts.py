"""A debt of commission: every part of it times every event, and logs of 0.1.0 as they were."""

from typing import Any

import pytest
from msgspec.structs import replace

from events.errors import OurBug
from events.types import PayerAmount, ReversedAmount, commission
from table_core.replay.commission_in_doubt import CommissionInDoubt
from table_core.rules.commission_owed import (
    MOVES,
    CommissionBook,
    CommissionTotals,
    Debt,
    Part,
    fold_commission,
)

# Where 100 are, and where each event takes them: an event that is not named cannot take them.
LIFE = """
none          commission_prepaid laid, commission_accrued outstanding
laid          commission_returned none, commission_collected none
outstanding   commission_collected collected, commission_uncollected uncollected
outstanding   commission_reversed none
collected     commission_reversed refundable
uncollected   commission_recovered recovered, commission_reversed none
recovered     commission_reversed refundable
refundable    commission_refunded none
"""
RIGHT = {
    (Part(line.split()[0]), move.split()[-2]): Part(move.split()[-1])
    for line in LIFE.strip().splitlines()
    for move in line.split(",")
}
OF: dict[str, Any] = {"coup": "c/1", "currency": "AUD"}
OWED = (PayerAmount(seat=1, amount=100, patron="p"),)
PLAIN: dict[str, Any] = OF | {"amounts": OWED}
PARTS = {"outstanding", "uncollected", "recovered"}


def event(kind: str, part: Part) -> Any:
    """Make an event about all of a debt that is in this part."""
    named = {part.value: 100} if part.value in PARTS else {}
    split = OF | {"amounts": (ReversedAmount(seat=1, amount=100, patron="p", **named),)}
    method = "prepaid" if part is Part.LAID else "paid"
    made: dict[str, Any] = {
        "commission_prepaid": lambda: commission.CommissionPrepaid(**PLAIN),
        "commission_returned": lambda: commission.CommissionReturned(**PLAIN),
        "commission_accrued": lambda: commission.CommissionAccrued(
            settlement_id="s", timing="per_shoe", **PLAIN
        ),
        "commission_collected": lambda: commission.CommissionCollected(method=method, **PLAIN),
        "commission_uncollected": lambda: commission.CommissionUncollected(reason="r", **PLAIN),
        "commission_recovered": lambda: commission.CommissionRecovered(**PLAIN),
        "commission_reversed": lambda: commission.CommissionReversed(
            settlement_id="s", timing="per_shoe", **split
        ),
        "commission_refunded": lambda: commission.CommissionRefunded(
            settlement_id="s", method="paid", reason="r", **split
        ),
    }
    return made[kind]()


KINDS = sorted({kind for _, kind in RIGHT})


def where(part: Part) -> CommissionBook:
    """Return a book in which 100 are in this part, and nothing is anywhere else."""
    debt = Debt(coup="c/1", seat=1, patron="p", currency="AUD")
    totals = CommissionTotals("AUD")
    if part is Part.LAID:
        # What is laid pays what is owed: the debt is there when it is taken.
        return CommissionBook(laid=OWED)
    if part in {Part.COLLECTED, Part.RECOVERED}:
        totals = replace(totals, **{part.value: 100})
    debts = (replace(debt, **{part.value: 100}),) if part.value in Debt.__struct_fields__ else ()
    return CommissionBook(totals=(totals,), debts=debts)


def test_the_table_is_the_life_of_a_debt() -> None:
    assert MOVES == RIGHT


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", Part, ids=lambda part: part.value)
def test_every_part_times_every_event(part: Part, kind: str) -> None:
    before, target = where(part), RIGHT.get((part, kind))
    if (part, kind) == (Part.LAID, "commission_collected"):
        before = replace(where(Part.OUTSTANDING), laid=OWED)
    # A debt may have parts in several places: what begins or ends elsewhere leaves this one alone.
    begins = RIGHT.get((Part.NONE, kind))
    if target is None and begins is None:
        with pytest.raises(OurBug):
            fold_commission(before, event(kind, part))
        return
    after = fold_commission(before, event(kind, part))
    place = target or begins
    for kept in PARTS | {"refundable"}:
        held = sum(getattr(debt, kept) for debt in after.debts)
        stays = target is None and part.value == kept
        assert held == 100 * ((place is Part(kept)) + stays), kept
    assert sum(each.amount for each in after.laid) == 100 * (
        (place is Part.LAID) + (part is Part.LAID and target is None)
    )


# ---- balances of seats, as 0.1.0 recorded them ----


def old(kind: type[Any], seat: int, amount: int, coup: str = "", **more: Any) -> Any:
    amounts = (ReversedAmount(seat=seat, amount=amount),)
    if kind is not commission.CommissionReversed:
        amounts = (PayerAmount(seat=seat, amount=amount),)  # type: ignore[assignment]  # a base
    return kind(coup=coup, currency="", amounts=amounts, **more)


def balances(book: CommissionBook) -> list[int]:
    places = (book.outstanding, book.uncollected)
    held = [sum(each.amount for each in place) for place in places]
    return [book.accrued, book.reversed_, book.collected, book.recovered, *held]


def test_a_log_of_old_comes_to_the_balances_that_its_build_had() -> None:
    accrued = {"settlement_id": "s", "timing": "per_shoe"}
    rows: list[tuple[Any, list[int]]] = [
        (old(commission.CommissionAccrued, 1, 100, "c/1", **accrued), [100, 0, 0, 0, 100, 0]),
        (old(commission.CommissionUncollected, 1, 100, reason="r"), [100, 0, 0, 0, 0, 100]),
        (old(commission.CommissionAccrued, 1, 100, "c/2", **accrued), [200, 0, 0, 0, 100, 100]),
        # Whatever coup it is of, the seat's outstanding goes first.
        (old(commission.CommissionReversed, 1, 150, "c/1", **accrued), [200, 150, 0, 0, 0, 50]),
        (old(commission.CommissionRecovered, 1, 20), [200, 150, 0, 20, 0, 30]),
        (old(commission.CommissionReversed, 1, 40, "c/2", **accrued), [200, 190, 0, 10, 0, 0]),
        (old(commission.CommissionAccrued, 2, 30, "c/3", **accrued), [230, 190, 0, 10, 30, 0]),
        (old(commission.CommissionCollected, 2, 30, method="paid"), [230, 190, 30, 10, 0, 0]),
    ]
    book = CommissionBook()
    for event_, expected in rows:
        book = fold_commission(book, event_)
        assert balances(book) == expected
        assert book.reconciles


A, R = commission.CommissionAccrued, commission.CommissionReversed
MARKED, DEDUCTED = ({"settlement_id": "s", "timing": timing} for timing in ("per_shoe", "deduct"))
# Events of 0.1.0, and the coups whose commission it told wrong by them.
DOUBTFUL: dict[str, tuple[list[Any], tuple[str, ...]]] = {
    "an ordinary reversal": ([old(A, 1, 9, "c/1", **MARKED), old(R, 1, 9, "c/1", **MARKED)], ()),
    "a void cancels what the seat owes for another coup": (
        [
            old(A, 1, 100, "c/1", **MARKED),
            old(commission.CommissionUncollected, 1, 100, reason="r"),
            old(A, 1, 100, "c/2", **MARKED),
            old(R, 1, 100, "c/1", **MARKED),
        ],
        ("c/1", "c/2"),
    ),
    "what is owed becomes deducted": (
        [
            old(A, 1, 50, "c/1", **MARKED),
            old(R, 1, 50, "c/1", **MARKED),
            old(A, 1, 50, "c/1", **DEDUCTED),
        ],
        ("c/1",),
    ),
    "what is paid becomes deducted": (
        [
            old(A, 1, 50, "c/1", **MARKED),
            old(commission.CommissionCollected, 1, 50, method="paid"),
            old(R, 1, 50, "c/1", **MARKED),
            old(A, 1, 50, "c/1", **DEDUCTED),
        ],
        (),
    ),
    "what was deducted becomes owed": (
        [
            old(A, 1, 50, "c/1", **DEDUCTED),
            old(commission.CommissionCollected, 1, 50, "c/1", method="deducted"),
            old(R, 1, 50, "c/1", **DEDUCTED),
            old(A, 1, 50, "c/1", **MARKED),
        ],
        ("c/1",),
    ),
    "what was recovered goes back out of another seat's payment": (
        [
            old(A, 1, 50, "c/1", **MARKED),
            old(commission.CommissionUncollected, 1, 50, reason="r"),
            old(commission.CommissionRecovered, 1, 50),
            old(A, 2, 50, "c/2", **MARKED),
            old(commission.CommissionCollected, 2, 50, method="paid"),
            old(R, 1, 50, "c/1", **MARKED),
        ],
        ("c/1",),
    ),
}


@pytest.mark.parametrize(("events", "coups"), DOUBTFUL.values(), ids=DOUBTFUL)
def test_what_an_earlier_build_told_wrong_is_named(events: list[Any], coups: tuple[str]) -> None:
    book, doubt = CommissionBook(), CommissionInDoubt()
    for each in events:
        doubt.take(book, each)
        book = fold_commission(book, each)
    assert doubt.coups == coups
