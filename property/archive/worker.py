"""An archive worker: takes a fair share of the partitions and stores their events.

Any number of workers can run, on any machines. A worker has one connection to PostgreSQL, which
holds its partition locks, and one to the hub. If it loses either, it starts again, and others take
its partitions meanwhile. The committed position alone decides where reading continues.
"""

import asyncio
import socket
from collections.abc import Sequence
from typing import Final, NamedTuple

from nats.aio.client import Client

from events.errors import ArchiveUnavailable, BusError
from events.mqtt.process import no_probe
from events.structured_log import structlog
from property.archive.database import connect_archive, migrate
from property.archive.partition_consumer import PartitionConsumer, PartitionLocks, fair_share
from property.archive.readings import ReadingStore
from property.archive.rebuild import read_earlier
from property.archive.rounds import LocalReadings, go_rounds
from property.archive.store import Archive, Edition, Probe, store_editions
from property.archive.stream_listener import ReadEdition, hear_editions, record_uplink_statuses
from property.archive.stream_reader import HUB_ERRORS
from property.background_tasks import TaskBackoff, end_tasks
from property.hub.connection import HubSettings, connect, hang_up
from property.hub.subjects import PARTITIONS, partition_of, split_origin

__all__ = ["run_worker"]

_log = structlog.get_logger()
_LOOK_S: Final = 1.0


async def run_worker(
    archive: str,
    hub: HubSettings,
    stop: asyncio.Event,
    read: ReadEdition,
    probe: Probe = no_probe,
    editions: Sequence[Edition] = (),
    local: LocalReadings = tuple,
) -> None:
    """Archive until `stop` is set; retry while the hub or the database is unavailable.

    Args:
        archive: the database's URL.
        hub: the hub, with the role `archive`.
        stop: ends the worker after the current batch.
        read: judges the editions that uplinks carry.
        probe: called at each step of a batch.
        editions: the editions of this build, which the next build may lack.
        local: reads this machine: its disk, certificates and backups.

    Raises:
        ArchiveError: the archive is newer than this build, or another writer moves its heads.
    """
    pause, attempt, tls = TaskBackoff(), 0, hub.tls()
    while not stop.is_set():
        try:
            await asyncio.to_thread(migrate, archive)
            await _prepare(archive, editions)
            client = await connect(hub, attempt, tls)
            try:
                await _session(archive, client, stop, read, probe, pause, _Rounds(hub, local))
            finally:
                await hang_up(client)
        except (ArchiveUnavailable, *HUB_ERRORS) as error:
            _log.warning("archive_waits", reason=str(error) or type(error).__name__)
            attempt += 1
            await pause.wait(stop)


async def _prepare(archive: str, editions: Sequence[Edition]) -> None:
    connection = await connect_archive(archive)
    try:
        async for origin in read_earlier(archive, connection):
            _log.info("earlier_events_packed", stream=origin)
        await store_editions(archive, connection, editions)
    finally:
        await connection.close()


async def _session(
    archive: str,
    client: Client,
    stop: asyncio.Event,
    read: ReadEdition,
    probe: Probe,
    pause: TaskBackoff,
    rounds: "_Rounds",
) -> None:
    connection = await connect_archive(archive)
    try:
        store = Archive(archive, connection, probe)
        await store.prefer_durable()
        shares = PartitionLocks(archive, connection)
        await shares.join()
        pulses = ReadingStore(archive, connection)
        name = await pulses.take_slot(socket.gethostname())
        await _Worker(client, store, shares, stop, read, probe, pause).run(rounds, pulses, name)
        await pulses.forget("worker", name)
    finally:
        await connection.close()


class _Rounds(NamedTuple):
    """What a worker looks at beside the events: the hub's nodes, and its machine."""

    hub: HubSettings
    local: LocalReadings


class _OwnedPartition(NamedTuple):
    """A partition of this worker: the task that reads it, and the event that ends the task."""

    leaving: asyncio.Event
    task: asyncio.Task[None]


