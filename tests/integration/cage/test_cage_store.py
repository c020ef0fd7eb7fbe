"""The ledger on disk, in SQLite and in PostgreSQL: each fact once, whole, and never edited."""

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from msgspec.structs import replace
from sqlalchemy import text

from benchmarks.instruments.postgres import Postgres
from cage import migrations
from cage.ledger.database import create_ledger_engine, parse_ledger_url, schema_fault
from cage.ledger.entries import Posting
from cage.ledger.reading import Filter, open_ledger
from cage.ledger.received_event import LedgerEvent
from cage.ledger.sql_tables import METADATA
from cage.ledger.store import LedgerStore
from events.errors import InputError, LedgerError, LedgerUnavailable
from events.proof.chain import next_hash
from events.sql_migrations import Migrations
from events.types import WagersPlaced
from tests.support.cage.ledgers import (
    STREAM,
    MemoryLedger,
    accounts_of,
    agrees,
    book_log,
    facts_of,
    held_against,
    play_log,
)
from tests.support.money_model.driver import play
from tests.support.money_model.records import check_records, logged

SEED = 20261127
FOLDER = Path(migrations.__file__).parent


@contextmanager
def opened(url: str, stream: str = STREAM) -> Iterator[LedgerStore]:
    with closing(LedgerStore.open(parse_ledger_url(url), stream)) as store:
        yield store


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A short game's."""
    path = tmp_path / "table.sqlite"
    play_log(path, seed=SEED, coups=8)
    return path


@pytest.fixture
def facts(log: Path) -> list[LedgerEvent]:
    """Its events."""
    return facts_of(log)


def position_in(url: str) -> int:
    with opened(url) as store:
        return store.position


def run_sql(url: str, statement: str) -> None:
    with create_ledger_engine(parse_ledger_url(url), create=True).begin() as connection:
        connection.execute(text(statement))


def test_a_game_with_everything_in_it_is_booked_to_the_unit(ledger: str, tmp_path: Path) -> None:
    log = tmp_path / "table.sqlite"
    events = play_log(log, seed=SEED, coups=50)
    facts, rng = facts_of(log), random.Random(SEED)
    while (at := position_in(ledger)) < len(facts):
        with opened(ledger) as store:  # as after any number of restarts
            first = max(0, at - rng.randrange(40))  # what comes again is dropped
            booked = store.book(facts[first : at + rng.randint(1, 300)])
            assert booked.repeated == at - first
    found = agrees(ledger, log)
    assert found.read == len(facts)
    assert found.settlements > 40
    memory = MemoryLedger()
    memory.hear(events)
    sums: Counter[str] = Counter()
    for entry in memory.entries:
        for posting in entry.postings:
            sums[posting.account] += posting.amount
    assert accounts_of(ledger) == {name: amount for name, amount in sums.items() if amount}


def test_a_random_history_is_booked_as_the_model_says(postgres: Postgres, tmp_path: Path) -> None:
    lines = play(SEED, "mixed", 70).steps.lines
    assert check_records(logged(lines, "mixed", tmp_path), tmp_path, postgres.database()) == []


def test_what_comes_again_changes_nothing(ledger: str, facts: list[LedgerEvent]) -> None:
    with opened(ledger) as store:
        store.book(facts)
        before = accounts_of(ledger)
        again = store.book(facts)
    assert (again.entries, again.repeated, again.position) == (0, len(facts), len(facts))
    assert accounts_of(ledger) == before


def test_a_gap_books_nothing_of_its_batch(ledger: str, facts: list[LedgerEvent], log: Path) -> None:
    with opened(ledger) as store:
        store.book(facts[:10])
        before = accounts_of(ledger)
        with pytest.raises(LedgerError, match="event 31 of site/t1 is missing before 32"):
            store.book([*facts[10:30], *facts[31:]])
        assert store.position == 10
        assert accounts_of(ledger) == before
        assert store.book(facts).position == len(facts)
    agrees(ledger, log)


def test_a_settlement_that_comes_twice_under_two_positions_is_not_booked_twice(
    ledger: str, facts: list[LedgerEvent]
) -> None:
    with opened(ledger) as store:
        store.book(facts)
        before = accounts_of(ledger)
        twice = next(each for each in facts if each.stored and b'"coup_settled"' in each.stored)
        last = facts[-1]
        stored = twice.stored
        assert stored is not None
        again = replace(twice, position=last.position + 1, hash=next_hash(last.hash, stored))
        with pytest.raises(LedgerError, match="comes a second time"):
            store.book([again])
        assert store.position == last.position
    assert accounts_of(ledger) == before


