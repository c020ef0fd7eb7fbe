"""The archive's PostgreSQL database by URL: connections, migrations, errors, schema version.

No exception of a driver leaves this module: its text goes, on one line and without the password,
into an error of the project.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg
from psycopg import AsyncConnection
from sqlalchemy import Engine, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.pool import NullPool

from events.errors import ArchiveError, ArchiveUnavailable, InputError
from events.sql_migrations import Migrations

__all__ = [
    "MIGRATIONS",
    "connect_archive",
    "migrate",
    "parse_archive_url",
    "require_current",
    "shown",
    "translate_archive_errors",
]

_SCHEMA: Final = "property"
MIGRATIONS: Final = Migrations(
    Path(__file__).parents[1] / "migrations",
    "archive",
    "baccarat property run",
    ArchiveError,
    _SCHEMA,
)
"""The steps of the archive's schema."""

# The lock that makes two workers that start at once migrate in turn. "bacprop" in ASCII.
_MIGRATING: Final = 0x62616370726F70
# JIT would compile a question for seconds that is answered in a fraction of one.
# The server must notice a lost worker within ten seconds, since the worker holds locks. So must a
# worker a lost server. In seconds, and in milliseconds.
_SETTINGS: Final = (
    "-c lock_timeout=10s -c statement_timeout=60s -c tcp_keepalives_idle=3 "
    "-c tcp_keepalives_interval=1 -c tcp_keepalives_count=3 -c tcp_user_timeout=6000 "
    "-c idle_in_transaction_session_timeout=30s -c timezone=UTC -c jit=off"
)
_CONNECT_S: Final = 5
_KEEPALIVE: Final[dict[str, Any]] = {
    "keepalives_idle": 3,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 6_000,
    "client_encoding": "utf8",
}


def parse_archive_url(given: str) -> str:
    """Check that `given` names a PostgreSQL database, and return it for the driver.

    Raises:
        InputError: it names no PostgreSQL database.
    """
    try:
        url = make_url(given)
    except (ArgumentError, ValueError) as error:
        raise InputError("the archive's URL is none; write postgresql://host/database") from error
    if url.drivername not in {"postgresql", "postgres"}:
        raise InputError(
            f"the archive is kept in PostgreSQL, not in {url.drivername}; "
            "write postgresql://host/database"
        )
    return given


def shown(url: str) -> str:
    """Return the URL for a person to read, without the password."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"postgresql://{host}{parts.path}"


@contextmanager
def translate_archive_errors(url: str) -> Iterator[None]:
    """Turn the database's errors into errors of the project, each with one line of text.

    Raises:
        ArchiveUnavailable: the database does not answer, or accepts no writes now.
        ArchiveError: the database refuses.
    """
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise ArchiveUnavailable(_line(url, error)) from error
    except psycopg.Error as error:
        raise ArchiveError(_line(url, error)) from error
    except (OperationalError, InterfaceError) as error:
        raise ArchiveUnavailable(_line(url, error.orig or error)) from error
    except DBAPIError as error:
        raise ArchiveError(_line(url, error.orig or error)) from error


def _line(url: str, error: BaseException) -> str:
    return f"{shown(url)}: {' '.join(str(error).split())}"


async def connect_archive(url: str, name: str = "baccarat-property") -> AsyncConnection:
    """Connect, with keep-alives that reveal a lost server.

    Args:
        url: as returned by `parse_archive_url`.
        name: the application name that the server lists.

    Raises:
        ArchiveUnavailable: the database does not answer.
    """
    with translate_archive_errors(url):
        return await AsyncConnection.connect(
            url,
            autocommit=True,
            connect_timeout=_CONNECT_S,
            options=_SETTINGS,
            application_name=name,
            **_KEEPALIVE,
        )


def migrate(url: str) -> None:
    """Migrate the schema to this build's version, in one transaction.

    Raises:
        ArchiveUnavailable: the database does not answer.
        ArchiveError: a newer build has migrated it, or the server cannot hold an archive.
    """
    with translate_archive_errors(url), _engine(url).begin() as connection:
        MIGRATIONS.check_server(connection, shown(url), writes=True)
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATING})
        connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}"))
        if MIGRATIONS.version(connection, shown(url)) != MIGRATIONS.newest:
            MIGRATIONS.upgrade(connection)


def require_current(url: str) -> None:
    """Check that the database holds an archive of this build's schema version.

    Raises:
        ArchiveUnavailable: the database does not answer.
        ArchiveError: it holds no archive, an older or a newer one.
    """
    with translate_archive_errors(url), _engine(url).begin() as connection:
        MIGRATIONS.check_server(connection, shown(url), writes=False)
        MIGRATIONS.require_current(connection, shown(url))


def _engine(url: str) -> Engine:
    made = make_url(url).set(drivername="postgresql+psycopg")
    connect = {"connect_timeout": _CONNECT_S, "options": _SETTINGS, **_KEEPALIVE}
    return create_engine(made, poolclass=NullPool, connect_args=connect)
