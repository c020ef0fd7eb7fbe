"""What a stranger with a SQLite shell can do to a log while its triggers stand: nothing."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.log.store import EventLog
from events.log.verify import verify
from tests.support.log.logs import ORIGIN, made

UPSERT = """INSERT INTO event SELECT 2, 'x', 1, 'now', x'00', x'00' WHERE true
    ON CONFLICT (position) DO UPDATE SET bytes = excluded.bytes"""
REWRITES = [
    "UPDATE event SET bytes = x'00' WHERE position = 2",
    "UPDATE event SET position = 9 WHERE position = 6",
    "UPDATE OR IGNORE event SET type = 'x'",
    "UPDATE OR REPLACE event SET position = 1 WHERE position = 2",
    "DELETE FROM event WHERE position = 6",
    "DELETE FROM event",
    "INSERT INTO event VALUES (6, 'x', 1, 'now', x'00', x'00')",
    "INSERT INTO event VALUES (8, 'x', 1, 'now', x'00', x'00')",
    "INSERT INTO event VALUES (0, 'x', 1, 'now', x'00', x'00')",
    "INSERT INTO event VALUES (-1, 'x', 1, 'now', x'00', x'00')",
    "INSERT OR REPLACE INTO event VALUES (2, 'x', 1, 'now', x'00', x'00')",
    "INSERT OR REPLACE INTO event VALUES (6, 'x', 1, 'now', x'00', x'00')",
    "INSERT OR IGNORE INTO event VALUES (2, 'x', 1, 'now', x'00', x'00')",
    "INSERT OR ROLLBACK INTO event VALUES (2, 'x', 1, 'now', x'00', x'00')",
    "REPLACE INTO event VALUES (3, 'x', 1, 'now', x'00', x'00')",
    UPSERT,
    "UPDATE request SET position = 1",
    "DELETE FROM request",
    "INSERT OR REPLACE INTO request VALUES ('anna/t-0', x'00', 6)",
    "INSERT INTO request VALUES ('anna/t-9', x'00', 7)",
    "INSERT INTO request VALUES ('anna/t-9', x'00', 1)",
    "UPDATE meta SET value = 'perth/t1' WHERE name = 'origin'",
    "UPDATE meta SET value = -1 WHERE name = 'session'",
    "UPDATE meta SET name = 'x' WHERE name = 'session'",
    "INSERT OR REPLACE INTO meta VALUES ('origin', 'perth/t1')",
    "INSERT OR REPLACE INTO meta VALUES ('session', 0)",
    "DELETE FROM meta",
]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("log"))


@pytest.fixture(params=["OFF", "ON"])
def stranger(log: Path, request: pytest.FixtureRequest) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(log, isolation_level=None)) as db:
        db.execute(f"PRAGMA recursive_triggers={request.param}")
        yield db


def _rows(db: sqlite3.Connection) -> list[list[object]]:
    tables = ("event", "request", "cursor", "meta")
    return [db.execute(f"SELECT * FROM {table}").fetchall() for table in tables]  # noqa: S608 - named above


@pytest.mark.parametrize("statement", REWRITES)
def test_no_statement_rewrites_a_log(stranger: sqlite3.Connection, statement: str) -> None:
    before = _rows(stranger)
    with pytest.raises(sqlite3.IntegrityError):
        stranger.execute(statement)
    assert _rows(stranger) == before


@settings(max_examples=60, deadline=None)
@given(
    how=st.sampled_from([f"INSERT OR {how}" for how in ("FAIL", "IGNORE", "REPLACE", "ROLLBACK")]),
    position=st.integers(-(2**63), 2**63 - 1).filter(lambda n: n != 7) | st.integers(-3, 6),
)
def test_only_the_next_position_can_be_inserted(log: Path, how: str, position: int) -> None:
    with closing(sqlite3.connect(log, isolation_level=None)) as db:
        before = _rows(db)
        with pytest.raises(sqlite3.IntegrityError):
            db.execute(how + " INTO event VALUES (?, 'x', 1, 'now', x'00', x'00')", (position,))
        assert _rows(db) == before


def test_after_all_that_the_log_verifies_and_opens(log: Path) -> None:
    assert verify(log).ok
    with EventLog.open(log, ORIGIN) as opened:
        assert opened.position == 6
