"""A state as bytes and back: exactly the same state, whatever game it came from."""

import json
import os
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from events.cards import Card
from events.errors import UnreadableEvent
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
from table_core.state.table import Alarm, ShoeLink, TableState
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
        "link = ShoeLink(past=frozenset(map(str, range(40))), errors=frozenset('zyxabc'))\n"
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
    link = ShoeLink(past=frozenset(map(str, range(40))), errors=frozenset("abcxyz"))
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
    assert snapshot._plain(Fraction(-7, 6)) == "-7/6"
    assert snapshot._restored(Fraction, "-7/6") == Fraction(-7, 6)
    with pytest.raises(NotImplementedError):
        snapshot._plain(object())
    with pytest.raises(NotImplementedError):
        snapshot._restored(bytearray, "")


def test_the_shape_tells_of_every_type_down_to_the_last() -> None:
    shapes: dict[str, str] = {}
    snapshot._describe(TableState, shapes)
    names = {name.rpartition(".")[2] for name in shapes}
    assert {"TableState", "Coup", "ShoeState", "Bead", "Column", "SettlementLine", "Card"} <= names
    for name, shape in shapes.items():
        assert shape.count("(") > 2 or name.rpartition(".")[2] not in {"Coup", "Bead", "Card"}


def test_the_books_of_the_first_builds_are_compared_as_long_as_the_types_are_the_same() -> None:
    books = snapshot_anchor(TableState(), b"", shoe="s", chain=b"", peaks=())
    assert is_comparable(replace(books, shape="0e224b54fff5baa0"))


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