class _Worker:
    """A worker's session, from its connections to the loss of one of them."""

    def __init__(
        self, client: Client, store: Archive, shares: PartitionLocks, stop: asyncio.Event,
        read: ReadEdition, probe: Probe, pause: TaskBackoff,
    ) -> None:  # fmt: skip
        self._client = client
        self._store = store
        self._shares = shares
        self._stop = stop
        self._read = read
        self._probe = probe
        self._pause = pause
        self._turn = asyncio.Lock()  # all share one connection
        self._held: dict[int, _OwnedPartition] = {}
        self._feeds: dict[int, PartitionConsumer] = {}

    async def run(self, rounds: "_Rounds", pulses: ReadingStore, name: str) -> None:
        """Hold a fair share of the partitions until `stop` is set or something fails.

        Args:
            rounds: what is looked at beside the events.
            pulses: keeps what is found.
            name: this worker's.
        """
        given = (self._client, self._store, self._turn)
        hearing = [
            asyncio.create_task(record_uplink_statuses(*given, pulses, self._owns)),
            asyncio.create_task(hear_editions(*given, self._read)),
            asyncio.create_task(
                go_rounds(self._client, rounds.hub, pulses, self._turn, name, rounds.local)
            ),
        ]
        try:
            while not self._stop.is_set():
                if self._client.is_closed:
                    raise BusError("the hub has hung up")
                await self._balance()
                await self._again()
                watched = [*hearing, *(held.task for held in self._held.values())]
                watched += [task for feed in self._feeds.values() for task in feed.gap_tasks()]
                stopping = asyncio.create_task(self._stop.wait())
                done, _ = await asyncio.wait(
                    [stopping, *watched], timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED
                )
                stopping.cancel()
                for task in done - {stopping}:
                    task.result()  # raises what ended it
        finally:
            await end_tasks(hearing)
            await self._end_consumers(list(self._held), give=self._stop.is_set())

    def _owns(self, origin: str) -> bool:
        return partition_of(*split_origin(origin)) in self._held

    async def _balance(self) -> None:
        async with self._turn:
            workers = await self._shares.workers()
        share = fair_share(workers)
        over = sorted(self._held)[share:]
        if over:
            await self._end_consumers(over, give=True)
        for number in range(PARTITIONS):
            if len(self._held) >= share:
                return
            if number in self._held:
                continue
            async with self._turn:
                taken = await self._shares.try_take(number)
            if taken:
                await self._begin(number)

    async def _begin(self, partition: int) -> None:
        leaving = asyncio.Event()
        async with self._turn:
            heads = await self._store.heads(partition)
        feed = PartitionConsumer(
            partition, self._client, self._store, self._turn, self._probe, leaving
        )
        for origin, table in heads.items():
            feed.heads[origin] = table.head
            if table.state == "stopped":
                feed.stopped.add(origin)
            elif table.state != "running":
                feed.mend(origin)
        task = asyncio.create_task(feed.run(self._pause.reset))
        self._held[partition], self._feeds[partition] = _OwnedPartition(leaving, task), feed
        _log.info("partition_taken", partition=partition, tables=len(heads))

    async def _again(self) -> None:
        """Stop the feeds that a person settles, and resume those that one has released."""
        async with self._turn:
            changed = await self._store.changed_by_persons()
        for origin, table in changed.items():
            feed = self._feeds.get(partition_of(*split_origin(origin)))
            if feed is None:
                continue
            if table.state == "stopped":
                feed.stopped.add(origin)
            else:
                feed.heads[origin] = table.head
                feed.stopped.discard(origin)
                feed.mend(origin)

    async def _end_consumers(self, partitions: list[int], *, give: bool) -> None:
        """End consumers after their current batch, and release their locks if they ended well."""
        leaving = [(number, self._held.pop(number)) for number in partitions]
        for number, held in leaving:
            held.leaving.set()
            if not give:
                held.task.cancel()
            await self._feeds.pop(number).end()
        await asyncio.gather(*(held.task for _, held in leaving), return_exceptions=True)
        for number, held in leaving:
            if give and not held.task.cancelled() and held.task.exception() is None:
                async with self._turn:
                    await self._shares.give(number)
                _log.info("partition_given", partition=number)
