"""Migrate a database by a folder of alembic's steps, and check which version it has."""

from pathlib import Path
from typing import NamedTuple

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from events.errors import TableError

__all__ = ["Migrations"]


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
        options = {"version_table_schema": self.schema}
        found = MigrationContext.configure(connection, opts=options).get_current_revision()
        steps = ScriptDirectory.from_config(self._config()).walk_revisions()
        if found is not None and found not in {each.revision for each in steps}:
            raise self.error(
                f"{shown} is at version {found}, which is newer than this build; it was left alone"
            )
        return found

    def upgrade(self, connection: Connection, to: str = "head") -> None:
        """Take the steps up to a version, in the connection's transaction."""
        config = self._config()
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
    def newest(self) -> str | None:
        """This build's version."""
        return ScriptDirectory.from_config(self._config()).get_current_head()

    def _config(self) -> Config:
        config = Config()
        config.set_main_option("script_location", str(self.folder).replace("%", "%%"))
        return config
