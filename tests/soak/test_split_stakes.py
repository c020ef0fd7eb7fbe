"""A hundred thousand splittings of stakes, under limits of every kind in every rulebook."""

import random

import pytest

from table_core.rulebooks.shipped import shipped_ids
from tests.support.table.split_stakes import play_splittings

SPLITTINGS = 100_000


@pytest.mark.soak(computes=True)
@pytest.mark.parametrize("book", shipped_ids())
def test_limits_hold_however_often_stakes_are_split(book: str) -> None:
    seed, share = f"soak/{book}", -(-SPLITTINGS // len(shipped_ids()))
    for number, played in enumerate(play_splittings(book, random.Random(seed), share)):
        assert played.faults == (), f"seed {seed}, splitting {number}"
