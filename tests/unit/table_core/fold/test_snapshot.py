"""Snapshots: encoded and read again; one beside the log is believed in nothing but its hash."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from structlog.testing import capture_logs

from events.cards import Card
from events.errors import LogRefused, UnreadableEvent
from events.log.store import EventLog
from events.types import Envelope, TableEvent, decode_data
from table_core.fold import snapshot
from table_core.fold.dispatch import FOLD_VERSION, fold_all
from table_core.fold.snapshot import (
    decode_state,
    encode_state,
    is_comparable,
    snapshot_anchor,
    state_hash,
    state_shape,
)
from table_core.service import snapshots as books
from table_core.service.snapshots import snapshot_path, store_snapshot
from table_core.state.table import Alarm, ShoeLink, TableState
from tests.support.log.closed_books import (
    SITE_T1,
    Closed,
    books_of,
    closed,
    newest_books,
    opened,
    table_on,
)
from tests.support.log.logs import forging
from tests.support.table.money_game import BOOKS, Game, random_coup

SEEDS = st.integers(0, 2**32 - 1)


@given(seed=SEEDS, name=st.sampled_from(sorted(BOOKS)), coups=st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_a_state_of_any_game_comes_back_as_it_was_and_goes_on_as_it_would_have(
    seed: int, name: str, coups: int
) -> None:
    rng, game = random.Random(seed), Game(BOOKS[name](), seed)
    for _ in range(coups):
        game.play(random_coup(rng))
    log = game.world.log
    cut = rng.randrange(len(log) + 1)
    state = fold_all(TableState(), log[:cut])
    data = encode_state(state)
    back = decode_state(data)
    assert back == state
    assert encode_state(back) == data
    assert fold_all(back, log[cut:]) == game.world.state
    assert encode_state(fold_all(back, log[cut:])) == encode_state(game.world.state)


def test_every_state_on_the_way_through_a_game_comes_back() -> None:
    rng, game = random.Random(3), Game(BOOKS["prepaid pairs"](), 3)
    for _ in range(12):
        game.play(random_coup(rng))
    state, hashes = TableState(), set()
    for event in game.world.log:
        state = fold_all(state, [event])
        data = encode_state(state)
        assert decode_state(data) == state
        hashes.add(state_hash(data))
    assert len(hashes) == len(game.world.log)  # the position alone makes each another


@pytest.mark.process
def test_equal_states_have_equal_bytes_in_every_process() -> None:
    """Sets and dicts have an order of their own in each process; the bytes have not."""
    code = (
        "from table_core.state.table import ShoeLink, TableState\n"
        "from table_core.fold.snapshot import encode_state, state_shape\n"
        "link = ShoeLink(past=tuple(map(str, range(40))), errors=frozenset('zyxabc'))\n"
        "print(encode_state(TableState(link=link)).decode(), state_shape())\n"
    )
    root = str(Path(__file__).parents[4])
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": root, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    link = ShoeLink(past=tuple(map(str, range(40))), errors=frozenset("abcxyz"))
    here = f"{encode_state(TableState(link=link)).decode()} {state_shape()}\n"
    assert said == {here}


def test_a_difference_anywhere_is_another_hash() -> None:
    state = TableState()
    others = [
        replace(state, position=1),
        replace(state, dealer=""),
        replace(state, alarms=(Alarm(name="a", text=""),)),
        replace(state, link=ShoeLink(errors=frozenset({"e"}))),
        replace(state, orders=(("20261127-01", Card.SA.value),)),
    ]
    assert len({state_hash(encode_state(each)) for each in [state, *others]}) == len(others) + 1


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"position": "1"}',
        b'{"position": 1, "coup": {"id": 4}}',
        b'{"coup": {"id": "", "phase": "betting", "rulebook": "", "rulebook_hash": "", %s}}'
        % b'"wagers": {"w": {"id": "w", "seat": 1, "bet": "tie", "stake": 5}}',
        b'{"shoe": {"id": "x", "decks": 8, "roads": {"beads": 7}}}',
        b'{"shoe": {"id": "x", "decks": 8, "roads": {"beads": [{"winner": "nobody"}]}}}',
    ],
)
def test_what_is_no_state_is_refused_and_nothing_else_happens(damage: bytes) -> None:
    with pytest.raises(UnreadableEvent, match="not a state"):
        decode_state(damage)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_state_that_was_cut_or_changed_is_refused_or_has_another_hash(
    data: st.DataObject,
) -> None:
    game = Game(BOOKS["au-commission"](), 1)
    game.play(random_coup(random.Random(1)))
    good = encode_state(game.world.state)
    at = data.draw(st.integers(0, len(good) - 1))
    bad = data.draw(st.sampled_from([good[:at], good[:at] + b"\x00" + good[at + 1 :]]))
    assert state_hash(bad) != state_hash(good)
    try:
        state = decode_state(bad)
    except UnreadableEvent:
        return
    assert state != game.world.state


def test_fractions_have_a_form_and_what_has_none_is_our_bug() -> None:
    assert snapshot.as_plain(Fraction(-7, 6)) == "-7/6"
    assert snapshot.from_plain(Fraction, "-7/6") == Fraction(-7, 6)
    with pytest.raises(NotImplementedError):
        snapshot.as_plain(object())
    with pytest.raises(NotImplementedError):
        snapshot.from_plain(bytearray, "")


def test_the_shape_tells_of_every_type_down_to_the_last() -> None:
    shapes: dict[str, str] = {}
    snapshot._describe(TableState, shapes)
    names = {name.rpartition(".")[2] for name in shapes}
    assert {"TableState", "Coup", "ShoeState", "Bead", "Column", "SettlementLine", "Card"} <= names
    for name, shape in shapes.items():
        assert shape.count("(") > 2 or name.rpartition(".")[2] not in {"Coup", "Bead", "Card"}


def test_books_are_comparable_by_a_fold_and_a_state_like_ours_only() -> None:
    state = TableState(position=7)
    data = encode_state(state)
    books = snapshot_anchor(
        state, data, shoe="20261127-01", chain=b"\x01" * 32, peaks=[b"\x02" * 32] * 3
    )
    assert (books.size, books.fold, books.state) == (7, FOLD_VERSION, state_hash(data))
    assert (books.chain, books.peaks) == ("01" * 32, ("02" * 32,) * 3)
    assert is_comparable(books)
    assert not is_comparable(replace(books, fold=FOLD_VERSION + 1))
    assert not is_comparable(replace(books, shape="0" * 16))
    assert json.loads(data)["position"] == 7


RULEBOOK = BOOKS["au-commission"]()


@pytest.fixture
def game(tmp_path: Path) -> Closed:
    return closed(tmp_path, RULEBOOK, 11)


def put(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def put_link(path: Path, to: Path) -> None:
    path.unlink()
    path.symlink_to(to)


def put_folder(path: Path, _: bytes) -> None:
    path.unlink()
    path.mkdir()


def put_pipe(path: Path, _: bytes) -> None:
    path.unlink()
    os.mkfifo(path)


def link_to_itself_elsewhere(path: Path, good: bytes) -> None:
    elsewhere = path.with_name("elsewhere")
    elsewhere.write_bytes(good)
    put_link(path, elsewhere)


HOSTILE: dict[str, Callable[[Path, bytes], None]] = {
    "missing": lambda path, _: path.unlink(),
    "empty": lambda path, _: put(path, b""),
    "truncated": lambda path, good: put(path, good[:-1]),
    "longer": lambda path, good: put(path, good + b" "),
    "one byte": lambda path, good: put(path, good.replace(b'"staked":', b'"staken":', 1)),
    "other money": lambda path, good: put(path, good.replace(b'"paid":', b'"paid":1', 1)),
    "no text": lambda path, _: put(path, b"\xff" * 64),
    "deep": lambda path, _: put(path, b"[" * 1_000_000),
    "a pickle": lambda path, _: put(path, b"cos\nsystem\n(S'false'\ntR."),
    "a link": link_to_itself_elsewhere,
    "a folder": put_folder,
    "a pipe": put_pipe,
    "endless": lambda path, _: put_link(path, Path("/dev/zero")),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_snapshot_that_is_not_that_of_the_books_is_discarded_with_a_line(
    game: Closed, what: str
) -> None:
    path = snapshot_path(game.path)
    HOSTILE[what](path, path.read_bytes())
    found, logged, folded = opened(game)
    assert found == (game.state, None, None)
    assert folded == game.state.position
    assert logged[0] == "snapshot.discarded"
    again, logged, folded = opened(game)
    assert again == found
    if what != "a folder":  # which nothing of ours replaces
        assert logged == []
        assert folded == game.state.position - newest_books(game) + 1


def test_an_older_snapshot_is_discarded(game: Closed) -> None:
    oldest = min(game.at_books)
    snapshot_path(game.path).write_bytes(encode_state(game.at_books[oldest]))
    found, logged, _ = opened(game)
    assert found == (game.state, None, None)
    assert logged == ["snapshot.discarded"]


def test_a_snapshot_of_another_table_is_discarded(game: Closed, tmp_path: Path) -> None:
    other = closed(tmp_path / "other", RULEBOOK, 12)
    shutil.copyfile(snapshot_path(other.path), snapshot_path(game.path))
    found, logged, _ = opened(game)
    assert found == (game.state, None, None)
    assert logged == ["snapshot.discarded"]


def test_books_of_another_fold_are_not_begun_from_and_are_closed_anew(
    game: Closed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "FOLD_VERSION", FOLD_VERSION + 1)
    found, logged, folded = opened(game)
    assert found.state == game.state
    assert found.fault is None
    assert logged == ["snapshot.other_build"]
    assert folded == game.state.position
    with EventLog.open(game.path, SITE_T1) as log:
        table_on(log, RULEBOOK).close_books()
    assert books_of(game.path, game.state.position + 1).fold == FOLD_VERSION + 1
    _, logged, folded = opened(game)
    assert (logged, folded) == ([], 1)


@pytest.mark.parametrize("position", [1, 7])
@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM event WHERE position = ?",
        "UPDATE event SET bytes = CAST(bytes || ' ' AS BLOB) WHERE position = ?",
        "UPDATE event SET hash = zeroblob(32) WHERE position = ?",
        "UPDATE event SET bytes = CAST(replace(bytes, '1', '2') AS BLOB) WHERE position = ?",
    ],
)
def test_without_a_snapshot_a_change_before_the_books_is_refused_with_its_position(
    game: Closed, position: int, sql: str
) -> None:
    snapshot_path(game.path).unlink()
    with forging(game.path) as db:
        db.execute(sql, (position,))
    with pytest.raises(LogRefused, match=f"position {position}: ") as refused:
        opened(game)
    assert refused.value.position == position


def test_without_a_snapshot_an_event_that_this_build_does_not_know_is_refused(
    game: Closed, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot_path(game.path).unlink()
    with EventLog.open(game.path, SITE_T1) as log:
        position = next(each.position for each in log.read() if each.type == "deal_completed")

    def as_an_older_build(envelope: Envelope) -> TableEvent:
        if envelope.type == "deal_completed":
            raise UnreadableEvent("deal_completed version 1 is newer than this build knows (0)")
        return decode_data(envelope)

    monkeypatch.setattr(books, "decode_data", as_an_older_build)
    assert position < min(game.at_books)
    with pytest.raises(LogRefused, match=f"position {position}: deal_completed"):
        opened(game)


def test_a_snapshot_that_cannot_be_kept_costs_a_line(tmp_path: Path) -> None:
    log = tmp_path / "away" / "table.sqlite"
    with capture_logs() as logs:
        store_snapshot(log, b"{}")
    assert [entry["event"] for entry in logs] == ["snapshot.not_kept"]
