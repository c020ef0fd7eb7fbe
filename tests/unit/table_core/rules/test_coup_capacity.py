"""No request can make a coup that could not be settled, or an event that could not be stored."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from events.commands import PlaceWager, VoidCoup, WagerRequest
from events.log.store import EventLog
from events.types import MAX_EVENT_BYTES, DeviceResult, LinkOpen, Wager
from table_core.rules.wager_totals import MAX_PATRON, MAX_STAKED, WagerTotals, bounds_refusal
from tests.support.table.coups import NATURAL_NINE, ORDER, drawn, shoe_event
from tests.unit.table_core.test_commands_and_reports import ask, in_betting, table_on

WAGER = Wager(id="t/0", seat=1, bet="player", stake=100)


@pytest.mark.parametrize(
    ("wager", "code"),
    [
        (replace(WAGER, patron=""), "invalid_patron"),
        (replace(WAGER, patron="p" * (MAX_PATRON + 1)), "invalid_patron"),
        (replace(WAGER, stake=MAX_STAKED + 1), "table_maximum"),
    ],
)
def test_one_wager_can_be_too_much(wager: Wager, code: str) -> None:
    refusal = bounds_refusal(WagerTotals(), (wager,))
    assert refusal is not None
    assert refusal.code == code


def test_the_largest_coup_that_is_taken_is_settled_in_one_event_that_can_be_stored(
    tmp_path: Path,
) -> None:
    with EventLog.open(tmp_path / "table.sqlite", "site/t1") as log:
        table = table_on(log)
        table.hear(shoe_event(1, LinkOpen(transport="pty:x")))
        in_betting(table)
        # Texts as long as they may be, of characters that JSON writes at the greatest length.
        patron = "\u0001" * MAX_PATRON
        command = PlaceWager(
            transaction="",
            wagers=(WagerRequest(seat=1, bet="tie", stake=10**9, patron=patron),) * 500,
        )
        taken = 0
        while True:
            transaction = f"{taken:05d}" + "\u0002" * 100
            answer = ask(table, "wagers", replace(command, transaction=transaction))
            if answer.result == "refused":
                break
            taken += 1
        assert answer.code == "too_many_wagers"
        assert taken > 2
        for seq, ((hand, number), face) in enumerate(
            zip(ORDER, NATURAL_NINE, strict=True), start=2
        ):
            table.hear(shoe_event(seq, drawn(hand, number, face)))
        table.hear(shoe_event(6, DeviceResult(winner="player")))
        assert table.state.totals.coups == 1
        largest = max(len(stored.stored) for stored in log.read())
        assert MAX_EVENT_BYTES // 2 < largest <= MAX_EVENT_BYTES


def test_a_command_whose_event_is_too_large_is_refused_and_nothing_is_stored(
    tmp_path: Path,
) -> None:
    with EventLog.open(tmp_path / "table.sqlite", "site/t1") as log:
        table = table_on(log)
        table.hear(shoe_event(1, LinkOpen(transport="pty:x")))
        in_betting(table)
        before = table.state
        answer = ask(
            table, "supervisor", VoidCoup(transaction="v", reason="x" * (MAX_EVENT_BYTES + 1))
        )
        assert (answer.result, answer.code) == ("refused", "too_large")
        assert table.state == before
        assert log.position == before.position


def test_ordinary_coups_are_far_from_the_bounds() -> None:
    ten_thousand = tuple(replace(WAGER, id=f"w-20261127-01-1-s3/{n}") for n in range(10_000))
    assert bounds_refusal(WagerTotals(), ten_thousand) is None
