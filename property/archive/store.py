"""Writes the archive: stores events, heads and the stream position together, in one transaction.

**One writer a partition**, by an advisory lock (`property.archive.partition_consumer`). The archive
also refuses a second writer's batch: a head moves only from where its writer last saw it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import tuple_row

from events.errors import ArchiveError
from events.free_text import escape_nul
from events.mqtt.process import no_probe
from property.archive.batch import ArchiveRow, BatchPlan, FeedFault, plan_batch
from property.archive.database import translate_archive_errors
from property.archive.rows import TableEvents, archived_hash, write_events
from property.hub.replicated_event import Head, ReplicatedEvent
from property.hub.subjects import EditionKind, partition_of, split_origin
from property.hub.uplink_status import UplinkStatus

__all__ = [
    "Archive",
    "Edition",
    "Probe",
    "StoreResult",
    "StreamPosition",
    "TableHead",
    "release",
    "store_editions",
]

_STORE: Final = """
INSERT INTO property.edition (hash, kind, name, source) VALUES (%s, %s, %s, %s)
ON CONFLICT (hash, kind) DO NOTHING
"""


class Edition(NamedTuple):
    """An edition to archive.

    Args:
        kind: the kind of document.
        name: the id inside the document.
        source: the document's bytes.
    """

    kind: EditionKind
    name: str
    source: bytes


async def store_editions(
    url: str, connection: AsyncConnection, editions: Sequence[Edition]
) -> None:
    """Store editions; those already in the archive stay.

    Args:
        url: for error messages.
        connection: to the archive.
        editions: to store.

    Raises:
        ArchiveUnavailable: the database does not answer.
    """
    rows = [(sha256(each.source).hexdigest(), *each) for each in editions]
    with translate_archive_errors(url):
        async with connection.transaction(), connection.cursor() as cursor:
            await cursor.executemany(_STORE, rows)


Probe = Callable[[str], None]
"""Called at each step, for tests that kill a process in the middle of a batch."""
# PostgreSQL's errors about a value, not itself: out of range, too long for an index, too deep.
_REFUSED: Final = (
    psycopg.DataError,
    psycopg.IntegrityError,
    psycopg.errors.ProgramLimitExceeded,
    psycopg.errors.StatementTooComplex,
)
_MOVE: Final = """
INSERT INTO property.head AS h (site, "table", position, hash, at, stored_at, state)
SELECT site, "table", position, hash, at, clock_timestamp(), 'running'
FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bytea[], %s::timestamptz[])
    AS now (site, "table", position, hash, at)
ON CONFLICT (site, "table") DO UPDATE SET
    position = excluded.position, hash = excluded.hash, at = excluded.at,
    stored_at = excluded.stored_at
WHERE (h.site, h."table", h.position, h.hash) IN (
    SELECT * FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bytea[])
)
RETURNING h.site || '/' || h."table", h.id, coalesce((
    SELECT s.document::text FROM property.state s WHERE s.table_id = h.id
), '')
"""
_ALARM: Final = """
INSERT INTO property.feed_alarm (site, "table", kind, position, reason) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (site, "table", kind) WHERE cleared_at IS NULL DO NOTHING
"""
# The alarm shows the newest reason, and the time at which it was raised first.
_STOPPED: Final = _ALARM.replace(
    "DO NOTHING", "DO UPDATE SET position = excluded.position, reason = excluded.reason"
)
_STATE: Final = """
INSERT INTO property.head AS h (site, "table", position, hash, state) VALUES (%s, %s, 0, %s, %s)
ON CONFLICT (site, "table") DO UPDATE SET state = excluded.state
WHERE h.state <> 'stopped' OR excluded.state = 'stopped'
"""
_PLACE: Final = """
INSERT INTO property.feed AS f (partition, sequence, hash, stream) VALUES (%s, %s, %s, %s)
ON CONFLICT (partition) DO UPDATE SET
    sequence = excluded.sequence, hash = excluded.hash, stream = excluded.stream
"""
_CLEAR: Final = """
UPDATE property.feed_alarm SET cleared_at = clock_timestamp(), cleared_by = %s
WHERE site = %s AND "table" = %s AND cleared_at IS NULL
"""
_ORIGIN: Final = attrgetter("origin")
# The alarm of a stopped uplink; only a running uplink clears it.
_UPLINK: Final = "uplink"


class StreamPosition(NamedTuple):
    """The position up to which a partition of the hub's stream was read.

    Args:
        sequence: the newest message's.
        hash: from that message's header.
        stream: the stream's creation time: a stream that is created again counts from 1 again.
    """

    sequence: int = 0
    hash: bytes = b""
    stream: str = ""


class TableHead(NamedTuple):
    """A table's head in the archive, and the state of its feed."""

    head: Head
    state: str


class StoreResult(NamedTuple):
    """The result of storing a batch.

    Args:
        stored: number of stored events.
        repeated: number of tables that sent duplicates.
        faults: the faults, each of them recorded.
    """

    stored: int
    repeated: int
    faults: list[FeedFault]


