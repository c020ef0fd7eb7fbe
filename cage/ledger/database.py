"""The ledger's database by URL, SQLite or PostgreSQL: engine, migrations, errors, schema check.

No exception of SQLAlchemy or of a driver leaves this module: its text goes, on one line and without
the password, into an error of the project.
"""

import re
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.pool import NullPool

from events.errors import InputError, LedgerError, LedgerUnavailable
from events.log.disk import PRIVATE_FILE
from events.log.schema import SchemaRow, odd_rows, rows_made_by, rows_of
from events.sql_migrations import Migrations, current_revision

__all__ = [
    "create_ledger_engine",
    "file_fault",
    "migrate",
    "parse_ledger_url",
    "require_current",
    "schema_fault",
    "shown",
    "translate_ledger_errors",
]

_MIGRATIONS: Final = Migrations(
    Path(__file__).parents[1] / "migrations", "ledger", "baccarat cage run", LedgerError
)
# The lock that makes two services that start at once migrate in turn. "bacledgr" in ASCII.
_MIGRATING: Final = 0x6261636C65646772
_HARMLESS_DDL: Final = re.compile(r"create (table|view|index|unique index) ", re.IGNORECASE)
_BUSY_MS: Final = 10_000
# The cage must notice a lost server before the table misses the cage. Seconds, and milliseconds.
_POSTGRES: Final = {
    "connect_timeout": 5,
    "options": "-c lock_timeout=10s -c statement_timeout=60s -c timezone=UTC",
    "client_encoding": "utf8",
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
    "application_name": "baccarat-cage",
}


def parse_ledger_url(given: str) -> URL:
    """Parse a database's name: a path, `sqlite:///path` or `postgresql://...`.

    Raises:
        InputError: it names no such database.
    """
    if "://" not in given:
        return URL.create("sqlite", database=given)
    try:
        url = make_url(given)
    except (ArgumentError, ValueError) as error:
        raise InputError("the ledger's URL is none; write postgresql://host/database") from error
    backend = url.get_backend_name()
    if backend == "sqlite" and url.database:
        return url.set(drivername="sqlite")
    if backend in {"postgresql", "postgres"}:
        return url.set(drivername="postgresql+psycopg")
    raise InputError(
        f"a ledger is kept in a SQLite file or in PostgreSQL, not in {url.drivername}; "
        "name a file, or postgresql://host/database"
    )


