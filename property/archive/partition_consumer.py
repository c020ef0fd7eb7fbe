"""The consumer of one partition of the hub's stream: stores its events and fills gaps.

Tasks of their own fill the gaps, so that a gap of one table does not delay the others.

Assigns partitions to archive workers by PostgreSQL advisory locks. A worker owns a partition while
its connection holds the partition's lock. A worker that dies or is cut off loses its connection,
and the server releases its locks. A worker that hangs sends no query, and the server closes an idle
connection. Workers count one another by a shared lock.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from nats.aio.client import Client
from psycopg import AsyncConnection

from events.errors import BusError
from events.mqtt.backoff import Backoff
from events.structured_log import structlog
from property.archive.batch import BatchPlan
from property.archive.database import translate_archive_errors
from property.archive.store import Archive, Probe, StoreResult
from property.archive.stream_reader import (
    HUB_ERRORS,
    StreamReader,
    parse_batch,
    reader_jetstream,
    resume_sequence,
)
from property.background_tasks import TaskBackoff
from property.hub.replicated_event import Head
from property.hub.subjects import EVENTS, PARTITIONS, notice_filter, partition_filter

__all__ = ["WORKERS_LOCK", "PartitionConsumer", "PartitionLocks", "fair_share"]

WORKERS_LOCK: Final = 0x62616370
"""The class of the advisory locks, "bacp" in ASCII. All workers share lock 0; one holds each other.
"""
# A worker counts the workers every second; one that has not done so for 8 s hangs.
_HANGS: Final = "SET idle_session_timeout = '8s'"
_WORKERS: Final = """
SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
WHERE locktype = 'advisory' AND classid = %s AND objid = 0 AND objsubid = 2 AND granted
    AND datname = current_database()
"""


def fair_share(workers: int) -> int:
    """Return how many partitions each of this many workers may hold."""
    return -(-PARTITIONS // max(workers, 1))


class PartitionLocks:
    """The partition locks of one worker.

    Args:
        url: the archive's, for error messages.
        connection: the worker's only connection: it holds the locks and does all writes.
    """

    def __init__(self, url: str, connection: AsyncConnection) -> None:
        self._url = url
        self._connection = connection

    async def join(self) -> None:
        """Join the workers, and stay counted as long as this worker sends queries.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        with translate_archive_errors(self._url):
            await self._connection.execute(_HANGS)
        await self._ask("SELECT pg_advisory_lock_shared(%s, 0)", WORKERS_LOCK)

    async def workers(self) -> int:
        """Return the number of workers, this one included.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        return await self._ask(_WORKERS, WORKERS_LOCK)

    async def try_take(self, partition: int) -> bool:
        """Try to lock a free partition; return whether it succeeded.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        taken = await self._ask(
            "SELECT pg_try_advisory_lock(%s, %s)::int", WORKERS_LOCK, partition + 1
        )
        return bool(taken)

    async def give(self, partition: int) -> None:
        """Release a partition.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        await self._ask("SELECT pg_advisory_unlock(%s, %s)::int", WORKERS_LOCK, partition + 1)

    async def _ask(self, asked: str, *given: int) -> int:
        with translate_archive_errors(self._url):
            async with self._connection.cursor() as cursor:
                await cursor.execute(asked, given)
                row = await cursor.fetchone()
        return int(row[0]) if row and row[0] not in {None, ""} else 0


_log = structlog.get_logger()
# Seconds until the consumer retries a gap that the hub could not fill: an uplink may fill it.
_GAP_S: Final = 2.0
_GAP_MOST_S: Final = 300.0


class PartitionConsumer:
    """Reads one partition and stores its events."""

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
        self._gap_tasks: dict[str, asyncio.Task[None]] = {}

    def gap_tasks(self) -> list[asyncio.Task[None]]:
        """Return the tasks that fill gaps, including those that have failed."""
        tasks = self._gap_tasks.items()
        over = [origin for origin, task in tasks if task.done() and not task.exception()]
        for origin in over:
            del self._gap_tasks[origin]
        return list(self._gap_tasks.values())

    async def end(self) -> None:
        """Stop filling gaps; the partition's next owner continues."""
        for task in self._gap_tasks.values():
            task.cancel()
        await asyncio.gather(*self._gap_tasks.values(), return_exceptions=True)

    async def run(self, well: Callable[[], None]) -> None:
        """Read until told to leave. Retry after a fault of the hub; raise one of the database."""
        pause = TaskBackoff()
        while not self._leaving.is_set():
            try:
                await self._read(partial(_both, pause.reset, well))
            except HUB_ERRORS as error:
                if self._client.is_closed:
                    raise
                _log.warning("feed_waits", partition=self._partition, reason=str(error))
                await pause.wait(self._leaving)

    async def _read(self, well: Callable[[], None]) -> None:
        async with self._turn:
            place = await self._store.place(self._partition)
        start, stream = await resume_sequence(reader_jetstream(self._client), place)
        if place.sequence and start == 1:
            _log.warning("hub_read_again", partition=self._partition, place=place.sequence)
        async with StreamReader(
            self._client,
            EVENTS,
            stream,
            start,
            partition_filter(self._partition),
            notices=notice_filter(self._partition),
        ) as reader:
            while not self._leaving.is_set():
                messages = await reader.next()
                well()
                if not messages:
                    continue
                batch = parse_batch(messages)
                async with self._turn:
                    intake, kept = await self._store.keep(
                        self.heads, batch.events, self.stopped, batch.nonsense,
                        (self._partition, batch.place._replace(stream=stream)),
                    )  # fmt: skip
                    self._moved(intake)
                self._told(kept)
                self._probe("told")

    def _moved(self, intake: BatchPlan) -> None:
        for origin, move in intake.moves.items():
            self.heads[origin] = move.now
        self.stopped |= {fault.origin for fault in intake.faults if fault.stops}

    def _told(self, kept: StoreResult) -> None:
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
        """Start a task that fills a table's gap, unless one is running."""
        standing = self._gap_tasks.get(origin)
        if standing is None or standing.done():
            self._gap_tasks[origin] = asyncio.create_task(self._fill_gap(origin))

    async def _fill_gap(self, origin: str) -> None:
        pause = Backoff(_GAP_S, _GAP_MOST_S)
        while True:
            try:
                if await self._mended(origin):
                    return
            except HUB_ERRORS as error:
                _log.warning("gap_waits", stream=origin, reason=str(error))
            await asyncio.sleep(pause.next_s())

    async def _mended(self, origin: str) -> bool:
        """Store a table's events that only the hub has; return whether nothing is missing."""
        reader = await StreamReader.table(self._client, origin)
        newest, ended = 0, reader is None
        if reader is not None:
            async with reader:
                while not ended:
                    messages = await reader.next()
                    if not messages:
                        raise BusError(f"of {origin} not all has come that is on the hub")
                    batch = parse_batch(messages)
                    async with self._turn:
                        intake, kept = await self._store.keep(
                            self.heads, batch.events, self.stopped, batch.nonsense
                        )
                        self._moved(intake)
                    self._told(StoreResult(0, 0, [each for each in kept.faults if each.stops]))
                    newest = max((newest, *(each.position for each in batch.events)))
                    ended = batch.place.sequence >= reader.until or origin in self.stopped
        if origin in self.stopped:
            return True  # the feed waits for a person now
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
