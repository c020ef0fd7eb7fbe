"""The inflow: whatever comes in whatever order, the log's own row comes out, each event once."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cage.ledger.received_event import LedgerEvent
from cage.reorder_buffer import AHEAD_MOST, READY_MOST, ReorderBuffer
from events.errors import LedgerError
from tests.support.cage.feed_table import disorder


def fact(position: int) -> LedgerEvent:
    return LedgerEvent("site/t1", position, f"{position:032x}", "", None, None, b"")


def taken(inflow: ReorderBuffer) -> list[int]:
    return [each.position for each in inflow.ready]


@given(seed=st.integers(0, 2**32), start=st.integers(0, 50), length=st.integers(1, 120))
def test_what_is_ready_is_always_the_log_without_gap_or_repetition(
    seed: int, start: int, length: int
) -> None:
    rng, inflow = random.Random(seed), ReorderBuffer(start)
    row = range(start + 1, start + length + 1)
    came: set[int] = set()
    for position in disorder(rng, range(max(1, start - 5), start + length + 1)):
        inflow.offer(fact(position))
        came.add(position)
        assert taken(inflow) == list(range(start + 1, inflow.taken + 1))
        missing = next((each for each in row if each not in came), row[-1] + 1)
        assert inflow.taken == missing - 1
    for position in range(inflow.taken + 1, row[-1] + 1):  # as a replay brings it
        inflow.offer(fact(position))
    assert taken(inflow) == list(row)
    assert not inflow.behind


def test_a_jump_is_told_once_and_not_again_for_what_follows_it() -> None:
    inflow = ReorderBuffer(0)
    assert [inflow.offer(fact(position)) for position in (1, 4, 5, 4, 2, 3, 3)] == [
        False, True, False, False, False, False, False,
    ]  # fmt: skip
    assert (inflow.taken, inflow.gaps, inflow.repeated) == (5, 1, 2)


def test_a_log_that_is_known_to_be_longer_is_behind_though_nothing_jumped() -> None:
    inflow = ReorderBuffer(3)
    inflow.extend_to(5)
    assert inflow.behind
    assert not inflow.offer(fact(4))
    assert not inflow.offer(fact(5))
    assert not inflow.behind


def test_what_a_stale_screen_said_is_forgotten_when_the_log_says_where_it_ends() -> None:
    inflow = ReorderBuffer(3)
    inflow.extend_to(90)
    inflow.offer(fact(7))
    inflow.ends_at(6)
    assert inflow.highest == 7  # it has come
    for position in (4, 5, 6):
        inflow.offer(fact(position))
    assert not inflow.behind
    inflow.ends_at(2)
    assert (inflow.highest, inflow.taken) == (7, 7)


def test_the_bounds_hold_and_what_they_drop_is_known_to_be_missing() -> None:
    inflow = ReorderBuffer(0)
    for position in range(1, READY_MOST + 10):
        inflow.offer(fact(position))
    assert (len(inflow.ready), inflow.taken) == (READY_MOST, READY_MOST)
    assert inflow.overflowed
    assert inflow.behind
    inflow = ReorderBuffer(0)
    for position in range(2, AHEAD_MOST + 10):
        inflow.offer(fact(position))
    assert inflow.overflowed
    inflow.offer(fact(1))
    assert inflow.taken == AHEAD_MOST + 1
    assert inflow.behind


def test_an_event_that_was_read_is_still_the_same_though_its_bytes_are_sealed() -> None:
    known = replace(fact(3), stored=None)
    inflow = ReorderBuffer(3, known.hash)
    assert not inflow.offer(known)
    with pytest.raises(LedgerError, match="event 3 is not the one that was read"):
        inflow.offer(replace(known, hash=bytes(32)))
    inflow.offer(fact(4))
    with pytest.raises(LedgerError, match="event 4 is not"):
        inflow.offer(replace(fact(4), hash=bytes(32)))
