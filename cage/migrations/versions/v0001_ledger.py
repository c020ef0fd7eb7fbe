"""Creates books, entries, postings, and the triggers that refuse changes to booked rows."""

from typing import Final

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision: str = "0001"
down_revision: str | None = None

_SEALED: Final = ("entry", "posting")
_SQLITE: Final = """
CREATE TRIGGER {table}_{verb} BEFORE {verb} ON {table}
BEGIN SELECT raise(ABORT, 'the ledger is never edited: book a reversal'); END
"""
_POSTGRES_FUNCTION: Final = """
CREATE FUNCTION ledger_is_never_edited() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the ledger is never edited: book a reversal'; END $$
"""
_POSTGRES: Final = """
CREATE TRIGGER {table}_sealed BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_never_edited()
"""


def upgrade() -> None:
    """Create the tables of the first version."""
    op.create_table(
        "book",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("stream", sa.Text, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_book"),
        sa.UniqueConstraint("stream", name="uq_book_stream"),
    )
    op.create_table(
        "entry",
        sa.Column("book", sa.Integer, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("part", sa.SmallInteger, nullable=False),
        sa.Column("ref", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("day", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("shoe", sa.Text, nullable=False),
        sa.Column("coup", sa.Text, nullable=False),
        sa.Column("phase", sa.SmallInteger, nullable=False),
        sa.Column("rulebook", sa.Text, nullable=False),
        sa.Column("reverses", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("book", "position", "part", name="pk_entry"),
        sa.UniqueConstraint("book", "ref", name="uq_entry_book_ref"),
        sa.ForeignKeyConstraint(["book"], ["book.id"], name="fk_entry_book"),
    )
    op.create_index("ix_entry_book_shoe", "entry", ["book", "shoe"])
    op.create_table(
        "posting",
        sa.Column("book", sa.Integer, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("part", sa.SmallInteger, nullable=False),
        sa.Column("line", sa.SmallInteger, nullable=False),
        sa.Column("account", sa.Text, nullable=False),
        sa.Column("seat", sa.SmallInteger, nullable=False),
        sa.Column("bet", sa.Text, nullable=False),
        sa.Column("result", sa.Text, nullable=False),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("book", "position", "part", "line", name="pk_posting"),
    )
    _seal()


def _seal() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for table in _SEALED:
            for verb in ("UPDATE", "DELETE"):
                op.execute(_SQLITE.format(table=table, verb=verb))
        return
    op.execute(_POSTGRES_FUNCTION)
    for table in _SEALED:
        op.execute(_POSTGRES.format(table=table))