def test_another_past_is_not_gone_on_from(
    ledger: str, tmp_path: Path, facts: list[LedgerEvent]
) -> None:
    play_log(tmp_path / "other.sqlite", seed=SEED + 1, coups=8)
    with opened(ledger) as store:
        store.book(facts[:40])
        with pytest.raises(LedgerError, match="event 41 does not follow what is booked"):
            store.book(facts_of(tmp_path / "other.sqlite"))
        assert store.position == 40


def test_another_tables_events_are_refused(ledger: str, facts: list[LedgerEvent]) -> None:
    with (
        opened(ledger, "site/t2") as store,
        pytest.raises(LedgerError, match="is of site/t1, and the book is site/t2's"),
    ):
        store.book(facts)


def test_two_tables_keep_their_books_in_one_ledger(
    ledger: str, facts: list[LedgerEvent], log: Path
) -> None:
    with opened(ledger) as store, opened(ledger, "site/t2") as other:
        store.book(facts)
        assert other.book([]).position == 0
    with open_ledger(parse_ledger_url(ledger)) as found:
        assert found.tables() == ["site/t1", "site/t2"]
        assert list(found.entries(Filter(table="site/t2"))) == []
        found.require_named(Filter(table="site/t1", bet="player"))
        with pytest.raises(InputError, match=r"no such bet in this ledger of site/t2; .* none"):
            found.require_named(Filter(table="site/t2", bet="player"))
    agrees(ledger, log)


def test_a_second_writer_is_refused(ledger: str) -> None:
    with opened(ledger), pytest.raises(LedgerError, match="another writer has the book of site/t1"):
        LedgerStore.open(parse_ledger_url(ledger), STREAM)
    with opened(ledger) as store:
        assert store.position == 0


def test_a_writer_whose_cursor_was_moved_books_nothing(
    ledger: str, facts: list[LedgerEvent]
) -> None:
    """As when its lock was lost with a connection, and another came before it."""
    with opened(ledger) as store:
        store.book(facts[:5])
        run_sql(ledger, "UPDATE book SET position = 6")
        with pytest.raises(LedgerError, match="another writer"):
            store.book(facts)
        assert accounts_of(ledger) == {}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE posting SET amount = amount + 1",
        "DELETE FROM posting",
        "UPDATE entry SET coup = 'x'",
        "DELETE FROM entry",
    ],
)
def test_what_is_booked_cannot_be_edited(ledger: str, log: Path, statement: str) -> None:
    book_log(ledger, log)
    with pytest.raises(Exception, match="the ledger is never edited: book a reversal"):
        run_sql(ledger, statement)
    agrees(ledger, log)


def test_the_migrations_make_what_the_code_reads(ledger: str) -> None:
    with opened(ledger):
        pass
    with create_ledger_engine(parse_ledger_url(ledger), create=True).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


@pytest.mark.parametrize("step", sorted(FOLDER.glob("versions/v*.py")), ids=lambda step: step.stem)
def test_a_versions_statements_make_what_its_steps_make(step: Path, tmp_path: Path) -> None:
    url = parse_ledger_url(str(tmp_path / "ledger.sqlite"))
    with create_ledger_engine(url, create=True).begin() as connection:
        Migrations(FOLDER, "ledger", "", LedgerError).upgrade(connection, step.stem[1:5])
        assert schema_fault(connection) is None


