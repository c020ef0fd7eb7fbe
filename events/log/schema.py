"""The log's file format: its identification, its tables and its triggers.

Writer and verifier are separate code, but there is one format. Both compare a file with this text,
character by character, so a dropped, loosened or added trigger is noticed.

Any change here makes a new format: raise `SCHEMA_VERSION`, and never edit an old one. Version 2
adds the checkpoints. A log of version 1 is read as it is, and is upgraded when it is next opened
for writing.

Compare the schema of a SQLite file, row by row, with the statements that should have made it.
SQLite compiles any text in a schema row, under any name and type: with `PRAGMA writable_schema` a
trigger can be named `sqlite_...` like SQLite's own rows, or be declared an index. So no row is
skipped for its name, and two rows of one name are two rows.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any, Final, NamedTuple

__all__ = [
    "APPLICATION_ID",
    "CHECKPOINTS_SINCE",
    "LOCK_SUFFIX",
    "ORIGIN",
    "OWN_ACTORS",
    "SCHEMA",
    "SCHEMAS",
    "SCHEMA_VERSION",
    "SchemaRow",
    "odd_rows",
    "rows_made_by",
    "rows_of",
]

# `PRAGMA application_id`, "BacT" in ASCII: distinguishes our logs from other SQLite files.
APPLICATION_ID: Final = 0x42616354
# `PRAGMA user_version`: in the file's header, where every future build can find it.
SCHEMA_VERSION: Final = 2
# The first version with a table of checkpoints.
CHECKPOINTS_SINCE: Final = 2
# Next to the log. The writer holds an exclusive flock on it while it lives.
LOCK_SUFFIX: Final = ".lock"
# `<site>/<table>`, of segments that topics allow.
ORIGIN: Final = re.compile(r"[a-z0-9_-]+/[a-z0-9_-]+\Z")
# Nobody asks for these actors' events. Every other actor asked for its events by a request, which
# is recorded under the events' cause, so that a repeated request is recognised.
OWN_ACTORS: Final = frozenset({"shoe", "core"})
_TABLES: Final = {
    # The other columns are copies for queries; `bytes` is the truth.
    "event": """CREATE TABLE event (
    position INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    version INTEGER NOT NULL,
    at TEXT NOT NULL,
    bytes BLOB NOT NULL,
    hash BLOB NOT NULL
)""",
    # A request is here if and only if its events are: one commit writes both. `transaction_id` is
    # the cause in the events' envelopes, `position` the last of them.
    "request": """CREATE TABLE request (
    transaction_id TEXT PRIMARY KEY,
    body BLOB NOT NULL,
    position INTEGER NOT NULL
) WITHOUT ROWID""",
    # The position that each publisher and each durable consumer has reached.
    "cursor": """CREATE TABLE cursor (
    name TEXT PRIMARY KEY,
    position INTEGER NOT NULL
) WITHOUT ROWID""",
    # `origin`, and `session`, which rises at every start.
    "meta": """CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID""",
}


def _trigger(name: str, event: str, refusal: str, when: str = "true") -> tuple[str, str]:
    body = f"BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
    return name, f"CREATE TRIGGER {name} BEFORE {event} WHEN {when} {body}"


# INSERT OR REPLACE deletes the old row without firing delete triggers (unless recursive triggers
# are on). So each table that must not be rewritten guards its inserts as well.
_TRIGGERS: Final = (
    _trigger("event_never_changes", "UPDATE ON event", "an event is never changed"),
    _trigger("event_never_goes", "DELETE ON event", "an event is never deleted"),
    _trigger(
        "event_comes_next",
        "INSERT ON event",
        "an event comes next or not at all",
        when="NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM event)",
    ),
    _trigger("request_never_changes", "UPDATE ON request", "a request is never changed"),
    _trigger("request_never_goes", "DELETE ON request", "a request is never deleted"),
    _trigger(
        "request_comes_once",
        "INSERT ON request",
        "a request comes once",
        when="EXISTS (SELECT 1 FROM request WHERE transaction_id IS NEW.transaction_id)",
    ),
    _trigger(
        "request_comes_with_its_events",
        "INSERT ON request",
        "a request comes with its events",
        when="NEW.position IS NOT (SELECT max(position) FROM event)",
    ),
    _trigger(
        "meta_only_session_rises",
        "UPDATE ON meta",
        "only the session changes, and it rises",
        when="NOT (OLD.name IS 'session' AND NEW.name IS 'session' AND NEW.value > OLD.value)",
    ),
    _trigger("meta_never_goes", "DELETE ON meta", "what the log is never goes"),
    _trigger(
        "meta_comes_once",
        "INSERT ON meta",
        "what the log is comes once",
        when="EXISTS (SELECT 1 FROM meta WHERE name IS NEW.name)",
    ),
)
_CHECKPOINTS: Final = {
    # A signed state of the log: `note` is the checkpoint's text form, `size` a copy of its size.
    "checkpoint": """CREATE TABLE checkpoint (
    size INTEGER PRIMARY KEY,
    note BLOB NOT NULL
)""",
    **dict(
        (
            _trigger("checkpoint_never_changes", "UPDATE ON checkpoint", "signed is signed"),
            _trigger("checkpoint_never_goes", "DELETE ON checkpoint", "signed is signed"),
            _trigger(
                "checkpoint_comes_next",
                "INSERT ON checkpoint",
                "a checkpoint covers more than the last, and what there is",
                when="NEW.size IS NOT (SELECT max(position) FROM event) "
                "OR NEW.size <= (SELECT coalesce(max(size), 0) FROM checkpoint)",
            ),
        )
    ),
}
# By version: each name and the statement that makes it, in the order of making.
SCHEMAS: Final = {
    1: {**_TABLES, **dict(_TRIGGERS)},
    2: {**_TABLES, **dict(_TRIGGERS), **_CHECKPOINTS},
}
SCHEMA: Final = SCHEMAS[SCHEMA_VERSION]


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
