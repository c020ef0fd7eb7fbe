"""Creates the views and functions of the archive's queries, from one file each."""

from pathlib import Path
from typing import Final

from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision: str = "0002"
down_revision: str | None = "0001"

# In the order of creation: later files use earlier ones.
_FILES: Final = ("coups", "money", "patrons", "runs", "live")


def upgrade() -> None:
    """Create the views and functions."""
    driver = op.get_bind().connection.driver_connection
    assert driver is not None  # noqa: S101 - the connection is open
    for name in _FILES:
        file = Path(__file__).parent.parent / "sql" / f"0002_{name}.sql"
        driver.execute(file.read_text("utf-8"))
