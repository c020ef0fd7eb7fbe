"""The books of others: after any corrections, told in any order, they agree."""

import random

import pytest

from baccarat.demo.counters import DemoStatistics, Receipt
from events.types.table import CoupSettled
from tests.support.table.money_game import BOOKS, Game, random_coup

SUMS = ("staked", "paid", "commission")


@pytest.mark.parametrize("name", ["au-commission", "reverse_all", "prepaid pairs"])
def test_a_cage_and_a_ledger_come_to_the_tables_own_totals(name: str) -> None:
    game, rng = Game(BOOKS[name](), seed=11), random.Random(f"books/{name}")
    for _ in range(50):
        game.play(random_coup(rng))
    told = [
        (position, event.settlement)
        for position, event in enumerate(game.world.log, start=1)
        if isinstance(event, CoupSettled)
    ]
    assert sum(settlement.revision > 1 for _, settlement in told) > 10
    for order in (told, told[::-1], rng.sample(told, len(told))):
        ledger = DemoStatistics()
        for position, settlement in order:
            ledger.on_receipt(Receipt(settlement=settlement, position=position, booked_ns=1))
        ours = game.world.state.totals
        # A book by id: what a later revision takes back does not count.
        reversed_ = {settlement.reverses for _, settlement in order}
        standing = [each for _, each in order if each.settlement_id not in reversed_]
        theirs = [sum(getattr(each, what) for each in standing) for what in SUMS]
        assert theirs == [getattr(ours, what) for what in SUMS]
        assert (ledger.staked, ledger.paid, ledger.commission) == (
            ours.staked,
            ours.paid,
            ours.commission,
        )
