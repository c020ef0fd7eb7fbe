"""The table as a service, over a real broker, with the driver's side spoken by the test itself."""

from pathlib import Path

import msgspec

from events.cards import Hand
from events.clock import SystemClock
from events.commands import CloseBetting, LoadShoe, OpenBetting, PlaceWager, WagerRequest
from events.mqtt.presence import PresencePublisher, read_status
from tests.support.machine.waiting import until
from tests.support.service.table_service import TOPICS, Table1, attended, played, service
from tests.support.table.coups import SHOE, drawn, shoe_event


async def test_a_coup_is_answered_acknowledged_published_and_shown(
    table: Table1, tmp_path: Path
) -> None:
    async with played(table, tmp_path):
        await until(lambda: table.acks[-1].seq == 7, "the result was not acknowledged")
        await until(lambda: table.states[-1].totals.coups == 1, "the state does not show it")
        last = table.states[-1].position
        await until(lambda: table.events[-1].position == last, "events are missing")
    assert [event.position for event in table.events] == list(range(1, last + 1))
    (settlement,) = table.settlements
    told = msgspec.json.decode(settlement.data)["settlement"]
    assert told["settlement_id"] == f"t1/{SHOE}/1/2/1"
    assert (told["staked"], told["paid"], told["commission"]) == (1000, 2000, 0)
    assert told["player"] == ["9S", "KH"]
    assert settlement == next(e for e in table.events if e.type == "coup_settled")


async def test_every_shoe_report_travels_sealed(table: Table1, tmp_path: Path) -> None:
    async with played(table, tmp_path):
        await until(lambda: table.events[-1].type == "coup_settled", "events are missing")
    sealed = [bytes(e.data) for e in table.events if e.type == "shoe_reported"]
    assert sealed == [b"null"] * 7


async def test_a_stopped_service_says_so_and_a_new_one_has_a_higher_session(
    table: Table1, tmp_path: Path
) -> None:
    sessions = []
    for _ in range(2):
        async with service(table.port, tmp_path):
            await until(
                lambda: table.statuses and b'"online"' in table.statuses[-1], "it is not online"
            )
        await until(lambda: b'"offline"' in table.statuses[-1], "it said no farewell")
        status = read_status(table.statuses[-1])
        assert status is not None
        sessions.append(status.session)
    assert sessions[0] < sessions[1]


async def test_a_late_will_of_an_older_session_is_contradicted(
    table: Table1, tmp_path: Path
) -> None:
    async with service(table.port, tmp_path):
        await until(lambda: table.statuses, "it is not online")
        old = PresencePublisher(TOPICS.status("table"), 1, SystemClock().utc_ns())
        await table.bus.publish(*old.will[:2], retain=True)
        await until(lambda: b'"online"' in table.statuses[-1], "it did not speak up")


async def test_the_first_card_closes_betting_in_its_own_transaction(
    table: Table1, tmp_path: Path
) -> None:
    async with attended(table, tmp_path):
        await table.ask("dealer", LoadShoe(transaction="l", shoe=SHOE))
        await table.ask("dealer", OpenBetting(transaction="o"))
        await table.say(shoe_event(3, drawn(Hand.PLAYER, 1, "4D")))
        await until(lambda: table.acks[-1].seq == 3, "not acknowledged")
        closed = await table.ask("dealer", CloseBetting(transaction="c"))
        assert closed.result == "exists"
        wager = WagerRequest(seat=1, bet="player", stake=1000)
        late = await table.ask("wagers", PlaceWager(transaction="w", wagers=(wager,)))
        assert late.code == "betting_closed"
