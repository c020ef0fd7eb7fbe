"""Money is conserved: whatever is wagered, dealt, voided or withdrawn, every chip is somewhere.

The ledger's postings, each of which comes to nothing, are held against the table's own totals. An
independent model is in `baccarat/test_money_model.py`.
"""

import random

import pytest
from msgspec.structs import replace

from events.commands import WithdrawWager
from events.types import CoupSettled, WagersWithdrawn
from table_core.decide.decision import DecisionContext
from table_core.rulebooks.shipped import load_rulebook
from tests.support.cage.ledgers import MemoryLedger
from tests.support.table.coups import World
from tests.support.table.money_game import BOOKS, Game, random_coup


@pytest.mark.sweep
@pytest.mark.parametrize("name", BOOKS)
def test_money_is_conserved_over_a_whole_shoe(name: str) -> None:
    game = Game(BOOKS[name](), seed=sum(map(ord, name)))
    rng = random.Random(f"money/{name}")
    while not game.table.over:
        game.play(random_coup(rng))
    settled = [event for event in game.world.log if isinstance(event, CoupSettled)]
    assert len(settled) > 50
    assert {line.kind for each in settled for line in each.settlement.lines} == {
        "chips",
        "promo",
        "toke",
    }
    ledger = MemoryLedger()
    ledger.hear(game.world.log)
    assert game.world.state.totals.house == -ledger.total("win", "commission") != 0
    if game.rulebook.commission:
        assert game.world.state.commission.accrued > 0


# ---- two phases ----


@pytest.mark.parametrize("name", ["nz-scale-one", "pairs first", "reverse_all"])
def test_every_wager_is_settled_in_exactly_one_of_the_two_phases(name: str) -> None:
    game = Game(BOOKS[name](), seed=7)
    rng = random.Random(f"phases/{name}")
    phases = set()
    for _ in range(40):
        begun = len(game.world.log)
        game.play(replace(random_coup(rng), end="settled", corrections=0))
        coup = game.world.state.coup
        assert coup is not None
        taken = [
            (line.wager, event.settlement.phase)
            for event in game.world.log[begun:]
            if isinstance(event, CoupSettled)
            for line in event.settlement.lines
        ]
        assert sorted(wager for wager, _ in taken) == sorted(coup.wagers)
        bets = {name: wager.bet for name, wager in coup.wagers.items()}
        assert all(game.rulebook.phase_of(bets[wager]) == phase for wager, phase in taken)
        phases |= {phase for _, phase in taken}
    assert phases == {1, 2}


# ---- withdrawing ----


def test_withdrawing_leaves_a_side_bet_alone_that_still_waits_for_its_main_wager() -> None:
    world = World(DecisionContext(table="t1", rulebook=load_rulebook("nz-scale-one")))
    world.ready()
    world.open()
    world.bet((1, "perfect_pairs", 500))
    world.bet((2, "player", 500), (2, "perfect_pairs", 100))
    assert world.state.coup is not None
    waiting, main, side = world.state.coup.wagers
    (withdrawn,) = world.must(WithdrawWager(transaction="w", wagers=(main,)))
    assert isinstance(withdrawn, WagersWithdrawn)
    assert withdrawn.wagers == (main, side)
    world.bet((1, "banker", 500))
    assert next(iter(world.state.coup.wagers)) == waiting
