"""The books of others: after any corrections, in any order and however often told, they agree."""

import random

import pytest

from baccarat.demo.counters import DemoStatistics
from events.types.table import CoupSettled
from simulators.cage.book import Applied, SettlementBook
from simulators.cage.service import Receipt
from tests.support.table.money_game import BOOKS, Game, random_coup


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
        book, ledger = SettlementBook(), DemoStatistics()
        for position, settlement in [*order, *order]:
            applied = book.apply(settlement, position=position, digest=str(position))
            if applied is Applied.NEW:  # as a cage tells of it: once
                ledger.on_receipt(Receipt(settlement=settlement, position=position, booked_ns=1))
        ours, theirs = game.world.state.totals, book.totals()
        assert (theirs.staked, theirs.paid, theirs.commission) == (
            ours.staked,
            ours.paid,
            ours.commission,
        )
        assert (ledger.staked, ledger.paid, ledger.commission) == (
            ours.staked,
            ours.paid,
            ours.commission,
        )
        book.close()
