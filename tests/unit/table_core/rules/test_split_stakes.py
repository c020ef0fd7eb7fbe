"""Nobody has more on a bet than the sign says, however a stake is split."""

import random

import pytest

from table_core.rulebooks.shipped import shipped_ids
from tests.support.table.split_stakes import play_splittings

SPLITTINGS = 200  # of each rulebook; `make soak` plays 100,000 in all


@pytest.mark.sweep
@pytest.mark.parametrize("book", shipped_ids())
def test_limits_hold_however_stakes_are_split(book: str) -> None:
    seed = f"split/{book}"
    played = list(play_splittings(book, random.Random(seed), SPLITTINGS))
    assert [fault for each in played for fault in each.faults] == [], f"seed {seed}"
    asked, refused = sum(p.asked for p in played), sum(p.refused for p in played)
    assert 0.1 < refused / asked < 0.9
