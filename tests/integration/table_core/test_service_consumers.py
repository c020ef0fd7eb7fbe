"""What the service does for consumers and displays: replays, acknowledgements, alarms."""

import sqlite3
from contextlib import closing
from pathlib import Path

from events.commands import Ack, LoadShoe, OpenBetting, Replay
from events.log.store import EventLog
from events.types import LinkUp
from tests.support.machine.waiting import until
from tests.support.service.table_service import Table1, attended, play, played
from tests.support.table.coups import SHOE, shoe_event


async def test_events_are_sent_again_from_any_position_in_order(
    table: Table1, tmp_path: Path
) -> None:
    async with played(table, tmp_path):
        await until(lambda: table.states[-1].totals.coups == 1, "the state does not show it")
        head = table.states[-1].position
        answer = await table.ask("display", Replay(transaction="r", start=4))
        assert (answer.result, answer.position) == ("accepted", head)
        await until(lambda: table.replayed and table.replayed[-1].position == head, "not all")
        await until(lambda: table.events[-1].position == head, "events are missing")
    assert [event.position for event in table.replayed] == list(range(4, head + 1))
    assert table.replayed == table.events[3:]


async def test_the_state_says_how_far_each_consumer_has_come_until_it_is_retired(
    table: Table1, tmp_path: Path
) -> None:
    async with attended(table, tmp_path):
        ack = Ack(transaction="a", consumer="main", position=1)
        await table.must("cage", ack)
        await play(table)
        await until(
            lambda: [each.waiting_s is None for each in table.states[-1].consumers] == [False],
            "nothing is owed",
        )
        (cage,) = table.states[-1].consumers
        assert (cage.name, cage.position, cage.overdue) == ("cage/main", 1, False)
        last = Ack(transaction="b", consumer="main", position=1, retired=True)
        await table.must("cage", last)
        await until(lambda: not table.states[-1].consumers, "it is still waited for")
    with EventLog.open(tmp_path / "table.sqlite", "site/t1") as log:
        assert log.cursors("consumer/") == {}


async def test_a_disk_that_refuses_is_told_and_nothing_is_acknowledged_until_it_takes_again(
    table: Table1, tmp_path: Path
) -> None:
    async with attended(table, tmp_path):
        await table.ask("dealer", LoadShoe(transaction="l", shoe=SHOE))
        with closing(sqlite3.connect(tmp_path / "table.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")  # nobody else gets a write through
            refused = await table.ask("dealer", OpenBetting(transaction="o"))
            assert refused.code == "log_unwritable"
            await until(lambda: "log_unwritable" in _alarms(table), "no display is told")
            acknowledged = len(table.acks)
            await table.say(shoe_event(3, LinkUp()))
            late = await table.ask("dealer", OpenBetting(transaction="o2"))
            assert late.code == "log_unwritable"
            assert len(table.acks) == acknowledged
            other.execute("ROLLBACK")
        await table.say(shoe_event(3, LinkUp()))
        await until(lambda: table.acks[-1].seq == 3, "the disk takes, and nothing is stored")
        await table.must("dealer", OpenBetting(transaction="o"))
        await until(lambda: "log_unwritable" not in _alarms(table), "the alarm still stands")


def _alarms(table: Table1) -> set[str]:
    return {alarm.name for alarm in table.states[-1].alarms}
