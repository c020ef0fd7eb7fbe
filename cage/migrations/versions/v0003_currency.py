"""Adds a column for the currency of an entry about commission.

It stays empty in older entries, whose events had none. Its default is a constant, so neither
database rewrites a row.
"""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision: str = "0003"
down_revision: str | None = "0002"


def upgrade() -> None:
    """Add the column."""
    op.add_column("entry", sa.Column("currency", sa.Text, nullable=False, server_default=""))
