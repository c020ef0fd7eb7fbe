"""A coup with ten thousand wagers settles in one transaction of a real log, within one event."""

import time
from pathlib import Path

import pytest

from events.cards import Card
from events.commands import CloseBetting, Command, LoadShoe, OpenBetting, PlaceWager, WagerRequest
from events.log.store import EventLog
from events.mqtt.topics import Topics
from events.types import (
    MAX_EVENT_BYTES,
    AnyReport,
    BurnCard,
    CoupSettled,
    DeviceResult,
    FirstCard,
    LinkOpen,
    LinkUp,
    decode_data,
    decode_envelope,
)
from table_core.process.table_writer import ShoeEventResult
from table_core.rulebooks.shipped import load_rulebook
from table_core.service.table import Table
from tests.support.clock import ticking_clock
from tests.support.table.coups import ORDER, SHOE, drawn, shoe_event

WAGERS = 10_000
BATCH = 500
SECONDS = 10.0  # for placing as for settling; each takes a fraction of a second
BETS = ("player", "tie", "player_pair", "banker_pair", "super_six", "tiger", "tiger_pair")
# Player wins with a natural nine, and neither hand has a pair; by bet, what is paid to one.
CARDS = ("9S", "2D", "TS", "3C")
PAYS = {"player": 1}
ROLES = {user: frozenset({user}) for user in ("dealer", "wagers")}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float, float]:
    """The log of such a coup; seconds for placing and for the settlement."""
    steps: list[str] = []
    path = tmp_path_factory.mktemp("big") / "table.sqlite"
    with EventLog.open(path, "site/t1") as log:
        rulebook = load_rulebook("au-commission")
        table = Table(
            log, Topics("site", "t1"), rulebook, ticking_clock(), roles=ROLES, probe=steps.append
        )
        _hear(table, LinkOpen(transport="pty:x"), LinkUp())
        _ask(table, "dealer", LoadShoe(transaction="l", shoe=SHOE))
        _hear(table, FirstCard(face=Card.SA), BurnCard(face=Card.C4, left=0))
        _ask(table, "dealer", OpenBetting(transaction="o"))
        began = time.perf_counter()
        for first in range(0, WAGERS, BATCH):
            wagers = tuple(_wager(number) for number in range(first, first + BATCH))
            _ask(table, "wagers", PlaceWager(transaction=f"w-{first}", wagers=wagers))
        placing = time.perf_counter() - began
        _ask(table, "dealer", CloseBetting(transaction="c"))
        cards = zip(ORDER, CARDS, strict=True)
        _hear(table, *(drawn(hand, number, face) for (hand, number), face in cards))
        steps.clear()
        began = time.perf_counter()
        _hear(table, DeviceResult(winner="player"))
        settling = time.perf_counter() - began
        assert table.state.totals.coups == 1
        assert steps == ["append.before", "append.after"]
    return path, placing, settling


def _wager(number: int) -> WagerRequest:
    seat, bet = number % 99 + 1, BETS[number % len(BETS)]
    return WagerRequest(seat=seat, bet=bet, stake=100 + number, patron=f"p-{number:05}")


def _ask(table: Table, user: str, command: Command) -> None:
    answer = table.ask(user, command, caught_up=True)
    assert answer.result == "accepted", answer


def _hear(table: Table, *reports: AnyReport) -> None:
    for report in reports:
        assert table.hear(shoe_event(table.shoe_ack.seq + 1, report)) is ShoeEventResult.APPENDED


def test_ten_thousand_wagers_settle_in_one_transaction_and_one_event(
    played: tuple[Path, float, float],
) -> None:
    path, _, _ = played
    with EventLog.open(path, "site/t1") as log:
        stored = list(log.read())
    envelopes = [decode_envelope(each.stored) for each in stored]
    (index,) = (i for i, each in enumerate(envelopes) if each.type == "coup_settled")
    # In one append, as the fixture has seen: the report, the confirmation, the settlement.
    together = [each.type for each in envelopes if each.cause == envelopes[index].cause]
    assert together == ["shoe_reported", "result_confirmed", "coup_settled"]
    size = len(stored[index].stored)
    print(f"{WAGERS} wagers: the settlement has {size} bytes")  # noqa: T201 - a measured figure
    assert WAGERS * 100 < size < MAX_EVENT_BYTES
    settled = decode_data(envelopes[index])
    assert isinstance(settled, CoupSettled)
    lines = settled.settlement.lines
    assert len({line.wager for line in lines}) == len(lines) == WAGERS
    for number, line in enumerate(lines):
        asked = _wager(number)
        won = line.stake * PAYS.get(line.bet, 0)
        assert (line.bet, line.stake, line.patron) == (asked.bet, asked.stake, asked.patron)
        assert line.paid == (won and line.stake + won)
    assert settled.settlement.paid == 2 * sum(line.stake for line in lines if line.bet == "player")


def test_it_does_not_take_long(played: tuple[Path, float, float]) -> None:
    _, placing, settling = played
    print(f"{WAGERS} wagers: placed in {placing:.2f} s, settled in {settling:.2f} s")  # noqa: T201 - measured figures
    assert placing < SECONDS
    assert settling < SECONDS
