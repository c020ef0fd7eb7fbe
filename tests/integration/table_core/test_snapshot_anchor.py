"""Books that are closed beside the game, and an inspection that runs behind it."""

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from baccarat.processes import inspection
from baccarat.processes.inspection import inspect_in_background
from events.commands import EndShoe, LoadShoe, OpenBetting
from events.log.store import EventLog
from events.types import LinkOpen, LinkUp
from table_core.service.snapshots import inspect_log, snapshot_path
from tests.support.log.closed_books import SITE_T1
from tests.support.log.logs import forging
from tests.support.machine.waiting import until
from tests.support.service.table_service import Table1, played, service
from tests.support.table.coups import shoe_event

NEXT_SHOE = "20261127-02"


async def a_shoe_ends(table: Table1, folder: Path) -> Path:
    """One coup, the shoe's end, and the books behind it; the log, closed."""
    async with played(table, folder):
        answer = await table.must("dealer", EndShoe(transaction="e", reason="done"))
        await until(lambda: table.events[-1].type == "books_closed", "the books stay open")
        assert bytes(table.events[-1].data) == b"null"
        assert answer.position == table.events[-1].position - 1
    table.acks.clear()  # the next hello is the next start's
    return folder / "table.sqlite"


async def test_the_books_are_closed_behind_a_shoes_end_and_the_next_start_begins_there(
    one: Table1, tmp_path: Path
) -> None:
    path = await a_shoe_ends(one, tmp_path)
    with EventLog.open(path, SITE_T1) as log:
        ends = [each.type for each in log.read()][-3:]
        assert log.checked_from == log.position
    assert ends == ["shoe_ended", "shoe_audited", "books_closed"]
    assert inspect_log(path) is None
    assert snapshot_path(path).exists()
    with capture_logs() as logs:
        async with service(one.port, tmp_path, inspection=inspect_in_background):
            await one.core_comes()
            await one.must("dealer", LoadShoe(transaction="l2", shoe=NEXT_SHOE))
            told = "log.inspected"
            await until(lambda: told in [each["event"] for each in logs], "it does not end")
    assert not [each for each in logs if each["event"].startswith("snapshot.")]


async def test_a_log_that_was_changed_before_its_books_stops_the_bets_while_the_table_is_up(
    one: Table1, tmp_path: Path
) -> None:
    path = await a_shoe_ends(one, tmp_path)
    with forging(path) as db:
        db.execute("UPDATE event SET bytes = CAST(bytes || ' ' AS BLOB) WHERE position = 4")
    async with service(one.port, tmp_path, inspection=inspect_in_background):
        await until(
            lambda: [alarm for alarm in one.alarms if alarm.alarm == "log_unsound"], "no alarm"
        )
        (alarm,) = (alarm for alarm in one.alarms if alarm.alarm == "log_unsound")
        assert alarm.state == "raised"
        assert "position 4" in alarm.text
        await until(  # the state is another message, and may come behind the alarm
            lambda: "log_unsound" in [each.name for each in one.states[-1].alarms], "not in state"
        )
        await one.say(shoe_event(8, LinkOpen(transport="pty:x")))
        await one.say(shoe_event(9, LinkUp()))
        await one.link(9)
        await until(lambda: one.acks[-1].seq == 9, "the shoe is not heard any more")
        await one.must("dealer", LoadShoe(transaction="l2", shoe=NEXT_SHOE))
        opening = await one.ask("dealer", OpenBetting(transaction="o2"))
        assert (opening.result, opening.code) == ("refused", "log_unsound")
        assert opening.text == f"no more bets: {alarm.text.partition(';')[0]}"


async def test_an_inspection_that_is_ended_by_somebody_says_nothing_and_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.sqlite"
    monkeypatch.setattr(inspection, "_AGAIN_S", 0.01)
    with capture_logs() as logs:
        running = asyncio.create_task(inspect_in_background(path))  # there is no such log yet
        told = "inspection.failed"
        await until(lambda: told in [each["event"] for each in logs], "it does not fail")
        EventLog.open(path, SITE_T1).close()
        assert await running is None
    assert "no such file" in next(each["said"] for each in logs if each["event"] == told)


async def test_an_inspection_ends_with_the_service(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    EventLog.open(path, SITE_T1).close()
    running = asyncio.create_task(inspect_in_background(path))
    await asyncio.sleep(0)  # until it has begun
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
