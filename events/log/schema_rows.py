"""Compare the schema of a SQLite file, row by row, with the statements that should have made it.

SQLite compiles any text in a schema row, under any name and type: with `PRAGMA writable_schema` a
trigger can be named `sqlite_...` like SQLite's own rows, or be declared an index. So no row is
skipped for its name, and two rows of one name are two rows.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any, Final, NamedTuple

__all__ = ["SchemaRow", "odd_rows", "rows_made_by", "rows_of"]

_ROWS: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master"


class SchemaRow(NamedTuple):
    """A row of a file's schema; a damaged row may hold anything.

    Args:
        type: `table`, `index`, `view` or `trigger`.
        name: its name.
        table: the table that it belongs to.
        sql: the statement that makes it; None for an index that SQLite made itself.
    """

    type: Any
    name: Any
    table: Any
    sql: Any


# ANALYZE leaves these tables; their content only chooses between query plans.
_OF_ANALYZE: Final = frozenset(
    SchemaRow("table", name, name, f"CREATE TABLE {name}({columns})")
    for name, columns in (
        ("sqlite_stat1", "tbl,idx,stat"),
        ("sqlite_stat4", "tbl,idx,neq,nlt,ndlt,sample"),
    )
)


def rows_of(execute: Callable[[str], Iterable[Any]]) -> list[SchemaRow]:
    """Return every row of a schema except those that ANALYZE leaves.

    Args:
        execute: runs a query on the file; its exceptions pass through.
    """
    return [row for row in map(SchemaRow._make, execute(_ROWS)) if row not in _OF_ANALYZE]


def rows_made_by(statements: Iterable[str]) -> list[SchemaRow]:
    """Return the rows that these statements leave in an empty database."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(";".join(statements))
        return rows_of(db.execute)


def odd_rows(
    found: Iterable[SchemaRow], expected: Iterable[SchemaRow]
) -> tuple[list[SchemaRow], list[SchemaRow]]:
    """Return the rows that should not be there, and those that are missing."""
    there, due = Counter(found), Counter(expected)
    return list((there - due).elements()), list((due - there).elements())
