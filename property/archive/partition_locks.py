"""Assigns partitions to archive workers by PostgreSQL advisory locks.

A worker owns a partition while its connection holds the partition's lock. A worker that dies or is
cut off loses its connection, and the server releases its locks. A worker that hangs sends no query,
and the server closes an idle connection. Workers count one another by a shared lock.
"""

from typing import Final

from psycopg import AsyncConnection

from property.archive.database import translate_archive_errors
from property.hub.subjects import PARTITIONS

__all__ = ["PartitionLocks", "fair_share"]

# The class of the advisory locks, "bacp" in ASCII. All workers share lock 0; one holds each other.
_CLASS: Final = 0x62616370
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
        await self._ask("SELECT pg_advisory_lock_shared(%s, 0)", _CLASS)

    async def workers(self) -> int:
        """Return the number of workers, this one included.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        return await self._ask(_WORKERS, _CLASS)

    async def try_take(self, partition: int) -> bool:
        """Try to lock a free partition; return whether it succeeded.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        taken = await self._ask("SELECT pg_try_advisory_lock(%s, %s)::int", _CLASS, partition + 1)
        return bool(taken)

    async def give(self, partition: int) -> None:
        """Release a partition.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        await self._ask("SELECT pg_advisory_unlock(%s, %s)::int", _CLASS, partition + 1)

    async def _ask(self, asked: str, *given: int) -> int:
        with translate_archive_errors(self._url):
            async with self._connection.cursor() as cursor:
                await cursor.execute(asked, given)
                row = await cursor.fetchone()
        return int(row[0]) if row and row[0] not in {None, ""} else 0
