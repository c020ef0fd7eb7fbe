"""Creates the archive: events by month and table, heads, stream positions, alarms."""

from pathlib import Path

from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision: str = "0001"
down_revision: str | None = None


def upgrade() -> None:
    """Create the tables of the first version."""
    file = Path(__file__).parent.parent / "sql" / "0001_archive.sql"
    # Use the driver directly: SQLAlchemy would interpret % and : in the text.
    driver = op.get_bind().connection.driver_connection
    assert driver is not None  # noqa: S101 - the connection is open
    driver.execute(file.read_text("utf-8"))
