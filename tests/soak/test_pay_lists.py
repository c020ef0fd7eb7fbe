"""The lists of chips that a dealer moves, for 5,000 coups with corrections."""

import pytest

from tests.support.table.dealer_by_list import follow_the_lists
from tests.support.table.money_game import BOOKS

COUPS = 5_000


@pytest.mark.soak
@pytest.mark.parametrize("name", BOOKS)
def test_chips_moved_by_the_lists_are_what_the_settlements_come_to(name: str) -> None:
    dealer = follow_the_lists(name, -(-COUPS // len(BOOKS)))
    assert dealer.corrected
