"""Answers the question for wagers with what a correction takes back without booking anything."""

from pathlib import Path

from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision: str = "0008"
down_revision: str | None = "0007"


def upgrade() -> None:
    """Replace the function `find_wagers`."""
    driver = op.get_bind().connection.driver_connection
    assert driver is not None  # noqa: S101 - the connection is open
    file = Path(__file__).parent.parent / "sql" / "0008_wagers.sql"
    driver.execute(file.read_text("utf-8"))