def test_a_ledger_of_a_newer_build_is_left_alone(ledger: str) -> None:
    with opened(ledger):
        pass
    run_sql(ledger, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(LedgerError, match="9999, which is newer than this build"):
        LedgerStore.open(parse_ledger_url(ledger), STREAM)
    with (
        pytest.raises(LedgerError, match="9999, which is newer than this build"),
        open_ledger(parse_ledger_url(ledger)),
    ):
        pass


def test_what_is_no_ledger_is_not_read(ledger: str) -> None:
    run_sql(ledger, "CREATE TABLE something (id INTEGER)")
    with pytest.raises(LedgerError, match="holds no ledger"), open_ledger(parse_ledger_url(ledger)):
        pass


def test_a_ledger_that_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="there is no such ledger"),
        open_ledger(parse_ledger_url(str(tmp_path / "none.sqlite"))),
    ):
        pass
    with pytest.raises(LedgerUnavailable) as away:
        LedgerStore.open(parse_ledger_url("postgresql://cage:secret@127.0.0.1:1/x"), STREAM)
    assert "secret" not in str(away.value)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://host/x", "not in mysql"),
        ("postgresql://h:x/y", "the ledger's URL is none"),
        ("sqlite://", "a SQLite file or in PostgreSQL"),
    ],
)
def test_a_url_of_no_ledger_is_refused(url: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_ledger_url(url)


def test_a_batch_that_dies_in_the_middle_leaves_nothing(
    ledger: str, facts: list[LedgerEvent], log: Path
) -> None:
    """A posting that no column can hold: whatever stood before it in the batch is not there."""
    with opened(ledger) as store:
        store.book(facts[:5])
        broken = list(facts[5:])
        laid = (n for n, each in enumerate(broken) if isinstance(each.data, WagersPlaced))
        index = list(laid)[3]
        broken[index] = replace(broken[index], event_id=None)
        with pytest.raises(LedgerError):
            store.book(broken)
        assert accounts_of(ledger) == {}
        assert store.book(facts).position == len(facts)
    agrees(ledger, log)


def test_reconcile_names_the_first_difference(ledger: str, tmp_path: Path) -> None:
    log = tmp_path / "longer.sqlite"
    play_log(log, seed=SEED, coups=20)
    book_log(ledger, log)
    for table in ("posting", "entry"):
        name = f"{table}_UPDATE" if "postgres" not in ledger else f"{table}_sealed ON {table}"
        run_sql(ledger, f"DROP TRIGGER {name}")
    with open_ledger(parse_ledger_url(ledger)) as found:
        settled = [e for e in found.entries(Filter()) if e.kind == "coup_settled" and e.postings]
    victim = settled[len(settled) // 2]
    posting: Posting = victim.postings[0]
    run_sql(
        ledger,
        f"UPDATE posting SET amount = amount + 1 WHERE position = {victim.position} "  # noqa: S608 - our own numbers
        f"AND part = {victim.part} AND line = 0",
    )
    with open_ledger(parse_ledger_url(ledger)) as found:
        assert [(table, place) for table, place, _ in found.unbalanced()] == [
            (STREAM, victim.position)
        ]
    difference = held_against(ledger, log).difference
    assert difference is not None
    assert (difference.position, difference.coup) == (victim.position, victim.coup)
    said = difference.text
    assert f"entry {victim.ref}: account {posting.account}, seat {posting.seat}" in said
    assert f"{posting.amount + 1} in the ledger and {posting.amount} by the log" in said
    victims = f"WHERE position = {victim.position} AND part = {victim.part}"
    run_sql(ledger, f"UPDATE posting SET amount = amount - 1 {victims} AND line = 0")  # noqa: S608 - our own numbers
    for column, kept in (("day", victim.day), ("at", victim.at), ("kind", victim.kind)):
        run_sql(ledger, f"UPDATE entry SET {column} = 'x' {victims}")  # noqa: S608 - our own words
        difference = held_against(ledger, log).difference
        run_sql(ledger, f"UPDATE entry SET {column} = '{kept}' {victims}")  # noqa: S608 - the same
        assert difference is not None
        assert f"{column} 'x' in the ledger and {kept!r} by the log" in difference.text
    run_sql(
        ledger,
        "INSERT INTO posting (book, position, part, line, account, seat, bet, result, amount) "  # noqa: S608 - the same
        f"SELECT book, position, 99, 0, account, seat, bet, result, 0 FROM posting {victims} "
        "AND line = 0",
    )
    difference = held_against(ledger, log).difference
    assert difference is not None
    assert (difference.position, difference.text) == (
        victim.position,
        "the ledger holds a posting that belongs to no entry",
    )


def test_reconcile_compares_the_state_by_which_the_next_event_is_booked(
    ledger: str, log: Path
) -> None:
    book_log(ledger, log)
    agrees(ledger, log)
    run_sql(ledger, "UPDATE book SET state = '{}'")
    difference = held_against(ledger, log).difference
    assert difference is not None
    assert "the state with which the ledger books the next event" in difference.text
    run_sql(ledger, "UPDATE book SET state = '[]'")
    with pytest.raises(LedgerError, match="state is not what a booking stores"):
        held_against(ledger, log)
    with pytest.raises(LedgerError, match="state is not what a booking stores"), opened(ledger):
        pass


def test_reconcile_reads_whether_an_index_holds_what_its_table_holds(
    tmp_path: Path, log: Path
) -> None:
    ledger = str(tmp_path / "ledger.sqlite")
    book_log(ledger, log)
    with closing(sqlite3.connect(ledger, isolation_level=None)) as db:
        db.execute("CREATE TABLE other AS SELECT * FROM posting")
        db.execute("UPDATE other SET amount = amount + 100 WHERE rowid = 1")
        db.execute("CREATE INDEX site_report ON other(account, amount)")
        db.execute("PRAGMA writable_schema = ON")
        made = "CREATE INDEX site_report ON posting(account, amount)"
        db.execute(
            "UPDATE sqlite_schema SET tbl_name = 'posting', sql = ? WHERE name = 'site_report'",
            (made,),
        )
    difference = held_against(ledger, log).difference
    assert difference is not None
    assert "its file contradicts itself: " in difference.text
    assert "site_report" in difference.text
