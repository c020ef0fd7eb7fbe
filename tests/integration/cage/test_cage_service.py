"""The ledger behind real brokers: each settlement once, whatever is lost, doubled or killed."""

import asyncio
import random
import sys
from functools import partial
from pathlib import Path

import pytest

from benchmarks.instruments.postgres import Postgres
from cage.ledger.database import parse_ledger_url
from cage.ledger.reading import open_ledger
from events.errors import LedgerError
from tests.support.brokers.brokers import Broker
from tests.support.cage.cages import cage
from tests.support.cage.feed_table import FeedTable, disorder, feed_table, killed_again_and_again
from tests.support.cage.ledgers import STREAM, accounts_of, agrees, messages_of, play_log
from tests.support.machine.seeds import seeded
from tests.support.machine.waiting import PATIENCE_SECONDS, until
from tests.support.service.small_table import HOST, TOPICS

SEED = 20261127


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    return str(tmp_path / "cage.sqlite")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "table.sqlite"
    play_log(path, seed=SEED, coups=20)
    return path


@pytest.fixture
def messages(log: Path) -> dict[int, bytes]:
    """The log as it is published."""
    return messages_of(log)


def committed(ledger: str) -> int:
    """What another connection sees."""
    with open_ledger(parse_ledger_url(ledger)) as found:
        place = found.cursor(STREAM)
    assert place is not None
    return place[0]


async def test_lost_doubled_and_late_events_come_to_the_log_to_the_unit(
    broker: Broker, ledger: str, log: Path, messages: dict[int, bytes]
) -> None:
    rng = seeded()
    async with feed_table(broker, messages) as table, cage(broker, ledger) as made:
        await until(lambda: table.replays, "it asks for a replay")
        await table.append(disorder(rng, messages))
        table.head = len(messages)
        await table.append([len(messages)])
        await made.caught_up(len(messages))
        assert made.inflow.gaps > 0
        assert made.inflow.repeated > 0
    assert table.acks == sorted(set(table.acks))
    assert table.acks[-1] == len(messages)
    agrees(ledger, log)


async def test_nothing_is_acknowledged_before_it_is_committed(
    nats: Broker, ledger: str, messages: dict[int, bytes]
) -> None:
    steps = list[str]()
    async with (
        feed_table(nats, messages) as table,
        cage(nats, ledger, steps.append) as made,
    ):
        await until(lambda: table.replays, "it asks for a replay")
        for position in messages:
            await table.append([position])
            if position % 100 == 0:
                await until(
                    lambda: table.acks and made.acknowledged == table.acks[-1], "it acknowledges"
                )
                assert committed(ledger) >= table.acks[-1]
        await made.caught_up(len(messages))
    booked = acknowledged = 0
    for step in steps:
        booked += step == "book.after"
        acknowledged += step == "ack.before"
        assert acknowledged <= booked
    assert acknowledged > 5


async def test_a_cage_that_was_away_for_a_day_catches_up_by_itself(
    pair: tuple[Broker, str], tmp_path: Path
) -> None:
    broker, ledger = pair
    log = tmp_path / "long.sqlite"
    play_log(log, seed=SEED, coups=60)
    messages = messages_of(log)
    async with feed_table(broker, messages, head=40) as table:
        async with cage(broker, ledger) as made:
            await made.caught_up(40)
        before = len(table.replays)
        table.head = len(messages) - 100  # the table has played on; nobody heard of it
        async with cage(broker, ledger) as made:
            await table.append(range(table.head + 1, len(messages) + 1))  # ... and plays on
            await made.caught_up(len(messages))
    assert len(messages) > 1_200
    assert (table.replays[0], table.replays[before]) == (1, 40)
    agrees(ledger, log)


async def test_a_broker_killed_and_wiped_costs_nothing(
    pair: tuple[Broker, str], log: Path, messages: dict[int, bytes]
) -> None:
    broker, ledger = pair
    half = len(messages) // 2
    async with feed_table(broker, messages) as table, cage(broker, ledger) as made:
        await until(lambda: table.replays, "it asks for a replay")
        await table.append(range(1, half))
        await made.caught_up(half - 1)
        broker.kill()
        small = table.bus
        await until(lambda: small is not None and small.client is None, "the broker is away")
        table.head = len(messages)
        broker.restart(wipe=True)
        await made.caught_up(len(messages))
    agrees(ledger, log)


