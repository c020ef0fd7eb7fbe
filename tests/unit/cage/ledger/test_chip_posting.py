"""The table's chips in the books: postings by hand, and a fact that contradicts itself."""

import pytest
from msgspec.structs import replace

from cage.ledger.chip_posting import business_day_of, chip_entry, decode_chip_event
from cage.ledger.entries import ACCOUNTS
from events.errors import LedgerError
from events.types import (
    ChipEvent,
    ChipsCorrected,
    ChipsCounted,
    ChipsCredited,
    ChipsFilled,
    DropCounted,
    FloatClosed,
    FloatOpened,
    Pieces,
    ShoeLoaded,
)
from tests.support.cage.ledgers import MemoryLedger
from tests.support.table.chip_day import chip_day

FLOAT, SIGNED, TEN = "20261127-01", ("s-1", "d-4"), (Pieces(100, 10),)

OPENED = FloatOpened(float_id=FLOAT, amount=1_000, signed=SIGNED, currency="AUD", chips=TEN)
FILLED = ChipsFilled(float_id=FLOAT, amount=1_000, signed=SIGNED, slip="F-1", chips=TEN)
CREDITED = ChipsCredited(float_id=FLOAT, amount=1_000, signed=SIGNED, slip="C-1", chips=TEN)
COUNTED = ChipsCounted(float_id=FLOAT, amount=1_000, signed=SIGNED, chips=TEN)
CLOSED = FloatClosed(float_id=FLOAT, amount=1_000, signed=SIGNED, chips=TEN)
DROPPED = DropCounted(float_id=FLOAT, amount=1_000, signed=SIGNED, box="B", notes=TEN)


def _corrected(move: str, was: int) -> ChipsCorrected:
    return ChipsCorrected(
        float_id=FLOAT, amount=1_000, signed=SIGNED, chips=TEN, was=was, reason="misread",
        move=move,  # type: ignore[arg-type]  # one of the four
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fact", "moved"),
    [
        (OPENED, {"float": 1_000, "cage": -1_000}),
        (FILLED, {"float": 1_000, "cage": -1_000}),
        (CREDITED, {"float": -1_000, "cage": 1_000}),
        (CLOSED, {"float": -1_000, "cage": 1_000}),
        (COUNTED, {}),
        (DROPPED, {"drop": 1_000, "float": -1_000}),
        (replace(DROPPED, was=1_100, reason="again"), {"drop": -100, "float": 100}),
        (_corrected("opening", 900), {"float": 100, "cage": -100}),
        (_corrected("fill", 1_200), {"float": -200, "cage": 200}),
        (_corrected("credit", 900), {"float": -100, "cage": 100}),
        (_corrected("closing", 1_050), {"float": 50, "cage": -50}),
        (_corrected("fill", 1_000), {}),
    ],
)
def test_each_fact_moves_what_it_says(fact: ChipEvent, moved: dict[str, int]) -> None:
    ledger = MemoryLedger()
    ledger.hear([ShoeLoaded(shoe="20261128-04", decks=8), fact])
    (entry,) = ledger.entries
    assert {each.account: each.amount for each in entry.postings} == moved
    assert set(moved) <= set(ACCOUNTS)
    assert (entry.kind, entry.coup, entry.shoe) == (fact.TYPE, "", "20261128-04")
    assert entry.day == "2026-11-27"  # the float's, not the shoe's
    assert decode_chip_event(entry.kind, entry.detail) == fact


@pytest.mark.parametrize("fact", [OPENED, FILLED, CREDITED, COUNTED, CLOSED, DROPPED])
def test_a_fact_whose_pieces_come_to_something_else_is_not_booked(fact: ChipEvent) -> None:
    wrong = replace(fact, amount=fact.amount + 1)
    with pytest.raises(LedgerError, match="says 1001, and its pieces come to 1000"):
        chip_entry(wrong, ref="e", shoe="")


@pytest.mark.parametrize(
    ("kind", "detail"),
    [("float_opened", "{}"), ("float_opened", "nonsense"), ("coup_settled", "{}")],
)
def test_a_detail_that_was_edited_is_named(kind: str, detail: str) -> None:
    with pytest.raises(LedgerError, match=f"an entry of kind {kind} does not hold its fact"):
        decode_chip_event(kind, detail)


def test_what_is_left_on_the_float_is_the_win_by_the_count() -> None:
    """Of the day worked by hand: 4,550 by the count, 4,650 by the wagers; two sums apart."""
    ledger = MemoryLedger()
    ledger.hear(chip_day())
    assert ledger.total("float") == -4_550_00
    assert ledger.total("drop") == 11_900_00
    assert ledger.total("cage") == -7_350_00
    assert -ledger.total("win") + ledger.total("collected", "recovered") == 4_650_00


def test_a_day_is_how_an_id_begins() -> None:
    assert business_day_of("20261127-01") == "2026-11-27"
