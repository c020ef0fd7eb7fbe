"""Adds two columns for reports: the event of an entry about chips, and a posting's patron.

Both stay empty in older entries, which were booked without them. Their default is a constant, so
neither database rewrites a row.
"""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision: str = "0002"
down_revision: str | None = "0001"


def upgrade() -> None:
    """Add the two columns."""
    op.add_column("entry", sa.Column("detail", sa.Text, nullable=False, server_default=""))
    op.add_column("posting", sa.Column("patron", sa.Text, nullable=False, server_default=""))
