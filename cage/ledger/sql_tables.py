"""The ledger's SQL tables, defined once for SQLite and PostgreSQL.

A row of `book` is one gaming table's book and the cursor in its log. Each transaction writes the
entries and the cursor together. Keys come from the log, so a write needs no query first: (book,
position, part), where part 0 reverses and part 1 books.

A posting has no foreign key to its entry. One writer inserts both in one transaction and never
changes them, and a check of every row would cost more than all the rest.
"""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Select,
    SmallInteger,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    and_,
    select,
)
from sqlalchemy.engine import Dialect

from events.free_text import escape_nul, unescape_nul

__all__ = ["BOOK", "ENTRY", "METADATA", "POSTING", "POSTING_TO_ENTRY", "select_postings"]


class _FreeText(TypeDecorator[str]):
    """Free text as the log has it; PostgreSQL stores its visible form."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the text in the database's form."""
        return value if value is None or dialect.name != "postgresql" else escape_nul(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the text in the log's form."""
        return value if value is None or dialect.name != "postgresql" else unescape_nul(value)


METADATA: Final = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

BOOK: Final = Table(
    "book",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("stream", Text, nullable=False, unique=True),
    Column("position", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
    Column("state", Text, nullable=False),
)

ENTRY: Final = Table(
    "entry",
    METADATA,
    Column("book", Integer, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("part", SmallInteger, primary_key=True),
    Column("ref", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("day", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("shoe", Text, nullable=False),
    Column("coup", Text, nullable=False),
    Column("phase", SmallInteger, nullable=False),
    Column("rulebook", Text, nullable=False),
    Column("reverses", Text, nullable=False),
    Column("detail", Text, nullable=False, server_default=""),
    Column("currency", Text, nullable=False, server_default=""),
    UniqueConstraint("book", "ref"),
    ForeignKeyConstraint(["book"], ["book.id"]),
    Index(None, "book", "shoe"),
)

POSTING: Final = Table(
    "posting",
    METADATA,
    Column("book", Integer, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("part", SmallInteger, primary_key=True),
    Column("line", SmallInteger, primary_key=True),
    Column("account", Text, nullable=False),
    Column("seat", SmallInteger, nullable=False),
    Column("bet", Text, nullable=False),
    Column("result", Text, nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("patron", _FreeText, nullable=False, server_default=""),
)

POSTING_TO_ENTRY: Final = and_(
    POSTING.c.book == ENTRY.c.book,
    POSTING.c.position == ENTRY.c.position,
    POSTING.c.part == ENTRY.c.part,
)
"""Joins a posting to its entry."""


def select_postings(*columns: ColumnElement[Any]) -> Select[Any]:
    """Select columns of the postings, each with its entry and its book."""
    there = POSTING.join(ENTRY, POSTING_TO_ENTRY).join(BOOK, BOOK.c.id == ENTRY.c.book)
    return select(*columns).select_from(there)
