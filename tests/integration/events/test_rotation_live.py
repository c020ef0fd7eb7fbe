"""A table in play whose log goes on in a new file behind each shoe."""

from pathlib import Path

import pytest

from baccarat.cli.main import main
from baccarat.processes.inspection import inspect_in_background
from events.commands import EndShoe, LoadShoe, PlaceWager, Replay, ShowCoup, WagerRequest
from events.log.backup import back_up, restore
from events.log.segments import archive_folder, segments_in
from events.log.store import EventLog
from events.log.verify import verify
from table_core.service.snapshots import inspect_log
from tests.support.log.closed_books import SITE_T1
from tests.support.machine.waiting import until
from tests.support.service.table_service import Table1, played, service
from tests.support.table.coups import SHOE


async def three_shoes(table: Table1, folder: Path) -> None:
    archive = archive_folder(folder / "table.sqlite")
    async with played(table, folder, inspection=inspect_in_background, new_file="shoe"):
        for number in (1, 2, 3):
            if number > 1:
                load = LoadShoe(transaction=f"l{number}", shoe=f"{SHOE[:-1]}{number}")
                await table.must("dealer", load)
            end = EndShoe(transaction=f"e{number}", reason="done")
            await table.must("dealer", end)
            if number < 3:
                await until(lambda: len(segments_in(archive, SITE_T1)) == number, "no new file")  # noqa: B023 - used at once
        head = table.states[-1].position
        await table.must("display", Replay(transaction="r", start=1))
        await until(lambda: table.replayed and table.replayed[-1].position >= head, "not all")
        positions = [event.position for event in table.replayed]
        assert positions == list(range(1, positions[-1] + 1))
        wager = WagerRequest(seat=1, bet="player", stake=1000)
        again = await table.ask("wagers", PlaceWager(transaction="w", wagers=(wager,)))
        assert again.result == "exists"
        await table.must("supervisor", ShowCoup(transaction="s", coup=f"{SHOE}/1"))


async def test_a_consumer_that_was_away_since_the_first_shoe_catches_up(
    one: Table1, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    await three_shoes(one, folder)
    path = folder / "table.sqlite"
    assert inspect_log(path) is None
    whole = verify(path)
    assert main(["log", "verify", str(path)]) == 0
    assert f"{whole.events:,} events" in capsys.readouterr().out
    assert main(["log", "verify", "--alone", str(path)]) == 0
    assert "the closed files were not looked at" in capsys.readouterr().out
    assert main(["log", "show", str(path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == whole.events
    with EventLog.open(path, SITE_T1) as log:
        assert log.base > 1

    file, restored = tmp_path / "kept" / "monday.sqlite", tmp_path / "new" / "table.sqlite"
    file.parent.mkdir()
    restored.parent.mkdir()
    back_up(path, file, inspect_log)
    back_up(
        path, file.with_name("tuesday.sqlite"), inspect_log
    )  # the closed files are there already
    assert verify(file) == whole
    restore(file, restored, inspect_log)
    assert verify(restored) == whole
    async with service(one.port, restored.parent, new_file="shoe"):
        pass
    assert verify(restored).ok
