"""Migrate a database by a folder of alembic's steps; check its server and its version.

Alembic takes 0.15 s to import, so only what takes a step imports it. A version is the number in
the name of its step's file: `versions/v0003_currency.py` makes version `0003`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from sqlalchemy import Connection, String, column, inspect, select, table, text

from events.errors import TableError

__all__ = ["Migrations", "current_revision"]

_VERSIONS: Final = "alembic_version"
_OLDEST_POSTGRES: Final = 14
# `to_jsonb` because the column is missing before version 15; a collation like C has no version.
_DATABASE: Final = text(
    "SELECT current_setting('server_encoding'), to_jsonb(d) ->> 'datcollversion' "
    "FROM pg_database d WHERE datname = current_database()"
)
_COLLATION_NOW: Final = text(
    "SELECT pg_database_collation_actual_version(oid) FROM pg_database "
    "WHERE datname = current_database()"
)
_WRITABLE: Final = text(
    "SELECT pg_is_in_recovery(), current_setting('transaction_read_only')::boolean"
)
_CREATES: Final = text(
    "SELECT current_user, CASE WHEN CAST(:schema AS text) IS NULL "
    "THEN has_schema_privilege(current_schema(), 'CREATE') "
    "ELSE has_database_privilege(current_database(), 'CREATE') END"
)


class Migrations(NamedTuple):
    """The steps of one kind of database.

    Args:
        folder: of the steps.
        holds: what such a database holds, for messages: `ledger`.
        made_by: the command that makes one and brings it up.
        error: raised where a database has another version.
        schema: of PostgreSQL, with the table of versions; None for the default one.
    """

    folder: Path
    holds: str
    made_by: str
    error: type[TableError]
    schema: str | None = None

    def version(self, connection: Connection, shown: str) -> str | None:
        """Return the database's version; None where it has none.

        Args:
            connection: to the database.
            shown: its name for a person.

        Raises:
            TableError: as `error`: a newer build has migrated it.
        """
        found = current_revision(connection, self.schema)
        if found is not None and found not in self._known():
            raise self.error(
                f"{shown} is at version {found}, which is newer than this build; it was left alone"
            )
        return found

    def check_server(self, connection: Connection, shown: str, *, writes: bool) -> None:
        """Check that a PostgreSQL database can hold every text, and in one order.

        Args:
            connection: to the database, of any kind.
            shown: its name for a person.
            writes: whether the caller is going to write.

        Raises:
            TableError: as `error`: what is wrong, and what would be right.
        """
        if connection.dialect.name != "postgresql":
            return
        faults = list(_server_faults(connection))
        if writes:
            faults += _faults_of_writing(connection)
            if not faults and self.version(connection, shown) != self.newest:
                faults += _faults_of_creating(connection, self.schema)
        if faults:
            raise self.error(f"{shown}: {'; '.join(faults)}")

    def upgrade(self, connection: Connection, to: str = "head") -> None:
        """Take the steps up to a version, in the connection's transaction."""
        from alembic import command  # noqa: PLC0415 - see the head
        from alembic.config import Config  # noqa: PLC0415 - the same

        config = Config()
        config.set_main_option("script_location", str(self.folder).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, to)

    def require_current(self, connection: Connection, shown: str) -> None:
        """Check that the database has this build's version.

        Raises:
            TableError: as `error`: it holds none of the kind, an older or a newer one.
        """
        found, newest = self.version(connection, shown), self.newest
        if found is None:
            raise self.error(f"{shown} holds no {self.holds}; `{self.made_by}` makes one")
        if found != newest:
            raise self.error(
                f"{shown} is at version {found}, and this build reads {newest}; "
                f"`{self.made_by}` brings it up"
            )

    @property
    def newest(self) -> str:
        """This build's version."""
        return max(self._known())

    def _known(self) -> set[str]:
        steps = self.folder.glob("versions/v*.py")
        return {path.name.partition("_")[0].removeprefix("v") for path in steps}


def current_revision(connection: Connection, schema: str | None = None) -> str | None:
    """Return the version of a database's schema; None where no step was taken.

    Args:
        connection: to the database.
        schema: of PostgreSQL, with the table of versions; None for the default one.
    """
    if not inspect(connection).has_table(_VERSIONS, schema):
        return None
    number = column("version_num", String)
    return connection.execute(
        select(number).select_from(table(_VERSIONS, number, schema=schema))
    ).scalar_one_or_none()


def _server_faults(connection: Connection) -> Iterator[str]:
    version = int((connection.dialect.server_version_info or (0,))[0])
    if version < _OLDEST_POSTGRES:
        yield f"PostgreSQL {version} is too old; use {_OLDEST_POSTGRES} or newer"
        return
    encoding, collation = connection.execute(_DATABASE).one()
    if encoding != "UTF8":
        yield (
            f"its encoding is {encoding}, which cannot hold every text; "
            "make the database anew with ENCODING 'UTF8' TEMPLATE template0"
        )
    if collation is not None and collation != connection.execute(_COLLATION_NOW).scalar_one():
        yield (
            "its collation has changed since its indexes were made, so they may miss rows; "
            "REINDEX DATABASE, then ALTER DATABASE ... REFRESH COLLATION VERSION"
        )


def _faults_of_writing(connection: Connection) -> Iterator[str]:
    standby, read_only = connection.execute(_WRITABLE).one()
    if standby:
        yield "it is a standby, which takes no writes; name the primary"
    elif read_only:
        yield "its transactions are read only; set default_transaction_read_only to off"


def _faults_of_creating(connection: Connection, schema: str | None) -> Iterator[str]:
    user, creates = connection.execute(_CREATES, {"schema": schema}).one()
    if not creates:
        what = "DATABASE ..." if schema else "SCHEMA public"
        yield f"{user} may make no tables in it; GRANT CREATE ON {what} TO {user}"
