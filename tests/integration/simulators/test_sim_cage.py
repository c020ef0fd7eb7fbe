"""The cage over real brokers: each settlement once in effect, none missed, all acknowledged."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from events.errors import BusError
from events.mqtt.bus import BusSettings
from events.types.table import CoupSettled
from simulators.cage.book import BookTotals, SettlementBook
from simulators.cage.service import Anomalies, Cage
from tests.support.brokers.brokers import Broker
from tests.support.cage.feed_table import FeedTable, feed_table, killed_again_and_again
from tests.support.machine.seeds import seeded
from tests.support.machine.tasks import background
from tests.support.machine.waiting import PATIENCE_SECONDS, until
from tests.support.service.small_table import HOST, TOPICS, SmallTable
from tests.support.table.settlements import EVERY, publish_log, published, settlement

COUPS = 8
LOG = publish_log(COUPS)
HEAD = EVERY * COUPS


def _totals(coups: int, position: int) -> BookTotals:
    """By the rule of the made-up log: coup n stakes 1000 n, pays 700 n, commission n."""
    n = coups * (coups + 1) // 2
    return BookTotals(
        settlements=coups, staked=1000 * n, paid=700 * n, commission=n, position=position
    )


async def _append(
    table: FeedTable, positions: Iterable[int] = LOG, *, event: bool = True, money: bool = True
) -> None:
    """Store events; publish them on `event`, and settlements on their own topic too."""
    for position in positions:
        table.head = max(table.head, position)
        if money and position % EVERY == 0:
            await table.send(position, topic=TOPICS.settlement)
        if event:
            await table.send(position)


def _small(table: FeedTable) -> SmallTable:
    assert table.bus is not None
    return table.bus


@asynccontextmanager
async def _both(broker: Broker) -> AsyncIterator[tuple[FeedTable, Cage]]:
    """A table, and a cage that has asked it for all that it has."""
    async with feed_table(broker, LOG) as table, _cage(broker) as cage:
        await until(lambda: table.replays, "it asks for a replay")
        yield table, cage


async def _all_booked(cage: Cage, coups: int = COUPS) -> None:
    await cage.caught_up(EVERY * coups)
    assert cage.totals() == _totals(coups, EVERY * coups)


@asynccontextmanager
async def _cage(broker: Broker, path: Path | None = None) -> AsyncIterator[Cage]:
    cage = Cage(BusSettings(HOST, broker.port, "cage"), TOPICS, path=path)
    async with background(cage.run()), asyncio.timeout(PATIENCE_SECONDS):
        yield cage


async def test_every_settlement_is_booked_once_and_acknowledged(broker: Broker) -> None:
    async with _both(broker) as (table, cage):
        await _append(table)
        await _all_booked(cage)
        assert cage.anomalies == Anomalies()
    assert table.acks[-1] == HEAD
    assert table.acks == sorted(set(table.acks))
    ids = [receipt.settlement.settlement_id for receipt in cage.receipts]
    assert ids == [settlement(coup).settlement_id for coup in range(1, COUPS + 1)]
    times = [receipt.booked_ns for receipt in cage.receipts]
    assert times == sorted(times)


async def test_what_comes_twice_counts_once(nats: Broker) -> None:
    async with _both(nats) as (table, cage):
        for position in LOG:
            await _append(table, 2 * [position])
        await cage.caught_up(HEAD)
        await until(lambda: cage.anomalies.repeated == HEAD, "all came twice")
        assert cage.totals() == _totals(COUPS, HEAD)
        assert cage.anomalies == Anomalies(duplicates=COUPS, repeated=HEAD)


async def test_a_gap_is_seen_and_filled(nats: Broker) -> None:
    lost = {6, 7, 8, 15, HEAD - 2, HEAD - 1}
    async with _both(nats) as (table, cage):
        for position in LOG:
            await _append(table, [position], event=position not in lost, money=position != 8)
        await _all_booked(cage)
        assert cage.anomalies.gaps >= 1
        assert cage.anomalies.conflicts == 0
    assert table.acks[-1] == HEAD


async def test_a_lost_settlement_message_is_read_from_the_events(nats: Broker) -> None:
    async with _both(nats) as (table, cage):
        await _append(table, money=False)
        await _all_booked(cage)
        assert cage.anomalies == Anomalies()


async def test_a_cage_that_comes_late_reads_the_log_from_the_start(broker: Broker) -> None:
    async with feed_table(broker, LOG, head=HEAD) as table, _cage(broker) as cage:
        await _all_booked(cage)
    assert table.replays == [1]
    assert table.acks[-1] == HEAD


async def test_a_cage_that_comes_back_reads_on_from_its_own_place(
    nats: Broker, tmp_path: Path
) -> None:
    path = tmp_path / "cage.sqlite"
    async with feed_table(nats, LOG, head=5 * EVERY) as table:
        async with _cage(nats, path) as cage:
            await cage.caught_up(table.head)
        table.head = HEAD
        async with _cage(nats, path) as cage:
            await _all_booked(cage)
            assert len(cage.receipts) == COUPS - 5
    assert table.replays == [1, 5 * EVERY + 1]


async def test_a_replay_that_brings_nothing_is_asked_for_again(nats: Broker) -> None:
    async with feed_table(nats, LOG) as table:
        table.head, table.lost_replays = HEAD, set(LOG)
        async with _cage(nats) as cage:
            await _all_booked(cage)
    assert table.replays == [1, 1]


async def test_a_broker_killed_and_wiped_loses_the_cage_nothing(broker: Broker) -> None:
    async with _both(broker) as (table, cage):
        await _append(table, range(1, HEAD // 2))
        broker.kill()
        await until(lambda: _small(table).client is None, "the broker is away")
        table.head = HEAD  # the table goes on meanwhile; nobody hears of it
        broker.restart(wipe=True)
        await _all_booked(cage)
        assert cage.anomalies.duplicates == 0
    assert table.acks[-1] == HEAD


async def test_junk_is_counted_and_changes_nothing(nats: Broker) -> None:
    broken = published(1, CoupSettled(coup="x", settlement=settlement(1)))
    junk = [b"", b"\xff", b"[" * 50_000, b"{}", broken.replace(b'"v":1', b'"v":9')]
    async with _both(nats) as (table, cage):
        for raw in junk:
            await _small(table).publish(TOPICS.settlement, raw)
        await until(lambda: cage.anomalies.junk == len(junk), "all of it is counted")
        assert cage.totals() == _totals(0, 0)


async def test_a_settlement_of_a_newer_build_stops_the_cage(nats: Broker) -> None:
    log = dict(LOG)
    log[EVERY] = log[EVERY].replace(b'"v":1', b'"v":9')
    async with feed_table(nats, log, head=HEAD) as table:
        cage = Cage(BusSettings(HOST, nats.port, "cage"), TOPICS)
        async with asyncio.timeout(PATIENCE_SECONDS):
            with pytest.raises(ExceptionGroup) as failed:
                await cage.run()
    assert failed.group_contains(BusError, match="this build cannot read")
    assert max(table.acks, default=0) < EVERY


async def test_a_refused_acknowledgement_stops_the_cage(nats: Broker, tmp_path: Path) -> None:
    path = tmp_path / "cage.sqlite"
    book = SettlementBook(path)
    book.read_to(HEAD + 1)  # from a log that was longer: not the one that this table has
    book.close()
    async with feed_table(nats, LOG, head=HEAD):
        cage = Cage(BusSettings(HOST, nats.port, "cage"), TOPICS, path=path)
        async with asyncio.timeout(PATIENCE_SECONDS):
            with pytest.raises(ExceptionGroup) as failed:
                await cage.run()
    assert failed.group_contains(BusError, match="refused to be acknowledged")


CHILD = """
import asyncio, sys
from pathlib import Path
from events.mqtt.bus import BusSettings
from events.mqtt.topics import Topics
from simulators.cage.service import Cage
cage = Cage(BusSettings("127.0.0.1", int(sys.argv[1]), "cage"), Topics("site", "t1"),
            path=Path(sys.argv[2]))
asyncio.run(cage.run())
"""


async def test_a_cage_killed_again_and_again_books_everything_once(
    nats: Broker, tmp_path: Path
) -> None:
    rng, path = seeded(), tmp_path / "cage.sqlite"
    coups = 40
    log = publish_log(coups)
    async with feed_table(nats, log) as table, asyncio.timeout(PATIENCE_SECONDS):

        async def play(killed: list[int]) -> None:
            """The last third waits for two kills: a process may take as long to start."""
            for position in log:
                due = min(3 * position // len(log), 2)
                await until(lambda due=due: len(killed) >= due, "one is killed")
                await _append(table, [position])
                await asyncio.sleep(rng.uniform(0, 0.008))

        command = [sys.executable, "-c", CHILD, str(nats.port), str(path)]
        killed = await killed_again_and_again(command, play, table.replays, rng, 0.1)
        async with _cage(nats, path) as cage:
            await _all_booked(cage, coups)
            assert cage.anomalies.conflicts == 0
            # A killed one may have booked it all, so that this one has that still to say.
            await until(lambda: table.acks[-1:] == [EVERY * coups], "the last is acknowledged")
    assert len(killed) >= 2
