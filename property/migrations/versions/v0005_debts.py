"""Reads the commission's events of version 2, which say what a reversal comes off."""

from pathlib import Path

from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision: str = "0005"
down_revision: str | None = "0004"


def upgrade() -> None:
    """Replace the view of the steps."""
    driver = op.get_bind().connection.driver_connection
    assert driver is not None  # noqa: S101 - the connection is open
    file = Path(__file__).parent.parent / "sql" / "0005_debts.sql"
    driver.execute(file.read_text("utf-8"))
