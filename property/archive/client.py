"""A read-only client of the archive: runs one query at a time, with a time limit."""

from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from psycopg import AsyncConnection
from psycopg.rows import tuple_row

from property.archive.database import connect_archive, translate_archive_errors
from property.archive.questions import ArchiveQuery, is_unlimited

__all__ = ["ArchiveClient", "QueryResult"]

_NAME: Final = "baccarat-property-asks"
# A query that takes longer must ask for a shorter period: the archive has other work.
_MOST: Final = "30s"
_NEWEST: Final = "SELECT max(at) - make_interval(days => %s) FROM property.head"
_MOST_OF_EXPORT: Final = "1h"
_ROWS: Final = 1_000


class QueryResult(NamedTuple):
    """A query's result: column names and rows."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


class ArchiveClient:
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
        connection = await connect_archive(url, _NAME)
        with translate_archive_errors(url):
            await connection.execute("SET default_transaction_read_only = on")
            await connection.execute(f"SET statement_timeout = '{_MOST}'")
            await connection.execute("SET TIME ZONE 'UTC'")
        return cls(url, connection)

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()

    async def ask(self, question: ArchiveQuery, given: Mapping[str, Any]) -> QueryResult:
        """Run a query of `property.archive.questions`, with the parameters from `given_of`.

        Raises:
            ArchiveUnavailable: the database does not answer in time.
            ArchiveError: the database refuses.
        """
        if is_unlimited(question, given):
            newest = await self.rows(_NEWEST, (question.recent_days,))
            given = {**given, "since": newest.rows[0][0] or given["since"]}
        return await self.rows(question.sql, given)

    async def rows(self, sql: str, given: Mapping[str, Any] | Sequence[Any] = ()) -> QueryResult:
        """Run any SQL query.

        Raises:
            ArchiveUnavailable: the database does not answer in time.
            ArchiveError: the database refuses.
        """
        with translate_archive_errors(self._url):
            async with self._connection.cursor(row_factory=tuple_row) as cursor:
                await cursor.execute(sql.encode(), given)
                columns = tuple(each.name for each in cursor.description or ())
                return QueryResult(columns, await cursor.fetchall())

    async def stream(
        self, question: ArchiveQuery, given: Mapping[str, Any]
    ) -> AsyncIterator[QueryResult]:
        """Run a query, and yield its rows a thousand at a time; without any, none of them once.

        Raises:
            ArchiveUnavailable: the database does not answer in time.
            ArchiveError: the database refuses.
        """
        with translate_archive_errors(self._url):
            await self._connection.execute(f"SET statement_timeout = '{_MOST_OF_EXPORT}'")
            async with (
                self._connection.transaction(),
                self._connection.cursor("export", row_factory=tuple_row) as cursor,
            ):
                await cursor.execute(question.sql.encode(), given)
                columns = tuple(each.name for each in cursor.description or ())
                rows = await cursor.fetchmany(_ROWS)
                yield QueryResult(columns, rows)
                while rows:
                    rows = await cursor.fetchmany(_ROWS)
                    yield QueryResult(columns, rows)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
