"""What a sick ledger or a silent cage costs the table: nothing, and it is told."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from events.mqtt.bus import Bus
from events.mqtt.messages import Message
from tests.support.brokers.brokers import Broker
from tests.support.cage.cage_game import acknowledged, newest_settlement, play_beside_a_silent_cage
from tests.support.cage.ledgers import agrees
from tests.support.machine.waiting import until
from tests.support.service.live_table import LiveTable


@pytest.mark.timeout(150)
async def test_a_sick_ledger_costs_the_table_nothing_and_comes_back_when_it_is_mended(
    nats: Broker, tmp_path: Path
) -> None:
    ledger, said = tmp_path / "cage.sqlite", tmp_path / "run.log"
    ledger.write_text("these are my notes\n")
    live = LiveTable(tmp_path, nats.port, seed=3, more='[cage]\nledger = "cage.sqlite"')
    live.commands["run"] = [sys.executable, "-m", "baccarat", "run", str(live.path), "--patient"]
    states: list[dict[str, Any]] = []

    async def keep(message: Message) -> None:
        states.append(msgspec.json.decode(message.payload))

    table = live.config
    screen = Bus(table.bus_settings("screen"), subscriptions={table.topics.state: keep})
    async with live.at_play("run", beside=(screen.run(),)) as croupier:
        async with asyncio.timeout(110):  # the pauses between two starts grow
            while "the cage service has ended with code 2" not in said.read_text():
                await croupier.play(croupier.tally.coups + 1)
            await croupier.play(croupier.tally.coups + 2)
            await until(lambda: _owes(states), "no screen shows that the cage owes")
            ledger.unlink()
            newest = newest_settlement(live.log)
            await until(lambda: acknowledged(live.log, "cage") >= newest, "it does not come back")
            await until(lambda: not _owes(states), "it is shown to owe still")
        code = live.children["run"].stop(15)
    assert code == 0, said.read_text()
    assert "the table service has ended" not in said.read_text()
    assert "the shoe service has ended" not in said.read_text()
    assert croupier.tally.voided == 0
    assert agrees(str(ledger), live.log).settlements >= 3


def _owes(states: list[dict[str, Any]]) -> bool:
    cage = {each["name"]: each for each in states[-1]["consumers"]}.get("cage/cage", {})
    return cage.get("waiting_s") is not None


COUPS = 25
# What a table's process takes for itself meanwhile; a settlement that is kept has 5 KB.
MOST_KB = 6_144


@pytest.mark.cold_start
async def test_a_cage_that_never_acknowledges_costs_nothing(nats: Broker, tmp_path: Path) -> None:
    found = await play_beside_a_silent_cage(tmp_path, nats, coups=COUPS, alarm=False)
    print(found)  # noqa: T201 - the figures
    speaking, silent = found.median_ms
    # Machines are noisy; one that waited for an acknowledgement would be seconds late.
    assert silent < 5 * speaking + 500
    assert found.grown_kb[1] < MOST_KB