class Archive:
    """The archive through one connection; make one call at a time.

    Args:
        url: for error messages.
        connection: in autocommit mode, as returned by `property.archive.database.connect_archive`.
        probe: called at each step of a batch.
    """

    def __init__(self, url: str, connection: AsyncConnection, probe: Probe = no_probe) -> None:
        self._url = url
        self._connection = connection
        self._probe = probe

    async def prefer_durable(self) -> None:
        """Require that the server syncs each commit to disk, whatever its default is.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        with translate_archive_errors(self._url):
            await self._connection.execute(
                "SELECT set_config('synchronous_commit', 'on', false) "
                "WHERE current_setting('synchronous_commit') = 'off'"
            )

    async def editions(self, editions: Sequence[Edition]) -> None:
        """Store editions; what is there already stays.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        await store_editions(self._url, self._connection, editions)

    async def place(self, partition: int) -> StreamPosition:
        """Return the position up to which a partition was read.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        asked = "SELECT sequence, hash, stream FROM property.feed WHERE partition = %s"
        row = await self._one(asked, (partition,))
        return StreamPosition(row[0], bytes(row[1]), row[2]) if row else StreamPosition()

    async def heads(self, partition: int) -> dict[str, TableHead]:
        """Return the heads of a partition's tables, by origin.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        asked = 'SELECT site, "table", position, hash, state FROM property.head'
        with translate_archive_errors(self._url):
            async with self._cursor() as cursor:
                await cursor.execute(asked)
                rows = await cursor.fetchall()
        return {
            f"{site}/{table}": TableHead(Head(position, bytes(digest)), state)
            for site, table, position, digest, state in rows
            if partition_of(site, table) == partition
        }

    async def changed_by_persons(self) -> dict[str, TableHead]:
        """Return the heads of the feeds that are stopped, or that a person has released.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        asked = """
            SELECT site, "table", position, hash, state FROM property.head
            WHERE state IN ('stopped', 'released')
        """
        with translate_archive_errors(self._url):
            async with self._cursor() as cursor:
                await cursor.execute(asked)
                return {
                    f"{site}/{table}": TableHead(Head(position, bytes(digest)), state)
                    for site, table, position, digest, state in await cursor.fetchall()
                }

    async def keep(
        self, heads: Mapping[str, Head], batch: Sequence[ReplicatedEvent], stopped: Iterable[str],
        nonsense: Sequence[FeedFault] = (), place: tuple[int, StreamPosition] | None = None,
    ) -> tuple[BatchPlan, StoreResult]:  # fmt: skip
        """Store a batch and the stream position together, or nothing.

        Args:
            heads: the tables' heads; the caller moves them by the returned plan.
            batch: in the hub's order.
            stopped: origins to skip.
            nonsense: faults of messages that were no events, for the record.
            place: the partition, and its stream position after this batch.

        Raises:
            ArchiveUnavailable: the database did not store the batch.
            ArchiveError: another writer has moved a head.
        """
        with translate_archive_errors(self._url):
            intake = await self._check_duplicates(plan_batch(heads, batch, stopped))
            self._probe("keep.before")
            try:
                await self._write(intake, nonsense, place)
            except _REFUSED:
                intake = await self._write_by_table(intake)
                await self._write(intake._replace(rows=[], moves={}), nonsense, place)
            self._probe("keep.after")
        faults = [*intake.faults, *nonsense]
        return intake, StoreResult(len(intake.rows), len(intake.repeated), faults)

    async def mended(self, origin: str) -> None:
        """Record that a table's feed runs again, after a filled gap or a release.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        site, table = split_origin(origin)
        running = "UPDATE property.head SET state = 'running' WHERE site = %s AND \"table\" = %s"
        with translate_archive_errors(self._url):
            async with self._connection.transaction():
                await self._connection.execute(
                    f"{running} AND state IN ('gap', 'released')", (site, table)
                )
                await self._connection.execute(f"{_CLEAR} AND kind = 'gap'", ("", site, table))

    async def uplink(self, origin: str, word: UplinkStatus) -> None:
        """Record that a table's uplink has stopped, or that it runs again.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        site, table = split_origin(origin)
        with translate_archive_errors(self._url):
            if word.state == "stopped":
                given = (site, table, _UPLINK, word.position, f"{word.code}: {word.reason}")
                await self._connection.execute(_STOPPED, given)
            else:
                clear = f"{_CLEAR} AND kind = %s"
                await self._connection.execute(clear, (word.by, site, table, _UPLINK))

    async def _check_duplicates(self, intake: BatchPlan) -> BatchPlan:
        """Compare duplicates with the archived hashes, and turn each difference into a fork."""
        if not intake.repeated:
            return intake
        ours: dict[str, bytes] = {}
        async with self._cursor() as cursor:
            for origin, each in intake.repeated.items():
                asked = 'SELECT id FROM property.head WHERE site = %s AND "table" = %s'
                await cursor.execute(asked, split_origin(origin))
                row = await cursor.fetchone()
                if row is None:
                    continue
                digest = await archived_hash(cursor, row[0], origin, each.position)
                if digest is not None:
                    ours[origin] = digest
        forks = [
            FeedFault(
                origin,
                "fork",
                each.position,
                f"comes with hash {each.hash.hex()}, and is archived with {ours[origin].hex()}",
            )
            for origin, each in intake.repeated.items()
            if origin in ours and ours[origin] != each.hash
        ]
        if not forks:
            return intake
        named = {fork.origin for fork in forks}
        return _without(intake, named)._replace(
            faults=[*(each for each in intake.faults if each.origin not in named), *forks]
        )

    async def _write(
        self,
        intake: BatchPlan,
        nonsense: Sequence[FeedFault],
        place: tuple[int, StreamPosition] | None,
    ) -> None:
        async with self._connection.transaction(), self._cursor() as cursor:
            if intake.rows:
                tables = await self._move(cursor, intake)
                by_table: dict[str, list[ArchiveRow]] = {origin: [] for origin in intake.moves}
                for row in intake.rows:
                    by_table[row.origin].append(row)
                moves = intake.moves
                await write_events(
                    cursor,
                    [
                        TableEvents(tables[o][0], moves[o].was, rows, tables[o][1])
                        for o, rows in by_table.items()
                    ],
                )
                self._probe("keep.copied")
            await _record(cursor, [*intake.faults, *nonsense])
            if place is not None:
                await cursor.execute(_PLACE, (place[0], *place[1]))
            self._probe("keep.written")

    async def _move(
        self, cursor: AsyncCursor[Any], intake: BatchPlan
    ) -> dict[str, tuple[int, str]]:
        """Move the heads, and return the number and the state of each table."""
        tables = [split_origin(origin) for origin in intake.moves]
        sites, names = [site for site, _ in tables], [table for _, table in tables]
        moves = intake.moves.values()
        now = [[each.now.position for each in moves], [each.now.hash for each in moves]]
        was = [[each.was.position for each in moves], [each.was.hash for each in moves]]
        times = [each.at for each in moves]
        await cursor.execute(_MOVE, (sites, names, *now, times, sites, names, *was))
        moved = {origin: (number, told) for origin, number, told in await cursor.fetchall()}
        if len(moved) != len(tables):
            raise ArchiveError(
                f"{len(tables) - len(moved)} of {len(tables)} heads were moved by another "
                f"writer; nothing was stored"
            )
        return moved

    async def _write_by_table(self, intake: BatchPlan) -> BatchPlan:
        """Store table by table; a refusal of the database becomes that table's fault."""
        done = BatchPlan([], {}, list(intake.faults), intake.repeated)
        for origin, rows in groupby(sorted(intake.rows, key=_ORIGIN), key=_ORIGIN):
            part = BatchPlan(list(rows), {origin: intake.moves[origin]}, [], {})
            try:
                await self._write(part, (), None)
            except _REFUSED as error:
                said = " ".join(str(error).split())
                done.faults.append(
                    FeedFault(origin, "unreadable", part.rows[0].position, f"not stored: {said}")
                )
            else:
                done.rows.extend(part.rows)
                done.moves.update(part.moves)
        return done

    async def _one(self, asked: str, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
        with translate_archive_errors(self._url):
            async with self._cursor() as cursor:
                await cursor.execute(asked, given)
                return await cursor.fetchone()

    def _cursor(self) -> AsyncCursor[tuple[Any, ...]]:
        return self._connection.cursor(row_factory=tuple_row)


async def release(url: str, connection: AsyncConnection, origin: str, by: str) -> bool:
    """Release a stopped feed after a person's inspection; return whether it was stopped.

    Args:
        url: for error messages.
        connection: to the archive.
        origin: `<site>/<table>`.
        by: the person, for the record.

    Raises:
        ArchiveUnavailable: the database does not answer.
    """
    site, table = split_origin(origin)
    with translate_archive_errors(url):
        async with connection.transaction(), connection.cursor() as cursor:
            await cursor.execute(f"{_CLEAR} AND kind <> %s", (by, site, table, _UPLINK))
            await cursor.execute(
                "UPDATE property.head SET state = 'released' WHERE site = %s AND \"table\" = %s "
                "AND state = 'stopped'",
                (site, table),
            )
            return cursor.rowcount == 1


async def _record(cursor: AsyncCursor[Any], faults: Iterable[FeedFault]) -> None:
    for fault in faults:
        site, table = split_origin(fault.origin)
        if fault.kind != "nonsense":
            beginning = Head.beginning(fault.origin).hash
            state = "stopped" if fault.stops else "gap"
            await cursor.execute(_STATE, (site, table, beginning, state))
        reason = escape_nul(fault.reason)
        await cursor.execute(_ALARM, (site, table, fault.kind, fault.position, reason))


def _without(intake: BatchPlan, origins: set[str]) -> BatchPlan:
    return intake._replace(
        rows=[row for row in intake.rows if row.origin not in origins],
        moves={each: move for each, move in intake.moves.items() if each not in origins},
        repeated={each: event for each, event in intake.repeated.items() if each not in origins},
    )
