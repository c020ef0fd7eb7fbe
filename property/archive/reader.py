"""A role of the database that asks the archive by any tool, and changes nothing."""

from typing import Final

from psycopg import AsyncConnection, sql

from property.archive.database import translate_archive_errors

__all__ = ["let_read"]

_GRANTS: Final = (
    "GRANT USAGE ON SCHEMA property TO {}",
    "GRANT SELECT ON ALL TABLES IN SCHEMA property TO {}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA property GRANT SELECT ON TABLES TO {}",
    # Tools that speak SQL for a person plan with JIT, and a question can run for a day.
    "ALTER ROLE {} SET jit = off",
    "ALTER ROLE {} SET default_transaction_read_only = on",
    "ALTER ROLE {} SET statement_timeout = '60s'",
    "ALTER ROLE {} SET timezone = 'UTC'",
)


async def let_read(url: str, connection: AsyncConnection, role: str) -> None:
    """Let a role that exists read every view and SQL table of the archive, those to come as well.

    Raises:
        ArchiveUnavailable: the database does not answer.
        ArchiveError: there is no such role, or the login may not grant or alter it.
    """
    with translate_archive_errors(url):
        async with connection.transaction():
            for each in _GRANTS:
                await connection.execute(sql.SQL(each).format(sql.Identifier(role)))
