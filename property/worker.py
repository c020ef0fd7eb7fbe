"""An archive worker: takes a fair share of the partitions and stores what the hub has of them.

Any number of them can run, on any machines. A worker is nothing but one connection to PostgreSQL,
which its share hangs on, and one to the hub. Where it loses either, it begins again, and its share
is another's meanwhile. What was committed decides what is read next; acknowledgements are for those
who watch the hub.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

import structlog
from nats.aio.client import Client

from events.errors import ArchiveUnavailable, BusError
from property.archive import Archive, Kept, Probe, no_probe
from property.carried import Head
from property.database import connected, migrate
from property.feed import HUB_ERRORS, FeedReader, begin_at, parse_batch
from property.intake import Intake
from property.nats_link import HubSettings, connect
from property.shares import Shares, fair_share
from property.subjects import PARTITIONS, partition_of, split_origin

__all__ = ["run_worker"]

_log = structlog.get_logger()
_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 5.0
_LOOK_S: Final = 1.0
# A gap that the hub cannot fill is looked at again: an uplink may fill it meanwhile.
_GAP_S: Final = 2.0
_GAP_MOST_S: Final = 300.0


async def run_worker(
    archive: str, hub: HubSettings, stop: asyncio.Event, probe: Probe = no_probe
) -> None:
    """Archive until `stop` is set; what is away is waited for.

    Args:
        archive: URL of the PostgreSQL.
        hub: with the role `archive`.
        stop: ends it behind the batch in hand.
        probe: told of each step of a batch.

    Raises:
        ArchiveError: the archive is newer than this build, or another writer moves its heads.
    """
    pause, attempt = _Pause(), 0
    while not stop.is_set():
        try:
            await asyncio.to_thread(migrate, archive)
            client = await connect(hub, attempt)
            try:
                await _session(archive, client, stop, probe, pause)
            finally:
                await _closed(client)
        except (ArchiveUnavailable, *HUB_ERRORS) as error:
            _log.warning("archive_waits", reason=str(error) or type(error).__name__)
            attempt += 1
            await pause.wait(stop)


class _Pause:
    """A pause that grows as long as nothing goes well."""

    def __init__(self) -> None:
        self._s = _FIRST_PAUSE_S

    def well(self) -> None:
        self._s = _FIRST_PAUSE_S

    async def wait(self, stop: asyncio.Event) -> None:
        await _until(stop, self._s)
        self._s = min(self._s * 2, _LONGEST_PAUSE_S)


async def _until(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


async def _closed(client: Client) -> None:
    with suppress(*HUB_ERRORS):
        await client.close()


async def _session(
    archive: str, client: Client, stop: asyncio.Event, probe: Probe, pause: _Pause
) -> None:
    connection = await connected(archive)
    try:
        store = Archive(archive, connection, probe)
        await store.prefer_durable()
        shares = Shares(archive, connection)
        await shares.join()
        await _Worker(client, store, shares, stop, probe, pause).run()
    finally:
        await connection.close()


class _Held(NamedTuple):
    """A partition of ours: what reads it, and how to tell it to end."""

    leaving: asyncio.Event
    task: asyncio.Task[None]


class _Worker:
    """One life of a worker, from its connections to the loss of one of them."""

    def __init__(
        self, client: Client, store: Archive, shares: Shares, stop: asyncio.Event, probe: Probe,
        pause: _Pause,
    ) -> None:  # fmt: skip
        self._client = client
        self._store = store
        self._shares = shares
        self._stop = stop
        self._probe = probe
        self._pause = pause
        self._turn = asyncio.Lock()  # the connection is one
        self._held: dict[int, _Held] = {}
        self._feeds: dict[int, _Feed] = {}

    async def run(self) -> None:
        """Hold a fair share, until `stop` or until something fails."""
        try:
            while not self._stop.is_set():
                if self._client.is_closed:
                    raise BusError("the hub has hung up")
                await self._balance()
                await self._again()
                watched = [held.task for held in self._held.values()]
                watched += [task for feed in self._feeds.values() for task in feed.mending()]
                stopping = asyncio.create_task(self._stop.wait())
                done, _ = await asyncio.wait(
                    [stopping, *watched], timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED
                )
                stopping.cancel()
                for task in done - {stopping}:
                    task.result()  # raises what ended it
        finally:
            await self._leave(list(self._held), give=self._stop.is_set())

    async def _balance(self) -> None:
        async with self._turn:
            workers = await self._shares.workers()
        share = fair_share(workers)
        over = sorted(self._held)[share:]
        if over:
            await self._leave(over, give=True)
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
        feed = _Feed(partition, self._client, self._store, self._turn, self._probe, leaving)
        for origin, table in heads.items():
            feed.heads[origin] = table.head
            if table.state == "stopped":
                feed.stopped.add(origin)
            elif table.state != "running":
                feed.mend(origin)
        task = asyncio.create_task(feed.run(self._pause.well))
        self._held[partition], self._feeds[partition] = _Held(leaving, task), feed
        _log.info("partition_taken", partition=partition, tables=len(heads))

    async def _again(self) -> None:
        """Feeds that a person has released."""
        async with self._turn:
            released = await self._store.released()
        for origin in released:
            feed = self._feeds.get(partition_of(*split_origin(origin)))
            if feed is not None and origin in feed.stopped:
                feed.stopped.discard(origin)
                feed.mend(origin)

    async def _leave(self, partitions: list[int], *, give: bool) -> None:
        """End feeds behind the batch in hand; give their locks back where the connection lives."""
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


class _Feed:
    """One partition, read and stored."""

    def __init__(
        self, partition: int, client: Client, store: Archive, turn: asyncio.Lock, probe: Probe,
        leaving: asyncio.Event,
    ) -> None:  # fmt: skip
        self.heads: dict[str, Head] = {}
        self.stopped: set[str] = set()
        self._partition = partition
        self._client = client
        self._store = store
        self._turn = turn
        self._probe = probe
        self._leaving = leaving
        self._mending: dict[str, asyncio.Task[None]] = {}

    def mending(self) -> list[asyncio.Task[None]]:
        """What looks for something missing, or has failed at it."""
        tasks = self._mending.items()
        over = [origin for origin, task in tasks if task.done() and not task.exception()]
        for origin in over:
            del self._mending[origin]
        return list(self._mending.values())

    async def end(self) -> None:
        """Leave off mending; it goes on with whoever takes the partition."""
        for task in self._mending.values():
            task.cancel()
        await asyncio.gather(*self._mending.values(), return_exceptions=True)

    async def run(self, well: Callable[[], None]) -> None:
        """Read until told to leave. The hub's faults are waited for, the database's end it."""
        pause = _Pause()
        while not self._leaving.is_set():
            try:
                await self._read(partial(_both, pause.well, well))
            except HUB_ERRORS as error:
                if self._client.is_closed:
                    raise
                _log.warning("feed_waits", partition=self._partition, reason=str(error))
                await pause.wait(self._leaving)

    async def _read(self, well: Callable[[], None]) -> None:
        async with self._turn:
            place = await self._store.place(self._partition)
        start = await begin_at(self._client.jetstream(), place)
        if place.sequence and start == 1:
            _log.warning("hub_read_again", partition=self._partition, place=place.sequence)
        reader = await FeedReader.partition(self._client, self._partition, start)
        async with reader:
            while not self._leaving.is_set():
                messages = await reader.next()
                well()
                if not messages:
                    continue
                batch = parse_batch(messages)
                async with self._turn:
                    intake, kept = await self._store.keep(
                        self.heads, batch.events, self.stopped, batch.nonsense,
                        (self._partition, batch.place),
                    )  # fmt: skip
                    self._moved(intake)
                self._told(kept)
                await reader.acknowledge()
                self._probe("acknowledged")

    def _moved(self, intake: Intake) -> None:
        for origin, move in intake.moves.items():
            self.heads[origin] = move.now
        self.stopped |= {fault.origin for fault in intake.faults if fault.stops}

    def _told(self, kept: Kept) -> None:
        for fault in kept.faults:
            _log.error(
                "feed_fault",
                stream=fault.origin,
                kind=fault.kind,
                position=fault.position,
                reason=fault.reason,
            )
            if fault.kind == "gap":
                self.mend(fault.origin)

    def mend(self, origin: str) -> None:
        """Look for what is missing of a table, beside the others, until it is there."""
        standing = self._mending.get(origin)
        if standing is None or standing.done():
            self._mending[origin] = asyncio.create_task(self._mend(origin))

    async def _mend(self, origin: str) -> None:
        pause = _GAP_S
        while True:
            try:
                if await self._mended(origin):
                    return
            except HUB_ERRORS as error:
                _log.warning("gap_waits", stream=origin, reason=str(error))
            await asyncio.sleep(pause)
            pause = min(pause * 2, _GAP_MOST_S)

    async def _mended(self, origin: str) -> bool:
        """Store what the hub has of a table and the archive has not; whether nothing is missing."""
        reader = await FeedReader.table(self._client, origin)
        newest, ended = 0, reader is None
        if reader is not None:
            async with reader:
                while not ended:
                    messages = await reader.next()
                    if not messages:
                        continue
                    batch = parse_batch(messages)
                    async with self._turn:
                        intake, kept = await self._store.keep(
                            self.heads, batch.events, self.stopped, batch.nonsense
                        )
                        self._moved(intake)
                    self._told(Kept(0, 0, [each for each in kept.faults if each.stops]))
                    newest = max((newest, *(each.position for each in batch.events)))
                    ended = batch.behind == 0 or origin in self.stopped
                    await reader.acknowledge()
        if origin in self.stopped:
            return True  # it waits for a person now
        head = self.heads.get(origin) or Head.beginning(origin)
        if newest > head.position:
            return False
        async with self._turn:
            await self._store.mended(origin)
        _log.info("gap_filled", stream=origin, position=head.position)
        return True


def _both(*called: Callable[[], None]) -> None:
    for each in called:
        each()
