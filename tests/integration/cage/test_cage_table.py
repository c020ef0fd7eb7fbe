"""The ledger beside a whole table: real processes that are killed, and the same to the unit."""

import asyncio
import random
from collections import Counter
from pathlib import Path

import msgspec

from baccarat.config.table import load_config
from baccarat.processes.children import Child
from baccarat.services.registry import service_command
from cage.service import CageService
from events.commands.corrections import CorrectHands, CorrectWager
from events.commands.coup import VoidCoup
from events.commands.wagers import WagerRequest
from simulators.device.pty_port import INSTANT, PtyPort
from simulators.people.dealer_and_patrons import Croupier, Game
from simulators.shoe.dealing import DealingShoe
from simulators.shoe.player import ShoeSimulator
from table_core.rulebooks.shipped import load_rulebook
from tests.support.brokers.brokers import Broker
from tests.support.cage.cages import cage
from tests.support.cage.ledgers import accounts_of, agrees, held_against
from tests.support.machine.waiting import until
from tests.support.service.table_service import TOPICS, Table1, connected, play, service
from tests.support.table.coups import COUP, cards

CONFIG = """\
site = "site"
table = "t1"
rulebook = "au-commission"

[shoe]
url = "pty:{link}*"

[bus]
port = {port}

[cage]
ledger = "{ledger}"
"""
COUPS = 24


async def test_a_whole_table_whose_every_process_is_killed_is_booked_to_the_unit(
    pair: tuple[Broker, str], tmp_path: Path
) -> None:
    broker, ledger = pair
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails
    rng, config = random.Random(seed), tmp_path / "table.toml"
    link = tmp_path / "line" / "shoe"
    config.write_text(CONFIG.format(link=link, port=broker.port, ledger=ledger))
    loaded, port = load_config(config), PtyPort(link, pace=INSTANT)
    port.plug_in()
    children = {name: _start(config, name) for name in ("shoe", "table", "cage")}
    kills: Counter[str] = Counter()
    croupier = Croupier(
        loaded.bus_settings("croupier"),
        loaded.topics,
        ShoeSimulator(port, DealingShoe(seed=7), first_shoe="20261127-01", speed=0),
        seed=7,
        game=Game(rulebook=load_rulebook("au-commission")),
        speed=0,
    )
    at_the_table = asyncio.create_task(croupier.run())
    try:
        async with asyncio.timeout(60):
            playing = asyncio.create_task(croupier.play(COUPS))
            victims = ["cage", "table", "broker", "cage"]
            while victims:
                begun = croupier.tally.coups
                await until(
                    lambda begun=begun: croupier.tally.coups > begun + 2 or playing.done(),
                    "the game stands still",
                )
                await asyncio.sleep(rng.uniform(0, 0.1))
                victim = victims.pop(0)
                kills[victim] += 1
                if victim == "broker":
                    broker.kill()
                    broker.restart(wipe=True)
                else:
                    children[victim].kill()
                    children[victim] = _start(config, victim)
            await playing
        log = loaded.log_path
        await until(lambda: _all_booked(ledger, log), "the ledger never caught up")
    finally:
        at_the_table.cancel()
        await asyncio.wait({at_the_table})
        for child in children.values():
            child.stop()
        port.unplug()
    assert kills == {"cage": 2, "table": 1, "broker": 1}
    found = agrees(ledger, log)
    assert found.coups >= COUPS - 1  # a kill may cost a coup that a person then voids


def _start(config: Path, name: str) -> Child:
    output = config.with_name(f"{name}.log")
    return Child.start(service_command(config, name), name=name, output=output)


def _all_booked(ledger: str, log: Path) -> bool:
    found = held_against(ledger, log)
    assert found.difference is None, found
    return found.read == found.log_end


async def test_corrections_and_a_void_after_the_settlement_move_the_difference_once(
    broker: Broker, ledger: str, tmp_path: Path
) -> None:
    async with connected(broker.port) as table, service(broker.port, tmp_path):
        await table.driver_comes()
        async with cage(broker, ledger) as made:
            await play(table)  # 1,000 on Player at seat 1, who wins
            await _booked(table, made)
            assert accounts_of(ledger) == {"seat": -1000, "win": 1000}
        # The cage is away. Banker really won; then it was 4,000 on Banker, less 5 per cent.
        answer = await table.ask("supervisor", _hands("a", "8S KH", "7D 2C"))
        assert answer.result == "accepted"
        async with cage(broker, ledger) as made:
            await _booked(table, made)
            assert accounts_of(ledger) == {"seat": 1000, "win": -1000}
            (wager,) = _wagers(table)
            to = WagerRequest(seat=1, bet="banker", stake=4000)
            more = CorrectWager(transaction="b", coup=COUP, wager=wager, to=to, reason="the slip")
            assert (await table.ask("supervisor", more)).result == "accepted"
            await _booked(table, made)
            assert accounts_of(ledger) == {
                "seat": -4000,
                "win": 4000,
                "commission": -200,
                "collected": 200,
            }
            # Everything comes again, in both directions: nothing moves.
            sent = tuple(table.events)
            for event in (*sent, *reversed(sent)):
                await table.bus.publish(TOPICS.event, msgspec.json.encode(event))
            await until(lambda: made.inflow.repeated >= 2 * len(sent), "no copies came")
            assert accounts_of(ledger)["seat"] == -4000
            void = VoidCoup(transaction="v", coup=COUP, reason="a card of another shoe")
            assert (await table.ask("supervisor", void)).result == "accepted"
            await _booked(table, made)
            assert accounts_of(ledger) == {}
    found = agrees(ledger, tmp_path / "table.sqlite")
    assert (found.settlements, found.coups) == (4, 1)


def _hands(transaction: str, player: str, banker: str) -> CorrectHands:
    return CorrectHands(
        transaction=transaction,
        coup=COUP,
        player=cards(player),
        banker=cards(banker),
        reason="camera 4",
    )


def _wagers(table: Table1) -> list[str]:
    data = msgspec.json.decode(table.settlements[0].data)
    return [line["wager"] for line in data["settlement"]["lines"]]


async def _booked(table: Table1, made: CageService) -> None:
    """Until everything that the table has said is in the ledger and acknowledged."""
    head = max(table.answers[-1][1].position or 0, table.settlements[-1].position)
    await until(lambda: table.events and table.events[-1].position >= head, "not all was said")
    await made.caught_up(table.events[-1].position)
