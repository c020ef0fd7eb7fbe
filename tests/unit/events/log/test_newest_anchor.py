"""Closing the books: a start from them comes to the same table, and trusts nothing else."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from events.commands import CloseBetting, EndShoe, LoadShoe, OpenBetting, PlaceWager, WagerRequest
from events.errors import InputError, LogRefused, LogUnwritable
from events.log.open_checks import check_log
from events.log.store import EventLog
from events.proof.merkle import MerkleTree
from events.types import (
    BooksClosed,
    LinkOpen,
    LinkUp,
    decode_data,
    decode_envelope,
    encode_envelope,
)
from table_core.fold import snapshot
from table_core.fold.dispatch import fold_all
from table_core.fold.snapshot import encode_state
from table_core.process.publishers import public_bytes
from table_core.service.snapshots import inspect_log, snapshot_path
from table_core.service.table import Table
from table_core.state.table import TableState
from tests.support.log.closed_books import (
    SITE_T1,
    Closed,
    books_of,
    closed,
    newest_books,
    opened,
    table_on,
)
from tests.support.log.logs import AT, forging, grow, rehash
from tests.support.table.coups import shoe_event
from tests.support.table.money_game import BOOKS

RULEBOOK = BOOKS["au-commission"]()
SHOE = "20261127-01"


@pytest.fixture
def game(tmp_path: Path) -> Closed:
    return closed(tmp_path, RULEBOOK, 11)


@given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(sorted(BOOKS)))
@settings(max_examples=12, deadline=None)
def test_snapshot_and_the_rest_come_to_what_the_whole_log_comes_to_at_every_shoe_end(
    tmp_path_factory: pytest.TempPathFactory, seed: int, name: str
) -> None:
    rulebook = BOOKS[name]()
    made = closed(tmp_path_factory.mktemp("log"), rulebook, seed, coups=2)
    with EventLog.open(made.path, SITE_T1) as log:
        events = [decode_data(decode_envelope(each.stored)) for each in log.read()]
    for position, state in made.at_books.items():
        assert fold_all(TableState(), events[: position - 1]) == state
        back = snapshot.decode_state(encode_state(state))
        assert fold_all(back, events[position - 1 :]) == made.state
    found, _, folded = opened(made)
    assert found == (made.state, None, None)
    assert folded == made.state.position - newest_books(made) + 1
    assert inspect_log(made.path) is None


def test_the_books_say_where_log_and_tree_and_state_stood(game: Closed) -> None:
    with EventLog.open(game.path, SITE_T1) as log:
        stored = list(log.read())
    for position, state in game.at_books.items():
        books = books_of(game.path, position)
        tree = MerkleTree()
        for each in stored[: position - 1]:
            tree.add(each.stored)
        assert books.size == position - 1 == state.position
        assert books.chain == stored[position - 2].hash.hex()
        assert books.peaks == tuple(peak.hex() for peak in tree.peaks)
        assert books.state == snapshot.state_hash(encode_state(state))


def test_opening_looks_at_events_from_the_newest_books_on(game: Closed) -> None:
    with EventLog.open(game.path, SITE_T1) as log:
        assert log.checked_from == newest_books(game)
        tree = MerkleTree()
        for each in log.read():
            tree.add(each.stored)
        assert log.peaks == tree.peaks
        assert log.root == tree.root()


def test_a_change_before_the_books_opens_and_is_found_by_the_inspection(game: Closed) -> None:
    with forging(game.path) as db:
        db.execute("UPDATE event SET bytes = CAST(bytes || ' ' AS BLOB) WHERE position = 3")
    with EventLog.open(game.path, SITE_T1) as log:
        assert log.position == game.state.position
    said = inspect_log(game.path)
    assert said is not None
    assert said.startswith("position 3: ")


def test_a_change_behind_the_books_is_refused_at_once(game: Closed) -> None:
    bad = newest_books(game) + 2
    with forging(game.path) as db:
        db.execute("UPDATE event SET bytes = CAST(bytes || ' ' AS BLOB) WHERE position = ?", (bad,))
    with pytest.raises(LogRefused, match=f"position {bad}: the hash chain breaks here"):
        EventLog.open(game.path, SITE_T1)


def test_a_change_of_the_books_themselves_is_refused_at_once(game: Closed) -> None:
    at = newest_books(game)
    books = books_of(game.path, at)
    for forged in (
        replace(books, state="0" * 64),
        replace(books, size=books.size - 1),
        replace(books, chain="1" * 64),
        replace(books, peaks=()),
    ):
        copy = game.path.with_name("forged.sqlite")
        shutil.copyfile(game.path, copy)
        with forging(copy) as db:
            db.execute("UPDATE event SET bytes = ? WHERE position = ?", (stored(forged, at), at))
        with pytest.raises(LogRefused, match=f"position {at}: the hash chain breaks here"):
            EventLog.open(copy, SITE_T1)


def stored(books: BooksClosed, position: int) -> bytes:
    return encode_envelope(
        books,
        index=0,
        stream=SITE_T1,
        position=position,
        at=AT,
        actor="core",
        cause=f"core/books/{position - 1}",
        correlation="",
    )


def forge(made: Closed, forged: BooksClosed) -> None:
    """Other books, with every hash made anew: what only a state or a checkpoint can contradict."""
    at = newest_books(made)
    with forging(made.path) as db:
        db.execute(
            "UPDATE event SET bytes = ?, at = ? WHERE position = ?", (stored(forged, at), AT, at)
        )
        rehash(db, SITE_T1)


def test_books_that_lie_about_the_log_are_not_begun_from_and_found(game: Closed) -> None:
    books = books_of(game.path, newest_books(game))
    for forged in (replace(books, size=4), replace(books, chain="1" * 64)):
        forge(game, forged)
        with EventLog.open(game.path, SITE_T1) as log:
            assert log.checked_from == 1
        said = inspect_log(game.path)
        assert said is not None
        assert "the books do not have the log before" in said


def test_books_with_another_state_stop_the_bets(game: Closed) -> None:
    books = books_of(game.path, newest_books(game))
    forge(game, replace(books, state="5" * 64))
    found, logged, folded = opened(game)
    assert found.fault is not None
    assert "another state than the books" in found.fault
    assert "snapshot.discarded" in logged
    assert "books.disagree" in logged
    assert folded == game.state.position  # nothing but the events themselves is believed
    assert found.state == game.state
    assert inspect_log(game.path) == found.fault


def test_peaks_that_lie_are_found_by_the_inspection(game: Closed) -> None:
    books = books_of(game.path, newest_books(game))
    forge(game, replace(books, peaks=("6" * 64, *books.peaks[1:])))
    said = inspect_log(game.path)
    assert said is not None
    assert "the books do not have the log before" in said


# ---- when the books are closed ----


def shoe_over(log: EventLog, probe: Callable[[str], None] = lambda _: None) -> Table:
    """A table on this log, whose only shoe has ended and whose books are not closed."""
    table = table_on(log, RULEBOOK, probe=probe)
    table.ask("dealer", LoadShoe(transaction="l", shoe=SHOE), caught_up=True)
    table.ask("dealer", EndShoe(transaction="e", reason="end"), caught_up=True)
    return table


def test_a_shoe_that_ended_without_books_gets_them_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    with EventLog.open(path, SITE_T1) as log:
        table = table_on(log, RULEBOOK)
        table.ask("dealer", LoadShoe(transaction="l", shoe=SHOE), caught_up=True)
        table.close_books()
        before = table.state.position
        table.ask("dealer", EndShoe(transaction="e", reason="end"), caught_up=True)
    with EventLog.open(path, SITE_T1) as log:
        table = table_on(log, RULEBOOK)
        assert table.state.position == before + 2  # the end and the audit, no books yet
        table.close_books()
        table.close_books()
        assert table.state.position == before + 3
        state = table.state
    assert books_of(path, before + 3).shoe == SHOE
    with EventLog.open(path, SITE_T1) as log:
        table = table_on(log, RULEBOOK)
        assert table.state == state
        table.close_books()
        assert log.position == before + 3


def test_books_that_the_disk_refuses_are_closed_later(tmp_path: Path) -> None:
    with EventLog.open(tmp_path / "table.sqlite", SITE_T1) as log:
        table = shoe_over(log)
        before = table.state
        db = log._files._db  # where SQLite itself can be told to take nothing
        db.execute("PRAGMA query_only=ON")
        with pytest.raises(LogUnwritable):
            table.close_books()
        assert table.state is before
        db.execute("PRAGMA query_only=OFF")
        table.close_books()
        assert table.state.position == before.position + 1


@pytest.mark.parametrize("step", ["append.before", "append.after"])
def test_a_table_that_dies_as_it_closes_its_books_comes_up_the_same(
    tmp_path: Path, step: str
) -> None:
    class DiedError(Exception):
        pass

    def die(at: str) -> None:
        if armed and at == step:
            raise DiedError

    armed = False
    path = tmp_path / "table.sqlite"
    with EventLog.open(path, SITE_T1) as log:
        table = shoe_over(log, die)
        before = table.state
        armed = True
        with pytest.raises(DiedError):
            table.close_books()
    assert not snapshot_path(path).exists()
    with EventLog.open(path, SITE_T1) as log:
        table = table_on(log, RULEBOOK)
        table.close_books()
        assert table.state == replace(before, position=before.position + 1)
    assert books_of(path, before.position + 1).size == before.position
    assert snapshot_path(path).exists()
    assert inspect_log(path) is None


def test_no_new_money_on_a_log_that_is_not_trusted_but_the_coup_can_be_finished(
    tmp_path: Path,
) -> None:
    with EventLog.open(tmp_path / "table.sqlite", SITE_T1) as log:
        table = table_on(log, RULEBOOK)
        table.ask("dealer", LoadShoe(transaction="l", shoe=SHOE), caught_up=True)
        table.hear(shoe_event(1, LinkOpen(transport="pty:x")))
        table.hear(shoe_event(2, LinkUp()))
        opening = table.ask("dealer", OpenBetting(transaction="o"), caught_up=True)
        assert opening.result == "accepted"
        table.writer.start_lockdown("position 3: it was changed")
        table.writer.start_lockdown("another reason")
        assert table.writer.fault == "position 3: it was changed"
        wager = WagerRequest(seat=1, bet="banker", stake=1000)
        asked = PlaceWager(transaction="w", wagers=(wager,))
        for user, command in (("wagers", asked), ("dealer", OpenBetting(transaction="o2"))):
            answer = table.ask(user, command, caught_up=True)
            assert (answer.result, answer.code) == ("refused", "log_unsound")
            assert answer.text == "no more bets: position 3: it was changed"
        closing = table.ask("dealer", CloseBetting(transaction="c"), caught_up=True)
        assert closing.result == "accepted"


def test_a_log_that_is_not_trusted_gets_no_books(tmp_path: Path) -> None:
    with EventLog.open(tmp_path / "table.sqlite", SITE_T1) as log:
        table = shoe_over(log)
        table.writer.start_lockdown("something")
        before = log.position
        table.close_books()
        assert log.position == before


def test_the_books_are_sealed_on_the_bus(game: Closed) -> None:
    """Their hash is of a state with the burned faces in it, which somebody could guess."""
    with EventLog.open(game.path, SITE_T1) as log:
        (event,) = log.read(newest_books(game), 1)
    assert decode_envelope(event.stored).data != b"null"
    assert b'"data":null' in public_bytes(event)
    assert books_of(game.path, event.position).state.encode() not in public_bytes(event)


def test_an_inspection_of_no_log_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        inspect_log(tmp_path / "table.sqlite")


def test_an_inspection_reads_beside_the_writer_and_changes_nothing(game: Closed) -> None:
    with EventLog.open(game.path, SITE_T1) as log:
        assert inspect_log(game.path) is None
        assert log.position == game.state.position
        assert check_log(game.path, SITE_T1).position == log.position


def test_events_that_do_not_follow_are_told_by_the_inspection(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    with EventLog.open(path, "sydney/t1") as log:
        grow(log, 1)  # betting is closed that was never opened
    said = inspect_log(path)
    assert said is not None
    assert "betting_closed" in said
