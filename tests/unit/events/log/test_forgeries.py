"""What is wrong in a log is found where it is, by who verifies it and by who opens it."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baccarat.cli.main import main
from cage.ledger.database import parse_ledger_url
from cage.ledger.store import LedgerStore
from events.errors import LedgerError, LogRefused
from events.log.backup import back_up, restore
from events.log.idempotency_index import RequestIndex
from events.log.schema import SCHEMA, SCHEMA_VERSION, odd_rows, rows_made_by, rows_of
from events.log.store import EventLog
from events.log.verify import verify
from property.witness.store import WitnessBook, read_book
from table_core.service.snapshots import inspect_log
from tests.support.cage.ledgers import STREAM, agrees, facts_of, held_against, play_log
from tests.support.log.closed_books import chain, closed, writable
from tests.support.log.logs import NAME, ORIGIN, contents, forging, made, pending, rehash
from tests.support.log.logs import replace_stored as replaced
from tests.support.table.money_game import BOOKS

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
3    | 'anna/t-1' is not recorded | UPDATE request SET position = 'x' WHERE position = 4
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
    (b'"event_id":"', b'"event_id":"0', "its id does not follow from its cause"),
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


@pytest.mark.sweep
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
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("whole"))


@pytest.fixture(params=["OFF", "ON"])
def stranger(whole: Path, request: pytest.FixtureRequest) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(whole, isolation_level=None)) as db:
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
def test_only_the_next_position_can_be_inserted(whole: Path, how: str, position: int) -> None:
    with closing(sqlite3.connect(whole, isolation_level=None)) as db:
        before = _rows(db)
        with pytest.raises(sqlite3.IntegrityError):
            db.execute(how + " INTO event VALUES (?, 'x', 1, 'now', x'00', x'00')", (position,))
        assert _rows(db) == before


def test_after_all_that_the_log_verifies_and_opens(whole: Path) -> None:
    assert verify(whole).ok
    with EventLog.open(whole, ORIGIN) as opened:
        assert opened.position == 6


RULEBOOK = BOOKS["au-commission"]()
HIDDEN, TRIGGER = "sqlite_hidden", "trigger"
# As SQLite's rows are: (type, name); whatever a row says that it is, its text is what is run.
DISGUISES = [
    ("trigger", HIDDEN),
    ("index", HIDDEN),
    ("trigger", "event"),
    ("table", "sqlite_stat1"),
]


def plant(
    path: Path, table: str, kind: str = "trigger", name: str = HIDDEN, does: str = "SELECT 1"
) -> None:
    """A trigger behind every insert into a table, under a name that no statement could give it."""
    sql = f"CREATE TRIGGER {HIDDEN} AFTER INSERT ON {table} BEGIN {does}; END"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA writable_schema=ON")
        row = (kind, name, table, 0, sql)
        db.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", row)
        db.commit()


def test_such_a_trigger_is_run(tmp_path: Path) -> None:
    path = tmp_path / "any.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE event (n INTEGER)")
    plant(path, "event", does="UPDATE event SET n = 7")
    with closing(sqlite3.connect(path)) as db:
        db.execute("INSERT INTO event VALUES (1)")
        assert db.execute("SELECT n FROM event").fetchall() == [(7,)]


@pytest.mark.parametrize(("kind", "name"), DISGUISES)
def test_verifying_and_opening_a_log_name_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, name: str
) -> None:
    path = made(tmp_path)
    plant(path, "event", kind, name)
    assert name in str(verify(path).reason)
    with pytest.raises(LogRefused, match=name):
        EventLog.open(path, ORIGIN)
    assert main(["log", "verify", str(path)]) == 1
    assert name in capsys.readouterr().out


def test_a_row_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = made(tmp_path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA writable_schema=ON")
        db.execute("DELETE FROM sqlite_master WHERE name = 'event_never_goes'")
        db.commit()
    assert verify(path).reason == "missing in the file's schema: event_never_goes"
    with pytest.raises(LogRefused, match="event_never_goes"):
        EventLog.open(path, ORIGIN)


def test_what_analyze_leaves_is_no_fault(tmp_path: Path) -> None:
    path = made(tmp_path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("ANALYZE")
    assert verify(path).ok
    EventLog.open(path, ORIGIN).close()


def test_a_log_with_one_gets_no_backup_and_is_not_restored(tmp_path: Path) -> None:
    path = closed(tmp_path / "data", RULEBOOK, 21, shoes=1, coups=2).path
    plant(path, "meta")
    with pytest.raises(LogRefused, match=HIDDEN):
        back_up(path, tmp_path / "backup.sqlite", inspect_log)
    with pytest.raises(LogRefused, match=HIDDEN):
        restore(path, tmp_path / "restored.sqlite", inspect_log)
    assert not (tmp_path / "backup.sqlite").exists()
    assert not (tmp_path / "restored.sqlite").exists()


def test_it_is_found_in_a_closed_file(tmp_path: Path) -> None:
    log = chain(tmp_path, RULEBOOK, 5, shoes=2)
    (file,) = log.files
    plant(writable(file), "event")
    reason = str(verify(log.path).reason)
    assert HIDDEN in reason
    assert file.path.name in reason


@pytest.mark.parametrize(("kind", "name"), [("trigger", HIDDEN), ("index", HIDDEN)])
def test_an_index_of_requests_with_one_is_made_anew(tmp_path: Path, kind: str, name: str) -> None:
    path = tmp_path / "requests.sqlite"
    RequestIndex.open(path, (), 1, b"head").close()
    plant(path, "request", kind, name)
    RequestIndex.open(path, (), 1, b"head").close()
    with closing(sqlite3.connect(path)) as db:
        assert HIDDEN not in {row.name for row in rows_of(db.execute)}


@pytest.mark.parametrize("read", [WitnessBook.open, read_book])
def test_a_witnesss_file_with_one_is_refused(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    path = tmp_path / "witness.sqlite"
    WitnessBook.open(path).close()
    plant(path, "refused")
    with pytest.raises(LogRefused, match=HIDDEN):
        read(path)


def test_a_ledger_with_one_is_refused_and_what_a_site_reads_by_is_not(tmp_path: Path) -> None:
    log, path = tmp_path / "table.sqlite", tmp_path / "cage.sqlite"
    play_log(log, seed=7, coups=2)
    url = parse_ledger_url(str(path))
    with closing(LedgerStore.open(url, STREAM)) as store:
        store.book(facts_of(log))
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE VIEW by_seat AS SELECT seat, sum(amount) FROM posting GROUP BY seat")
        db.execute("CREATE INDEX by_patron ON posting (patron)")
        db.execute("CREATE TABLE remark (text TEXT PRIMARY KEY)")
    LedgerStore.open(url, STREAM).close()
    agrees(str(path), log)
    plant(path, "posting")
    with pytest.raises(LedgerError, match=f"version 0003 makes it: {HIDDEN};"):
        LedgerStore.open(url, STREAM)
    difference = held_against(str(path), log).difference
    assert difference is not None
    assert HIDDEN in difference.text


def test_two_rows_of_one_name_are_two() -> None:
    expected = rows_made_by(["CREATE TABLE a (n INTEGER)"])
    assert odd_rows([*expected, *expected], expected) == (expected, [])
    assert odd_rows([], expected) == ([], expected)
