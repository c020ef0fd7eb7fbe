"""A hundred thousand splittings of stakes, under limits of every kind in every rulebook."""

import random

import pytest

from table_core.rulebooks.shipped import shipped_ids
from tests.support.table.split_stakes import play_splitting

SPLITTINGS = 100_000


@pytest.mark.soak(computes=True)
@pytest.mark.parametrize("book", shipped_ids())
def test_limits_hold_however_often_stakes_are_split(book: str) -> None:
    for number in range(-(-SPLITTINGS // len(shipped_ids()))):
        seed = f"split/{book}/{number}"
        assert play_splitting(book, random.Random(seed)).faults == (), seed
