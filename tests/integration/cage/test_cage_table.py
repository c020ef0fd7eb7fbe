"""Ledgers beside a whole table of processes that are killed: the log, to the unit."""

import asyncio
from collections import Counter
from pathlib import Path

import msgspec

from benchmarks.instruments.postgres import Postgres
from cage.service import CageService
from events.commands import CorrectWager, VoidCoup, WagerRequest
from tests.support.brokers.brokers import Broker
from tests.support.cage.cage_game import play_cage_game, proved
from tests.support.cage.cages import cage
from tests.support.cage.ledgers import accounts_of, agrees, held_against
from tests.support.machine.seeds import drawn_seed, seeded
from tests.support.machine.tasks import background
from tests.support.machine.waiting import until
from tests.support.service.live_table import LiveTable
from tests.support.service.table_service import TOPICS, Table1, connected, play, service
from tests.support.table.coups import COUP
from tests.support.table.settled_coups import hands

COUPS = 24


async def test_a_whole_table_whose_every_process_is_killed_is_booked_to_the_unit(
    pair: tuple[Broker, str], tmp_path: Path
) -> None:
    broker, ledger = pair
    rng = seeded()
    live = LiveTable(tmp_path, broker.port, seed=7, more=f'[cage]\nledger = "{ledger}"')
    kills: Counter[str] = Counter()
    async with live.at_play("shoe", "table", "cage") as croupier, asyncio.timeout(60):
        async with background(croupier.play(COUPS)) as (playing,):
            for victim in ("cage", "table", "broker", "cage"):
                begun = croupier.tally.coups
                await until(
                    lambda begun=begun: croupier.tally.coups > begun + 2 or playing.done(),
                    "the game stands still",
                )
                await asyncio.sleep(rng.uniform(0, 0.1))
                kills[victim] += 1
                if victim == "broker":
                    broker.kill()
                    broker.restart(wipe=True)
                else:
                    live.start(victim)
            await playing
        await until(lambda: _all_booked(ledger, live.log), "the ledger never caught up")
    assert kills == {"cage": 2, "table": 1, "broker": 1}
    found = agrees(ledger, live.log)
    assert found.coups >= COUPS - 1  # a kill may cost a coup that a person then voids


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
        await table.must("supervisor", hands("8S KH", "7D 2C"))
        async with cage(broker, ledger) as made:
            await _booked(table, made)
            assert accounts_of(ledger) == {"seat": 1000, "win": -1000}
            (wager,) = _wagers(table)
            to = WagerRequest(seat=1, bet="banker", stake=4000)
            more = CorrectWager(transaction="b", coup=COUP, wager=wager, to=to, reason="the slip")
            await table.must("supervisor", more)
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
            await table.must("supervisor", void)
            await _booked(table, made)
            assert accounts_of(ledger) == {}
    found = agrees(ledger, tmp_path / "table.sqlite")
    assert (found.settlements, found.coups) == (4, 1)


def _wagers(table: Table1) -> list[str]:
    data = msgspec.json.decode(table.settlements[0].data)
    return [line["wager"] for line in data["settlement"]["lines"]]


async def _booked(table: Table1, made: CageService) -> None:
    """Until everything that the table has said is in the ledger and acknowledged."""
    head = max(table.answers[-1][1].position or 0, table.settlements[-1].position)
    await until(lambda: table.events and table.events[-1].position >= head, "not all was said")
    await made.caught_up(table.events[-1].position)


MANY = 30  # a thousand in tests/soak/test_cage_thousand.py
FAULTS = {
    "cage": 2,
    "auditor": 2,
    "table": 2,
    "broker": 1,
    "wiped": 3,
    "postgres": 1,
    "cut": 5,
}


async def test_two_ledgers_are_the_log_to_the_unit_whatever_is_killed_wiped_lost_or_doubled(
    nats: Broker, own_postgres: Postgres, tmp_path: Path
) -> None:
    game = await play_cage_game(
        tmp_path,
        nats,
        own_postgres,
        seed=drawn_seed(),
        coups=MANY,
        faults=FAULTS,
        rulebook="au-commission",
    )
    print(game)  # noqa: T201 - the same
    assert game.coups == MANY
    assert game.done == FAULTS
    for user, ledger in game.ledgers.items():
        settlements = proved(ledger, game.log, user)
        assert len({each.coup for each in settlements}) > MANY // 2
        assert any(each.revision > 1 for each in settlements)
    assert {"down: lost", "down: twice", "down: late", "up: lost", "up: twice"} <= game.road.keys()
