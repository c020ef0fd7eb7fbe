"""Who reads what: a worker owns a partition as long as its connection holds the lock of it.

A worker that dies, or whose machine is cut off, loses its connection and with it its locks: nobody
has to notice, and nothing stays behind. One that hangs, its connection open, asks nothing, and the
server ends what asks nothing. How many workers there are is told by a lock as well, which
they all hold together.
"""

from typing import Final

from psycopg import AsyncConnection

from property.archive.database import explained
from property.hub.subjects import PARTITIONS

__all__ = ["Shares", "fair_share"]

# The class of our advisory locks, "bacp" in ASCII; 0 is held by all, a partition's by one.
_CLASS: Final = 0x62616370
# A worker looks how many there are every second; one that did not for so long hangs.
_HANGS: Final = "SET idle_session_timeout = '8s'"
_WORKERS: Final = """
SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
WHERE locktype = 'advisory' AND classid = %s AND objid = 0 AND objsubid = 2 AND granted
    AND datname = current_database()
"""


def fair_share(workers: int) -> int:
    """How many partitions a worker may hold among so many."""
    return -(-PARTITIONS // max(workers, 1))


class Shares:
    """The partitions of one worker.

    Args:
        url: of the archive, for messages.
        connection: the one that everything is written by: where it is gone, so are the locks.
    """

    def __init__(self, url: str, connection: AsyncConnection) -> None:
        self._url = url
        self._connection = connection

    async def join(self) -> None:
        """Be counted among the workers, for as long as we ask something now and then.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        with explained(self._url):
            await self._connection.execute(_HANGS)
        await self._ask("SELECT pg_advisory_lock_shared(%s, 0)", _CLASS)

    async def workers(self) -> int:
        """How many there are, this one among them.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        return await self._ask(_WORKERS, _CLASS)

    async def try_take(self, partition: int) -> bool:
        """Take a partition that nobody has; whether it was taken.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        taken = await self._ask("SELECT pg_try_advisory_lock(%s, %s)::int", _CLASS, partition + 1)
        return bool(taken)

    async def give(self, partition: int) -> None:
        """Let a partition go.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        await self._ask("SELECT pg_advisory_unlock(%s, %s)::int", _CLASS, partition + 1)

    async def _ask(self, asked: str, *given: int) -> int:
        with explained(self._url):
            async with self._connection.cursor() as cursor:
                await cursor.execute(asked, given)
                row = await cursor.fetchone()
        return int(row[0]) if row and row[0] not in {None, ""} else 0
