"""Keeps the newest reading of each part of the property, and what gave way to the truth."""

from pathlib import Path

from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision: str = "0007"
down_revision: str | None = "0006"


def upgrade() -> None:
    """Make the tables of readings and of settlements."""
    driver = op.get_bind().connection.driver_connection
    assert driver is not None  # noqa: S101 - the connection is open
    file = Path(__file__).parent.parent / "sql" / "0007_readings.sql"
    driver.execute(file.read_text("utf-8"))
