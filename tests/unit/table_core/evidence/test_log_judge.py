"""The judge of a log: what it derives again where it begins in the middle, and of chips."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from events.commands import CloseFloat, OpenFloat
from events.types import (
    CommissionAccrued,
    CommissionCollected,
    DeviceResult,
    Entry,
    FloatOpened,
    Pieces,
    TableEvent,
    decode_entry,
)
from table_core.evidence.judge import EvidenceFault
from table_core.evidence.log_judge import LogJudge
from table_core.rulebooks.shipped import load_rulebook
from tests.support.table.evidence import ORIGIN, signed_table

BOOK = load_rulebook("au-commission")
BANKER_NINE = ("2D", "9S", "3C", "KD")


@pytest.fixture
def tail(tmp_path: Path) -> list[Entry]:
    """The second of two coups that Banker wins, and a float that is opened and closed."""
    chips, signed = (Pieces(denomination=100, pieces=3),), ("p-1", "p-2")
    with signed_table(tmp_path / "table.sqlite") as table:
        for _ in range(2):
            first = table.log.position + 1
            if table.table.state.shoe is None:
                table.ready()
            table.open((2, "banker", 2000))
            table.deal(BANKER_NINE)
            table.say(DeviceResult(winner="banker"))
        opening = OpenFloat(
            transaction="o", float_id="20261127-01", currency="AUD", chips=chips, signed=signed
        )
        table.ask("supervisor", opening)
        table.ask("supervisor", CloseFloat(transaction="c", chips=chips, signed=signed))
        return [decode_entry(each.stored) for each in table.log.read(first)]


def judged(tail: list[Entry]) -> LogJudge:
    judge = LogJudge(ORIGIN, {BOOK.hash: BOOK}, whole=False)
    for each in tail:
        judge.take(each.position, each, each.data)
    judge.finish()
    return judge


def more(event: TableEvent) -> TableEvent:
    assert isinstance(event, CommissionAccrued | CommissionCollected)
    return replace(event, amounts=tuple(replace(each, amount=1) for each in event.amounts))


def short(event: TableEvent) -> TableEvent:
    assert isinstance(event, FloatOpened)
    return replace(event, amount=event.amount - 1)


def test_an_honest_tail_is_judged(tail: list[Entry]) -> None:
    counts = judged(tail).counts
    assert counts.settlements == 1
    assert counts.commissions == sum(each.data.TYPE.startswith("commission_") for each in tail) > 0


@pytest.mark.parametrize(
    ("kind", "change", "reason"),
    [
        ("commission_accrued", more, "its settlement charges another commission"),
        ("commission_collected", more, "commission"),
        ("float_opened", short, "its pieces come to 300, not to 299"),
    ],
)
def test_a_false_amount_in_a_tail_is_named(
    tail: list[Entry], kind: str, change: Callable[[TableEvent], TableEvent], reason: str
) -> None:
    forged = [
        replace(each, data=change(each.data)) if kind == each.data.TYPE else each for each in tail
    ]
    assert forged != tail
    with pytest.raises(EvidenceFault, match=reason):
        judged(forged)


def test_a_transaction_moves_chips_once_and_settles_one_coup(tail: list[Entry]) -> None:
    forged = [replace(each, cause="supervisor/o") if each.cause.endswith("/c") else each
              for each in tail]  # fmt: skip
    with pytest.raises(EvidenceFault, match="moves chips once"):
        judged(forged)
    settled = next(each for each in tail if each.data.TYPE == "coup_settled")
    chips = next(each for each in forged if each.data.TYPE == "float_opened")
    with pytest.raises(EvidenceFault, match="moves chips once"):
        judged([*tail[: tail.index(settled) + 1], replace(chips, cause=settled.cause)])
