"""What is wrong in a log is found where it is, by who verifies it and by who opens it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from events.errors import LogRefused
from events.log.schema import SCHEMA, SCHEMA_VERSION
from events.log.store import EventLog
from events.log.verify import verify
from tests.support.log.logs import NAME, ORIGIN, contents, forging, made, pending, rehash
from tests.support.log.logs import replace_stored as replaced

TRIGGERS = [name for name in SCHEMA if "_" in name]
SPACE = "UPDATE event SET bytes = CAST(bytes || x'20' AS BLOB) WHERE position ="
DELETE = "DELETE FROM event WHERE position ="
CLOSE_UP = """DELETE FROM event WHERE position = {0};
    UPDATE event SET position = -position WHERE position > {0};
    UPDATE event SET position = -position - 1 WHERE position < 0"""
SWAP = """UPDATE event SET position = 100 WHERE position = 2;
    UPDATE event SET position = 2 WHERE position = 5;
    UPDATE event SET position = 5 WHERE position = 100"""
INSERT = """UPDATE event SET position = -position WHERE position > 3;
    UPDATE event SET position = 1 - position WHERE position < 0;
    INSERT INTO event SELECT 4, type, version, at, bytes, hash FROM event WHERE position = 3"""
CAGE, ANNA = "cursor 'cage'", "request 'anna/t-2'"

# Without the triggers: whether the chain is made anew, the first bad position, and a part of why.
FORGERIES: list[tuple[str, bool, int | None, str]] = [
    *((f"{SPACE} {at}", False, at, "were hashed / chain breaks") for at in range(1, 7)),
    *((f"{DELETE} {at}", True, at, "missing") for at in range(1, 6)),
    (f"{DELETE} 6", True, 6, f"{CAGE} has come to 6 / {CAGE} stands at 6"),
    *((CLOSE_UP.format(at), True, at, "") for at in range(1, 6)),
    *((SWAP, chain, 2, "") for chain in (False, True)),
    *((INSERT, chain, 4, "") for chain in (False, True)),
    ("DELETE FROM event WHERE position > 4", True, 5, f"{CAGE} has come to 6 / {CAGE} stands at 6"),
    (
        "DELETE FROM event WHERE position > 4; DELETE FROM cursor",
        *(True, 5, f"{ANNA} ended at 6 / {ANNA} stands at 6"),
    ),
]
# The same of one statement, the chain left as it was.
CHANGES = """
3    | type is / columns are not what | UPDATE event SET type = 'alarm_raised' WHERE position = 3
3    | version is / columns are not what | UPDATE event SET version = 2 WHERE position = 3
3    | column version / columns are not what | UPDATE event SET version = 'one' WHERE position = 3
3    | at is / columns are not what | UPDATE event SET at = '' WHERE position = 3
3    | at is / columns are not what | UPDATE event SET at = 'yesterday' WHERE position = 3
3    | column at / columns are not what | UPDATE event SET at = x'ff' WHERE position = 3
3    | unreadable     | UPDATE event SET at = CAST(x'ff' AS TEXT) WHERE position = 3
3    | column bytes / no bytes | UPDATE event SET bytes = 'text' WHERE position = 3
3    | column bytes / no bytes | UPDATE event SET bytes = CAST(bytes AS TEXT) WHERE position = 3
3    | hashed / chain breaks | UPDATE event SET hash = zeroblob(32) WHERE position = 3
3    | hashed / chain breaks | UPDATE event SET hash = substr(hash, 1, 31) WHERE position = 3
1    |                | UPDATE meta SET value = 'sydney/t2' WHERE name = 'origin'
none |                | UPDATE meta SET value = 7 WHERE name = 'origin'
none |                | DELETE FROM meta WHERE name = 'origin'
none |                | UPDATE meta SET value = 'many' WHERE name = 'session'
none |                | DELETE FROM meta WHERE name = 'session'
none |                | UPDATE cursor SET position = -1
none | cursor 'cage' stands at -5, which is no position | UPDATE cursor SET position = -5
none |                | UPDATE cursor SET position = 'x'
none |                | UPDATE cursor SET name = CAST(x'ff' AS TEXT)
7    |                | UPDATE cursor SET position = 9
none |                | INSERT INTO request VALUES ('x', x'', 0)
7    |                | INSERT INTO request VALUES ('x', x'', 9)
none | 4 requests are recorded | INSERT INTO request VALUES ('bert/t-1', x'', 4)
none |                | INSERT INTO request VALUES ('x', x'', 'y')
3    | 'anna/t-1' is not recorded | DELETE FROM request WHERE position = 4
4    | 'anna/t-1' is not recorded | UPDATE request SET position = 3 WHERE position = 4
3    | is not recorded | UPDATE request SET transaction_id = 'x' WHERE position = 4
"""
LOOSENED = """CREATE TRIGGER event_never_goes BEFORE DELETE ON event
    WHEN false BEGIN SELECT 1; END"""
# By a stranger, the triggers as he leaves them.
SCHEMES = [
    (f"PRAGMA user_version={SCHEMA_VERSION + 1}", "newer"),
    (
        "PRAGMA user_version=0",
        f"format 0 is older than this build reads ({SCHEMA_VERSION}) / format 0 is older",
    ),
    *((f"DROP TRIGGER {name}", name) for name in TRIGGERS),
    (
        f"DROP TRIGGER event_never_goes; {LOOSENED}",
        "event_never_goes",
    ),
    ("CREATE TRIGGER more AFTER INSERT ON event BEGIN DELETE FROM cursor; END", "more"),
    (
        "ALTER TABLE event RENAME TO other; CREATE VIEW event AS SELECT * FROM other",
        "in the file's schema is not as / is not as this build makes it",
    ),
]
# Bytes of event 3 that cannot be, though their hash is right.
BYTES: list[tuple[bytes, bytes, str]] = [
    (b"betting_closed", b"betting_forgot", "unknown event type 'betting_forgot'"),
    (b'"v":1', b'"v":2', "newer than this build knows"),
    (b'"by"', b'"bi"', "betting_closed version 1"),
    (b'{"event_id"', b'{"event_ID"', "not an envelope"),
    (b'"data":{', b'"more":1,"data":{', "not an envelope"),
    (
        b"sydney",
        b"darwin",
        "stream is 'sydney/t1', but the stored bytes say 'darwin/t1' / columns are not what",
    ),
    (
        b'"position":3',
        b'"position":4',
        "position is 3, but the stored bytes say 4 / columns are not what",
    ),
]


def refused(path: Path, first_bad: int | None, reason: str) -> None:
    """Both refuse the log, and say why in one line; it stays as it was to the last byte.

    Args:
        path: the log.
        first_bad: the position that both name.
        reason: a part of what the verifier says, ` / ` and of what the opening says.
    """
    before = contents(path.parent)
    verdict = verify(path)
    assert (verdict.ok, verdict.root, verdict.first_bad) == (False, None, first_bad)
    with pytest.raises(LogRefused) as error:
        EventLog.open(path, ORIGIN)
    assert contents(path.parent) == before
    opening, said = error.value.reason, str(verdict.reason)
    assert ("\n" in opening, "\n" in said, str(path) in opening) == (False, False, True)
    verifier, _, opener = reason.partition(" / ")
    assert verifier in said
    assert (opener or verifier) in opening


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return made(tmp_path)


def _changes() -> list[tuple[str, bool, int | None, str]]:
    rows = [[cell.strip() for cell in row.split("|", 2)] for row in CHANGES.strip().splitlines()]
    return [(sql, False, None if at == "none" else int(at), why) for at, why, sql in rows]


@pytest.mark.parametrize(("statements", "chain", "first_bad", "reason"), FORGERIES + _changes())
def test_a_forgery_is_found_where_it_is(
    path: Path, statements: str, chain: bool, first_bad: int | None, reason: str
) -> None:
    with forging(path) as db:
        for statement in statements.split(";"):
            db.execute(statement)
        if chain:
            rehash(db)
        (rows,) = db.execute("SELECT count(*) FROM event").fetchone()
    unread = first_bad is None and " meta " in statements
    assert verify(path).events == (0 if unread else rows)
    refused(path, first_bad, reason)


@pytest.mark.parametrize(("statements", "reason"), SCHEMES)
def test_another_schema_is_found(path: Path, statements: str, reason: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(statements)
    refused(path, None, reason)


@pytest.mark.parametrize("position", range(1, 7))
def test_who_took_the_triggers_away_is_told_what_he_did_without_them(
    path: Path, position: int
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for name in TRIGGERS:
            db.execute(f"DROP TRIGGER {name}")
        db.execute("UPDATE event SET at = 'x' WHERE position = ?", (position,))
    assert verify(path).first_bad == position
    refused(path, position, "event_never_changes")


@pytest.mark.parametrize(("old", "new", "reason"), BYTES)
def test_bytes_that_cannot_be_are_found_though_their_hash_is_right(
    path: Path, old: bytes, new: bytes, reason: str
) -> None:
    stored = pending(3, cause="anna/t-1").stored
    assert stored.count(old) == 1
    replaced(path, 3, stored.replace(old, new))
    refused(path, 3, reason)


def test_a_rollback_journal_beside_the_log_is_refused_and_kept(path: Path) -> None:
    path.with_name(f"{NAME}-journal").write_bytes(b"\xd9\xd5\x05\xf9 \xa1c\xd7" + bytes(4096))
    refused(path, None, f"rollback journal / {NAME}-journal")
