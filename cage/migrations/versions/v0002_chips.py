"""What reports need: the fact behind an entry about chips, and whose wager a posting is of.

Entries of before keep both empty: they were booked without. The columns have a default that is a
constant, so that neither database rewrites a row.
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
