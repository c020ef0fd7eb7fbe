"""The ledger's commission by debt, held against the table's own."""

import pytest

from cage.ledger.entries import Posting
from cage.reports.commission_debts import CommissionDebts, DebtFigures

ONE, TWO = "20261127-01/1", "20261127-01/2"


def _posting(account: str, amount: int, patron: str = "", seat: int = 1) -> Posting:
    return Posting(account, seat, "", "", amount, patron)


def _debt(coup: str = ONE, seat: int = 1, patron: str = "", **parts: int) -> DebtFigures:
    return DebtFigures(coup=coup, seat=seat, patron=patron, **parts)


GIVEN_UP = (_posting("uncollected", 100, "a"), _posting("commission", -100, "a"))


@pytest.mark.parametrize(
    ("entries", "debts", "said"),
    [
        ([(ONE, "AUD", GIVEN_UP)], [_debt(patron="a", uncollected=100)], None),
        ([(ONE, "AUD", GIVEN_UP)], [_debt(patron="b", uncollected=100)], "patron a: uncollected"),
        ([(ONE, "AUD", GIVEN_UP)], [_debt(TWO, patron="a", uncollected=100)], "patron a: uncoll"),
        ([(ONE, "AUD", GIVEN_UP)], [_debt(patron="a", recovered=100)], "patron a: uncollected"),
        ([(ONE, "AUD", GIVEN_UP)], [], "100 in the ledger and 0 by the table's own"),
        ([(ONE, "AUD", [_posting("recovered", 5)])], [], "seat 1: recovered 5 in the ledger"),
        ([(ONE, "AUD", [_posting("refundable", -5)])], [_debt(refundable=5)], None),
        ([(ONE, "AUD", GIVEN_UP), (ONE, "AUD", [_posting("uncollected", -100, "a")])], [], None),
        ([(ONE, "", [_posting("outstanding", 7)]), (TWO, "", [_posting("outstanding", 3)])],
         [_debt(TWO, outstanding=10)], None),
        ([(ONE, "", [_posting("outstanding", 7)])], [_debt(seat=2, outstanding=7)],
         "seat 1: outstanding 7 in the ledger and 0"),
        ([(ONE, "", [_posting("recovered", 7)])], [], None),
    ],
)  # fmt: skip
def test_a_debt_is_the_same_in_the_ledger_and_at_the_table(
    entries: list[tuple[str, str, list[Posting]]], debts: list[DebtFigures], said: str | None
) -> None:
    held = CommissionDebts()
    for entry in entries:
        held.take(*entry)
    difference = held.difference(debts)
    if said is None:
        assert difference is None
    else:
        assert difference is not None
        assert said in difference[1]
