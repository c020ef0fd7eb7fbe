"""What stands in the schema of a SQLite file, row by row, against the statements that make it.

SQLite compiles whatever text a row of its schema holds, under any name and any type: with
`PRAGMA writable_schema` a trigger is called `sqlite_...` like SQLite's own rows, or is said to be
an index. So no row is passed over for its name, and two rows of one name are two.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any, Final, NamedTuple

__all__ = ["SchemaRow", "odd_rows", "rows_made_by", "rows_of"]

_ROWS: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master"


class SchemaRow(NamedTuple):
    """A row of a file's schema as it stands there; a damaged one may hold anything.

    Args:
        type: `table`, `index`, `view` or `trigger`.
        name: its name.
        table: the table that it belongs to.
        sql: the statement that makes it; None for an index that SQLite made of itself.
    """

    type: Any
    name: Any
    table: Any
    sql: Any


# Whoever runs ANALYZE leaves these; what they hold only chooses between ways of reading.
_OF_ANALYZE: Final = frozenset(
    SchemaRow("table", name, name, f"CREATE TABLE {name}({columns})")
    for name, columns in (
        ("sqlite_stat1", "tbl,idx,stat"),
        ("sqlite_stat4", "tbl,idx,neq,nlt,ndlt,sample"),
    )
)


def rows_of(execute: Callable[[str], Iterable[Any]]) -> list[SchemaRow]:
    """Every row but those that ANALYZE leaves.

    Args:
        execute: runs a query at the file; what it raises is raised.
    """
    return [row for row in map(SchemaRow._make, execute(_ROWS)) if row not in _OF_ANALYZE]


def rows_made_by(statements: Iterable[str]) -> list[SchemaRow]:
    """The rows that these statements leave in an empty database."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(";".join(statements))
        return rows_of(db.execute)


def odd_rows(
    found: Iterable[SchemaRow], expected: Iterable[SchemaRow]
) -> tuple[list[SchemaRow], list[SchemaRow]]:
    """The rows that are there and should not be, and those that are not there and should be."""
    there, due = Counter(found), Counter(expected)
    return list((there - due).elements()), list((due - there).elements())
