"""Settles a table's feed in the archive: events that give way are kept as evidence, on record.

The worker that has the table learns of it within a second: it takes nothing of a feed that is
stopped, and goes on from the archive's head when it is released.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from psycopg import AsyncConnection, AsyncCursor

from events.errors import ArchiveError, InputError
from property.archive.database import translate_archive_errors
from property.archive.rebuild import take_back
from property.archive.rows import archived_hash, read_events
from property.archive.settlement import CoveredEvents, FeedSettlement
from property.hub.replicated_event import ReplicatedEvent
from property.hub.subjects import continued_origin, split_origin

__all__ = ["TableSettler"]

# A worker looks for stopped and released feeds every second.
_SEEN_S: Final = 2.5
_HEAD: Final = 'SELECT id, position FROM property.head WHERE site = %s AND "table" = %s'
_STATE: Final = 'UPDATE property.head SET state = %s WHERE site = %s AND "table" = %s'
_CLEARED: Final = """
UPDATE property.feed_alarm SET cleared_at = clock_timestamp(), cleared_by = %s
WHERE site = %s AND "table" = %s AND cleared_at IS NULL
"""
_SETTLED: Final = """
INSERT INTO property.settled (site, "table", keep, by, reason, goes_on_as)
VALUES (%s, %s, %s, %s, %s, %s) RETURNING id
"""
_GIVEN_WAY: Final = """
INSERT INTO property.given_way (settled, seen_in, position, hash, bytes) VALUES (%s, %s, %s, %s, %s)
"""


class TableSettler:
    """Settles one table through a connection to the archive.

    Args:
        url: for error messages.
        connection: in autocommit mode.
        origin: `<site>/<table>`.
    """

    def __init__(self, url: str, connection: AsyncConnection, origin: str) -> None:
        self._url, self._connection, self._origin = url, connection, origin
        self._names = split_origin(origin)

    async def stop(self) -> None:
        """Have the table's worker take nothing more of it; wait until it knows."""
        with translate_archive_errors(self._url):
            await self._connection.execute(_STATE, ("stopped", *self._names))
        await asyncio.sleep(_SEEN_S)

    async def hold(self, covered: CoveredEvents) -> int:
        """Hold the archived events against signed checkpoints; return the archive's head.

        Raises:
            ArchiveError: the archive has no such table, or not its first events any more.
        """
        with translate_archive_errors(self._url):
            async with self._connection.transaction(), self._connection.cursor() as cursor:
                number, head = await self._head(cursor)
                place = 0
                async for part in read_events(cursor, number, self._origin):
                    for each in part:
                        place += 1
                        if each.position != place:
                            said = "its first events are not kept here: a person decides, by --from"
                            raise ArchiveError(f"{self._origin}: {said}")
                        covered.take(each.stored)
                return head

    async def differing(self, held: Sequence[ReplicatedEvent], keep: int) -> list[ReplicatedEvent]:
        """Return those of the hub's events that the archive does not keep, for evidence."""
        since = min((each.position for each in held), default=keep + 1)
        own: dict[int, bytes] = {}
        with translate_archive_errors(self._url):
            async with self._connection.transaction(), self._connection.cursor() as cursor:
                number, _ = await self._head(cursor)
                async for part in read_events(cursor, number, self._origin, since):
                    own |= {each.position: each.hash for each in part if each.position <= keep}
        return [
            each
            for each in held
            if each.position > keep or own.get(each.position, each.hash) != each.hash
        ]

    async def settle(
        self, plan: FeedSettlement, by: str, on_hub: Sequence[ReplicatedEvent] = ()
    ) -> int:
        """Keep what gives way as evidence, and return the number of the record.

        Args:
            plan: what gives way.
            by: the person, for the record.
            on_hub: events of the hub to keep as evidence too.
        """
        with translate_archive_errors(self._url):
            async with self._connection.transaction(), self._connection.cursor() as cursor:
                events = await take_back(self._url, self._connection, self._origin, plan.keep)
                record = await self._record(cursor, plan.keep, by, plan.why, None)
                rows = [
                    (record, "archive", each.position, each.hash, each.stored) for each in events
                ]
                rows += [(record, "hub", each.position, each.hash, each.stored) for each in on_hub]
                await cursor.executemany(_GIVEN_WAY, rows)
        return record

    async def release(self, by: str) -> None:
        """Let the feed go on, once the hub holds nothing of the false story any more."""
        with translate_archive_errors(self._url):
            async with self._connection.transaction():
                await self._connection.execute(_CLEARED, (by, *self._names))
                await self._connection.execute(_STATE, ("released", *self._names))

    async def go_on_as(self, origin: str, since: int, by: str) -> None:
        """Let the table's log go on under a new origin from a position; the old one stays as it is.

        Returns once its worker knows.

        Raises:
            InputError: the new origin does not name the old one, is there already, or the position
                is not the archive's.
        """
        if continued_origin(origin) != self._origin or origin == self._origin:
            raise InputError(f"--as: {origin} does not name the old: write {self._origin}-r1")
        why = f"goes on as {origin} from {since} on"
        with translate_archive_errors(self._url):
            async with self._connection.transaction(), self._connection.cursor() as cursor:
                number, head = await self._head(cursor)
                if not 1 <= since <= head + 1:
                    raise InputError(f"--from: the archive has 1 to {head}")
                own = await archived_hash(cursor, number, self._origin, since - 1)
                if own is None:
                    raise InputError(f"--from: {since - 1} is not in the archive any more")
                await cursor.execute(
                    'INSERT INTO property.head (site, "table", position, hash, state) '
                    "VALUES (%s, %s, %s, %s, 'released') ON CONFLICT DO NOTHING",
                    (*split_origin(origin), since - 1, own),
                )
                if cursor.rowcount != 1:
                    raise InputError(f"--as: the archive has {origin} already")
                await self._record(cursor, head, by, why, origin)
                await cursor.execute(_CLEARED, (by, *self._names))
                await cursor.execute(_STATE, ("running", *self._names))
        await asyncio.sleep(_SEEN_S)

    async def _head(self, cursor: AsyncCursor[Any]) -> tuple[int, int]:
        await cursor.execute(_HEAD, self._names)
        row = await cursor.fetchone()
        if row is None:
            raise ArchiveError(f"{self._origin}: the archive has no such table")
        return int(row[0]), int(row[1])

    async def _record(
        self, cursor: AsyncCursor[Any], keep: int, by: str, why: str, goes_on_as: str | None
    ) -> int:
        await cursor.execute(_SETTLED, (*self._names, keep, by, why, goes_on_as))
        row = await cursor.fetchone()
        return int(row[0]) if row else 0
