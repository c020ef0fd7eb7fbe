"""A row of a schema that calls itself SQLite's own is seen by every reader, and named."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from baccarat.cli.main import main
from cage.ledger.database import parse_ledger_url
from cage.ledger.store import LedgerStore
from events.errors import LedgerError, LogRefused
from events.log.backup import back_up, restore
from events.log.idempotency_index import RequestIndex
from events.log.schema_rows import odd_rows, rows_made_by, rows_of
from events.log.store import EventLog
from events.log.verify import verify
from property.witness.store import WitnessBook, read_book
from table_core.service.snapshots import inspect_log
from tests.support.cage.ledgers import STREAM, agrees, facts_of, held_against, play_log
from tests.support.log.closed_books import chain, closed, writable
from tests.support.log.logs import ORIGIN, made
from tests.support.table.money_game import BOOKS

RULEBOOK = BOOKS["au-commission"]()
NAME = "sqlite_hidden"
# As SQLite's rows are: (type, name); whatever a row says that it is, its text is what is run.
DISGUISES = [("trigger", NAME), ("index", NAME), ("trigger", "event"), ("table", "sqlite_stat1")]


def plant(
    path: Path, table: str, kind: str = "trigger", name: str = NAME, does: str = "SELECT 1"
) -> None:
    """A trigger behind every insert into a table, under a name that no statement could give it."""
    sql = f"CREATE TRIGGER {NAME} AFTER INSERT ON {table} BEGIN {does}; END"
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
    with pytest.raises(LogRefused, match=NAME):
        back_up(path, tmp_path / "backup.sqlite", inspect_log)
    with pytest.raises(LogRefused, match=NAME):
        restore(path, tmp_path / "restored.sqlite", inspect_log)
    assert not (tmp_path / "backup.sqlite").exists()
    assert not (tmp_path / "restored.sqlite").exists()


def test_it_is_found_in_a_closed_file(tmp_path: Path) -> None:
    log = chain(tmp_path, RULEBOOK, 5, shoes=2)
    (file,) = log.files
    plant(writable(file), "event")
    reason = str(verify(log.path).reason)
    assert NAME in reason
    assert file.path.name in reason


@pytest.mark.parametrize(("kind", "name"), [("trigger", NAME), ("index", NAME)])
def test_an_index_of_requests_with_one_is_made_anew(tmp_path: Path, kind: str, name: str) -> None:
    path = tmp_path / "requests.sqlite"
    RequestIndex.open(path, (), 1, b"head").close()
    plant(path, "request", kind, name)
    RequestIndex.open(path, (), 1, b"head").close()
    with closing(sqlite3.connect(path)) as db:
        assert NAME not in {row.name for row in rows_of(db.execute)}


@pytest.mark.parametrize("read", [WitnessBook.open, read_book])
def test_a_witnesss_file_with_one_is_refused(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    path = tmp_path / "witness.sqlite"
    WitnessBook.open(path).close()
    plant(path, "refused")
    with pytest.raises(LogRefused, match=NAME):
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
    with pytest.raises(LedgerError, match=f"version 0002 makes it: {NAME};"):
        LedgerStore.open(url, STREAM)
    difference = held_against(str(path), log).difference
    assert difference is not None
    assert NAME in difference.text


def test_two_rows_of_one_name_are_two() -> None:
    expected = rows_made_by(["CREATE TABLE a (n INTEGER)"])
    assert odd_rows([*expected, *expected], expected) == (expected, [])
    assert odd_rows([], expected) == ([], expected)