def shown(url: URL) -> str:
    """Return the URL for a person to read, without the password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.set(drivername="postgresql").render_as_string(hide_password=True)


def create_ledger_engine(url: URL, *, create: bool) -> Engine:
    """Return an engine that closes each connection after use.

    Args:
        url: as returned by `parse_ledger_url`.
        create: whether to create a missing SQLite file.

    Raises:
        InputError: it is no file; or the file does not exist, and `create` is false.
    """
    if url.get_backend_name() != "sqlite":
        return create_engine(url, poolclass=NullPool, connect_args=dict(_POSTGRES))
    path = Path(str(url.database))
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is no file; name a ledger that `baccarat cage run` has made")
    if not create and not path.exists():
        raise InputError(f"{path}: there is no such ledger; `baccarat cage run` makes one")
    if create and not path.exists():
        with suppress(OSError):  # which SQLite tells in its own words
            path.touch(PRIVATE_FILE)
    # One writer at a time uses the connection, from any thread.
    engine = create_engine(
        url,
        poolclass=NullPool,
        connect_args={"check_same_thread": False, "timeout": _BUSY_MS / 1000},
    )
    event.listen(engine, "connect", _prepare_sqlite)
    begin = "BEGIN IMMEDIATE" if create else "BEGIN"
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions are begun below, not by the driver's guess
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


@contextmanager
def translate_ledger_errors(url: URL) -> Iterator[None]:
    """Turn the database's errors into errors of the project, each with one line of text.

    Raises:
        LedgerUnavailable: the database does not answer, or accepts no writes now.
        LedgerError: the database refuses.
    """
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise LedgerUnavailable(f"{shown(url)}: {_cause(error)}") from error
    except _driver_errors("Error") as error:  # from direct use of the driver
        away = isinstance(error, _driver_errors("OperationalError", "InterfaceError"))
        kind = LedgerUnavailable if away else LedgerError
        raise kind(f"{shown(url)}: {' '.join(str(error).split())}") from error
    except SQLAlchemyError as error:
        gone = isinstance(error, DBAPIError) and error.connection_invalidated
        kind = LedgerUnavailable if gone else LedgerError
        raise kind(f"{shown(url)}: {_cause(error)}") from error


def _driver_errors(*names: str) -> tuple[type[Exception], ...]:
    """Return classes of psycopg; none where a ledger in SQLite has not loaded it, 50 ms."""
    driver = sys.modules.get("psycopg")
    return tuple(getattr(driver, name) for name in names) if driver else ()


def _cause(error: SQLAlchemyError) -> str:
    cause = error.orig if isinstance(error, DBAPIError) else error
    said = " ".join(str(cause).split())
    if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
        return f"{said}; name a ledger that `baccarat cage run` has made"
    return said


def migrate(connection: Connection, url: URL) -> None:
    """Migrate the schema to this build's version, in the connection's transaction.

    Raises:
        LedgerError: a newer build has migrated it, somebody has changed the schema, or the server
            cannot hold a ledger.
    """
    _MIGRATIONS.check_server(connection, shown(url), writes=True)
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATING})
    found = _MIGRATIONS.version(connection, shown(url))
    if (fault := schema_fault(connection)) is not None:
        raise LedgerError(
            f"{shown(url)}: {fault}; `baccarat cage reconcile` tells what else was changed; "
            "keep the file as it is and put a backup of it back"
        )
    if found is None and connection.dialect.name == "sqlite":
        for statement in _statements_of(_MIGRATIONS.newest):
            connection.exec_driver_sql(statement)
    elif found != _MIGRATIONS.newest:
        _MIGRATIONS.upgrade(connection)


def require_current(connection: Connection, url: URL) -> None:
    """Check that the database holds a ledger of this build's schema version.

    Raises:
        LedgerError: it holds no ledger, an older or a newer one.
    """
    _MIGRATIONS.check_server(connection, shown(url), writes=False)
    _MIGRATIONS.require_current(connection, shown(url))


def schema_fault(connection: Connection) -> str | None:
    """Return how a SQLite file's schema differs from what this build's migrations create, or None.

    The check compares every row of the schema. A site may add tables, views and indexes for its own
    reading, since none of them changes what is booked. SQLite would run a trigger at a write.
    """
    revision = current_revision(connection)
    if connection.dialect.name != "sqlite" or revision is None:
        return None
    many, missing = odd_rows(_in_one_form(rows_of(connection.exec_driver_sql)), _rows_at(revision))
    foreign = [row for row in many if row.sql is not None and not _HARMLESS_DDL.match(str(row.sql))]
    odd = sorted({str(row.name) for row in (*foreign, *missing)})
    return f"its schema is not as version {revision} makes it: {', '.join(odd)}" if odd else None


def file_fault(connection: Connection) -> str | None:
    """Return how a SQLite file's schema was changed, or its content contradicts itself; or None.

    An index may hold other amounts than its table, and then some questions are answered by the one
    and some by the other. To find that out takes a read of the whole file.
    """
    fault = schema_fault(connection)
    if fault is not None or connection.dialect.name != "sqlite":
        return fault
    said = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one()
    return None if said == "ok" else f"its file contradicts itself: {' '.join(said.split())}"


@cache
def _rows_at(revision: str) -> tuple[SchemaRow, ...]:
    return tuple(_in_one_form(rows_made_by(_statements_of(revision))))


def _statements_of(revision: str) -> list[str]:
    """Return what makes a SQLite ledger of a version: alembic's steps, without alembic's 12 MB."""
    (file,) = _MIGRATIONS.folder.glob(f"versions/v{revision}_*.sql")
    return file.read_text().split("\n\n")


def _in_one_form(rows: Iterable[SchemaRow]) -> Iterator[SchemaRow]:
    """Yield a schema's rows, less the white space in which SQLAlchemy versions differ."""
    for row in rows:
        yield row if row.sql is None else row._replace(sql=" ".join(str(row.sql).split()))
