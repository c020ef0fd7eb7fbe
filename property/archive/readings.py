"""Keeps the newest reading of each part in the archive's database; reads them with their age."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec
from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from property.archive.client import ArchiveClient
from property.archive.database import translate_archive_errors
from property.health.readings import ArchivedUpTo, Reading

__all__ = ["ReadingStore", "SaidReading", "read_readings"]

# A word that is heard again keeps its age; of one that is heard first, the hub's time counts too.
_STORE: Final = """
INSERT INTO property.reading AS r (kind, name, value, said, read_at)
SELECT kind, name, value, said, least(clock_timestamp(), at)
FROM unnest(%s::text[], %s::text[], %s::jsonb[], %s::text[], %s::timestamptz[])
    AS new (kind, name, value, said, at)
ON CONFLICT (kind, name) DO UPDATE SET
    value = excluded.value
        || jsonb_build_object('due', coalesce((r.value ->> 'position')::bigint, 0)),
    said = excluded.said, read_at = clock_timestamp()
WHERE r.said <> excluded.said
"""
# A worker that was taken away, a certificate of a name of before: they were not retired. The disk
# that PostgreSQL's machine reports stays, or a machine that says nothing would be forgotten.
_FORGET: Final = """
DELETE FROM property.reading
WHERE kind IN ('certificate', 'disk', 'node', 'worker') AND read_at < now() - interval '1 day'
        AND (kind, name) <> ('disk', 'postgresql')
    OR kind = 'node' AND name <> ALL (%s::text[])
"""
_READ: Final = """
SELECT kind, name, value, extract(epoch FROM clock_timestamp() - read_at)::float8
FROM property.reading
"""
_HEADS: Final = """
SELECT h.site || '/' || h."table", h.position, extract(epoch FROM h.at)::float8,
    coalesce(jsonb_object_agg(f.kind, f.reason) FILTER (WHERE f.kind IS NOT NULL), '{}')
FROM property.head h LEFT JOIN property.feed_alarm f
    ON f.site = h.site AND f."table" = h."table" AND f.cleared_at IS NULL
GROUP BY h.site, h."table"
"""


class SaidReading(NamedTuple):
    """A reading to store.

    Args:
        reading: what was found; its age is left out.
        at: when, RFC 3339: tells one reading of a part from the next.
    """

    reading: Reading
    at: str

    @classmethod
    def now(cls, reading: Reading) -> "SaidReading":
        """Return a reading that was made at this moment."""
        return cls(reading, datetime.now(UTC).isoformat())


class ReadingStore:
    """Writes readings through a worker's connection; make one call at a time.

    Args:
        url: for error messages.
        connection: to the archive, in autocommit mode.
    """

    def __init__(self, url: str, connection: AsyncConnection) -> None:
        self._url = url
        self._connection = connection

    async def keep(self, said: Sequence[SaidReading]) -> None:
        """Store the newest reading of each part.

        Raises:
            ArchiveUnavailable: the database does not answer, or its disk is full.
        """
        newest = {(each.reading.kind, each.reading.name): each for each in said}
        if not newest:
            return
        values = [Jsonb(_value(each.reading)) for each in newest.values()]
        stamps = [each.at for each in newest.values()]
        kinds, names = zip(*newest, strict=True)
        with translate_archive_errors(self._url):
            await self._connection.execute(
                _STORE, (list(kinds), list(names), values, stamps, stamps)
            )

    async def forget_gone(self, nodes: Sequence[str]) -> None:
        """Take away parts of which nothing was read for a day, and nodes of other names.

        Args:
            nodes: all of them, as they were named now: one that does not answer has its address.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        with translate_archive_errors(self._url):
            await self._connection.execute(_FORGET, (list(nodes),))

    async def forget(self, kind: str, name: str) -> None:
        """Take a part away that was ended in order.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        with translate_archive_errors(self._url):
            await self._connection.execute(
                "DELETE FROM property.reading WHERE kind = %s AND name = %s", (kind, name)
            )

    async def take_slot(self, host: str) -> str:
        """Return a worker's name: its host, and the lowest number that no other there has.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        with translate_archive_errors(self._url):
            for number in range(1, _WORKERS_MOST + 1):
                name = f"{host}-{number}"
                asked = "SELECT pg_try_advisory_lock(hashtext('baccarat worker'), hashtext(%s))"
                row = await (await self._connection.execute(asked, (name,))).fetchone()
                if row and row[0]:
                    return name
        return f"{host}-more"


_WORKERS_MOST: Final = 64


def _value(reading: Reading) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.to_builtins(reading)
    return {name: value[name] for name in value if name not in {"kind", "name", "age_s"}}


async def read_readings(asker: ArchiveClient) -> tuple[dict[str, ArchivedUpTo], list[Reading]]:
    """Return every table of the archive, and every reading with its age.

    Raises:
        ArchiveError: the archive does not answer.
    """
    heads = (await asker.rows(_HEADS)).rows
    found = (await asker.rows(_READ)).rows
    tables = {
        name: ArchivedUpTo(position=position, at_s=at_s, alarms=alarms)
        for name, position, at_s, alarms in heads
    }
    return tables, [_reading(*row) for row in found]


def _reading(kind: str, name: str, value: Mapping[str, Any], age_s: float) -> Reading:
    told = dict(value) | {"kind": kind, "name": name, "age_s": age_s}
    return msgspec.convert(told, Reading)
