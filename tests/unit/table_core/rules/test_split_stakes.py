"""Nobody has more on a bet than the sign says, however a stake is split."""

import random

import pytest

from table_core.rulebooks.shipped import shipped_ids
from tests.support.table.split_stakes import play_splitting

SPLITTINGS = 100  # of each rulebook; `make soak` plays 100,000 in all


@pytest.mark.parametrize("book", shipped_ids())
def test_limits_hold_however_stakes_are_split(book: str) -> None:
    rng = random.Random(f"split/{book}")
    played = [play_splitting(book, rng) for _ in range(SPLITTINGS)]
    assert [fault for each in played for fault in each.faults] == []
    asked, refused = sum(p.asked for p in played), sum(p.refused for p in played)
    assert 0.1 < refused / asked < 0.9
