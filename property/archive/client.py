"""A read-only client of the archive: runs one query at a time, with a time limit."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from psycopg import AsyncConnection
from psycopg.rows import tuple_row

from property.archive.database import connected, explained
from property.archive.questions import Question

__all__ = ["Answer", "Asker"]

_NAME: Final = "baccarat-property-asks"
# A query that takes longer must ask for a shorter period: the archive has other work.
_MOST: Final = "30s"


class Answer(NamedTuple):
    """A query's result: column names and rows."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


class Asker:
    """A read-only connection to the archive, and a context manager; `open` creates it.

    Args:
        url: for error messages.
        connection: to the archive.
    """

    def __init__(self, url: str, connection: AsyncConnection) -> None:
        self._url = url
        self._connection = connection

    @classmethod
    async def open(cls, url: str) -> Self:
        """Connect.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        connection = await connected(url, _NAME)
        with explained(url):
            await connection.execute("SET default_transaction_read_only = on")
            await connection.execute(f"SET statement_timeout = '{_MOST}'")
            await connection.execute("SET TIME ZONE 'UTC'")
        return cls(url, connection)

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()

    async def ask(self, question: Question, given: Mapping[str, Any]) -> Answer:
        """Run a query of `property.archive.questions`, with the parameters from `given_of`.

        Raises:
            ArchiveUnavailable: the database does not answer in time.
            ArchiveError: the database refuses.
        """
        return await self.rows(question.sql, given)

    async def rows(self, sql: str, given: Mapping[str, Any] | Sequence[Any] = ()) -> Answer:
        """Run any SQL query.

        Raises:
            ArchiveUnavailable: the database does not answer in time.
            ArchiveError: the database refuses.
        """
        with explained(self._url):
            async with self._connection.cursor(row_factory=tuple_row) as cursor:
                await cursor.execute(sql.encode(), given)
                columns = tuple(each.name for each in cursor.description or ())
                return Answer(columns, await cursor.fetchall())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
