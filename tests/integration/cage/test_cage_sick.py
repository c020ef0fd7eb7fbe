"""`baccarat run` with a ledger that cannot be kept: the table plays, says so, and is not ended."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from baccarat.config.table import load_config
from baccarat.processes.children import Child
from events.mqtt.bus import Bus
from events.mqtt.messages import Message
from simulators.device.pty_port import INSTANT, PtyPort
from simulators.people.dealer_and_patrons import Croupier
from simulators.shoe.dealing import DealingShoe
from simulators.shoe.player import ShoeSimulator
from tests.support.brokers.brokers import Broker
from tests.support.cage.cage_game import acknowledged, newest_settlement
from tests.support.cage.ledgers import agrees
from tests.support.machine.processes import ROOT, environment
from tests.support.machine.waiting import until

CONFIG = """\
site = "site"
table = "t1"
rulebook = "au-commission"

[shoe]
url = "pty:{link}*"

[bus]
port = {port}

[cage]
ledger = "cage.sqlite"
"""


@pytest.mark.timeout(150)
async def test_a_sick_ledger_costs_the_table_nothing_and_comes_back_when_it_is_mended(
    nats: Broker, tmp_path: Path
) -> None:
    config, ledger = tmp_path / "table.toml", tmp_path / "cage.sqlite"
    said, link = tmp_path / "run.log", tmp_path / "line" / "shoe"
    config.write_text(CONFIG.format(link=link, port=nats.port))
    ledger.write_text("these are my notes\n")
    port = PtyPort(link, pace=INSTANT)
    port.plug_in()
    command = [sys.executable, "-m", "baccarat", "run", str(config), "--patient"]
    controller = Child.start(command, name="run", output=said, env=environment(), cwd=ROOT)
    loaded = load_config(config)
    croupier = Croupier(
        loaded.bus_settings("croupier"),
        loaded.topics,
        ShoeSimulator(port, DealingShoe(seed=3), first_shoe="20261127-01", speed=0),
        seed=3,
        speed=0,
    )
    states: list[dict[str, Any]] = []

    async def keep(message: Message) -> None:
        states.append(msgspec.json.decode(message.payload))

    screen = Bus(loaded.bus_settings("screen"), subscriptions={loaded.topics.state: keep})
    background = [asyncio.create_task(each.run()) for each in (croupier, screen)]
    try:
        async with asyncio.timeout(110):  # the pauses between two starts grow
            while "the cage service has ended with code 2" not in said.read_text():
                await croupier.play(croupier.tally.coups + 1)
            await croupier.play(croupier.tally.coups + 2)
            await until(lambda: _owes(states), "no screen shows that the cage owes")
            ledger.unlink()
            newest = newest_settlement(loaded.log_path)
            await until(
                lambda: acknowledged(loaded.log_path, "cage") >= newest, "it does not come back"
            )
            await until(lambda: not _owes(states), "it is shown to owe still")
    finally:
        for task in background:
            task.cancel()
        await asyncio.wait(background)
        code = controller.stop(15)
        port.unplug()
    assert code == 0, said.read_text()
    assert "the table service has ended" not in said.read_text()
    assert "the shoe service has ended" not in said.read_text()
    assert croupier.tally.voided == 0
    assert agrees(str(ledger), loaded.log_path).settlements >= 3


def _owes(states: list[dict[str, Any]]) -> bool:
    cage = {each["name"]: each for each in states[-1]["consumers"]}.get("cage/cage", {})
    return cage.get("waiting_s") is not None