async def test_a_last_event_that_is_lost_is_missed_by_the_tables_own_screen(
    broker: Broker, sqlite: str, log: Path, messages: dict[int, bytes]
) -> None:
    last = len(messages)
    async with feed_table(broker, messages, head=last - 1) as table, cage(broker, sqlite) as made:
        assert table.bus is not None
        await made.caught_up(last - 1)
        before = len(table.replays)
        table.head = last  # nobody hears of it but the screens
        await table.bus.publish(TOPICS.state, b'{"position":%d,"more":[]}' % last, retain=True)
        await made.caught_up(last)
    # Asked for once; more often where the answer itself is late.
    assert (table.replays[0], set(table.replays[before:])) == (1, {last - 1})
    agrees(sqlite, log)


async def test_a_database_that_is_killed_is_waited_for(
    nats: Broker, own_postgres: Postgres, log: Path, messages: dict[int, bytes]
) -> None:
    ledger = own_postgres.database()
    third = len(messages) // 3
    async with feed_table(nats, messages) as table, cage(nats, ledger) as made:
        await until(lambda: table.replays, "it asks for a replay")
        await table.append(range(1, third))
        await until(lambda: made.booked > 0, "something is booked")
        own_postgres.kill()
        try:
            await table.append(range(third, 2 * third))
            await until(lambda: made.counts.outages > 0, "the database is missed")
            assert max(table.acks, default=0) < third
        finally:
            own_postgres.start()
        await table.append(range(2 * third, len(messages) + 1))
        await made.caught_up(len(messages))
    agrees(ledger, log)


async def test_a_cage_killed_again_and_again_books_everything_once(
    pair: tuple[Broker, str], tmp_path: Path
) -> None:
    broker, ledger = pair
    log, rng = tmp_path / "table.sqlite", seeded()
    play_log(log, seed=rng.randrange(1000), coups=24)
    messages = messages_of(log)
    url = f"mqtt://{HOST}:{broker.port}/{TOPICS.site}/{TOPICS.table}"
    command = [sys.executable, "-m", "baccarat", "cage", "run", "--url", url, "--ledger", ledger]
    async with feed_table(broker, messages) as table, asyncio.timeout(2 * PATIENCE_SECONDS):
        play = partial(_play, table, rng)
        killed = await killed_again_and_again(command, play, table.acks, rng, 0.05)
        async with cage(broker, ledger) as made:
            await made.caught_up(len(messages))
    assert len(killed) >= 2
    found = agrees(ledger, log)
    assert found.read == len(messages)


async def _play(table: FeedTable, rng: random.Random, killed: list[int]) -> None:
    """A table that goes on for about three seconds, and for as long as two cages need to come."""
    third = len(table.log) // 3
    for position in table.log:
        await table.append([position])
        if position in {third, 2 * third}:
            due = position // third
            await until(lambda due=due: len(killed) >= due, "two cages came", 2 * PATIENCE_SECONDS)
        if position % 10 == 0:
            await asyncio.sleep(rng.uniform(0, 60 / len(table.log)))


async def test_a_rewritten_log_stops_the_cage_before_anything_of_it_is_booked(
    nats: Broker, sqlite: str, messages: dict[int, bytes], tmp_path: Path
) -> None:
    play_log(tmp_path / "other.sqlite", seed=SEED + 1, coups=30)
    others = messages_of(tmp_path / "other.sqlite")
    async with feed_table(nats, messages, head=60) as table:
        async with cage(nats, sqlite) as made:
            await made.caught_up(60)
        before = accounts_of(sqlite)
        table.log, table.head = others, len(others)
        with pytest.raises(ExceptionGroup) as stopped:
            async with cage(nats, sqlite) as made:
                await made.caught_up(len(others))
    assert stopped.group_contains(LedgerError, match="event 60 is not the one that was read")
    assert accounts_of(sqlite) == before
    assert table.acks[-1] == 60


async def test_an_event_of_a_newer_build_stops_the_cage_where_it_stands(
    nats: Broker, sqlite: str, messages: dict[int, bytes]
) -> None:
    place = next(n for n, each in messages.items() if b'"coup_settled"' in each)
    messages[place] = messages[place].replace(b'"v":1', b'"v":9')
    async with feed_table(nats, messages, head=len(messages)) as table:
        with pytest.raises(ExceptionGroup) as stopped:
            async with cage(nats, sqlite) as made:
                await made.caught_up(len(messages))
    # Its bytes are not those that were hashed, which is noticed first.
    assert stopped.group_contains(LedgerError, match=f"event {place} does not follow")
    assert max(table.acks, default=0) < place
