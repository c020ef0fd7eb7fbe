"""Creates the table of the editions that events cite by hash."""

from pathlib import Path

from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision: str = "0003"
down_revision: str | None = "0002"


def upgrade() -> None:
    """Create the table of editions."""
    driver = op.get_bind().connection.driver_connection
    assert driver is not None  # noqa: S101 - the connection is open
    file = Path(__file__).parent.parent / "sql" / "0003_editions.sql"
    driver.execute(file.read_text("utf-8"))
