"""Lets PostgreSQL's machine report the room on its disk."""

from pathlib import Path

from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision: str = "0009"
down_revision: str | None = "0008"


def upgrade() -> None:
    """Make the function `report_disk`."""
    driver = op.get_bind().connection.driver_connection
    assert driver is not None  # noqa: S101 - the connection is open
    file = Path(__file__).parent.parent / "sql" / "0009_database_disk.sql"
    driver.execute(file.read_text("utf-8"))
