"""Keeps events in blocks next to narrow rows, with views and functions over the rows."""

from pathlib import Path
from typing import Final

from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision: str = "0006"
down_revision: str | None = "0005"

# In the order of creation: later files use earlier ones.
_FILES: Final = ("blocks", "questions", "search")


def upgrade() -> None:
    """Create tables, views and functions."""
    driver = op.get_bind().connection.driver_connection
    assert driver is not None  # noqa: S101 - the connection is open
    for name in _FILES:
        file = Path(__file__).parent.parent / "sql" / f"0006_{name}.sql"
        driver.execute(file.read_text("utf-8"))
