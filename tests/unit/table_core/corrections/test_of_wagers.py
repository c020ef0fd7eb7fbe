"""Wagers, rulebooks and whole coups put right after the settlement."""

import pytest
from msgspec.structs import replace

from events.cards import Card
from events.commands.coup import VoidCoup
from events.commands.wagers import WagerRequest
from events.types.corrections import RulebookCorrected, WagerCorrected
from events.types.irregularities import IrregularityRecorded
from events.types.table import CoupVoided, SeatDifference
from table_core.decide.decision import DecisionContext
from table_core.rulebooks.shipped import load_rulebook
from table_core.state.coup import Phase
from tests.support.cage.books import book
from tests.support.table.coups import CONTEXT, COUP, cards, code
from tests.support.table.settled_coups import (
    P,
    face,
    first_wager,
    hands,
    other,
    played,
    settlements,
    wager,
)

# ---- wagers ----


def test_a_wrong_stake_is_corrected_and_only_its_seat_differs() -> None:
    world = played()
    made = world.must(wager(WagerRequest(seat=1, bet="player", stake=4000), first_wager(world)))
    event = made[0]
    assert isinstance(event, WagerCorrected)
    assert event.was is not None
    assert event.wager == replace(event.was, stake=4000)
    assert settlements(world)[-1].difference == (SeatDifference(seat=1, staked=3000, paid=6000),)
    assert (world.state.totals.staked, world.state.totals.paid) == (6000, 8000)


def test_a_wager_on_another_seat_and_bet_moves_both_seats() -> None:
    world = played()
    name = first_wager(world)
    world.must(wager(WagerRequest(seat=7, bet="tie", stake=500), name))
    last = settlements(world)[-1]
    assert last.difference == (
        SeatDifference(seat=1, staked=-1000, paid=-2000),
        SeatDifference(seat=7, staked=500),
    )
    assert last.lines[0].wager == name


def test_a_wager_that_was_left_out_is_added_late() -> None:
    world = played()
    world.must(wager(WagerRequest(seat=3, bet="player", stake=100, patron="p-9")))
    last = settlements(world)[-1]
    assert last.difference == (SeatDifference(seat=3, staked=100, paid=200),)
    assert (last.lines[-1].wager, last.lines[-1].patron) == ("dealer/w/0", "p-9")


def test_a_wager_that_did_not_stand_is_taken_out() -> None:
    world = played()
    world.must(wager(None, first_wager(world)))
    assert settlements(world)[-1].difference == (SeatDifference(seat=1, staked=-1000, paid=-2000),)
    assert (world.state.totals.staked, world.state.totals.paid) == (2000, 0)


def test_a_limit_that_a_late_wager_breaks_is_recorded_and_it_is_paid_in_full() -> None:
    world = played()
    breach = world.must(wager(WagerRequest(seat=1, bet="banker", stake=100)))[1]
    assert isinstance(breach, IrregularityRecorded)
    assert breach.kind == "limit_breach"
    assert "the patron has player already" in breach.reason
    assert settlements(world)[-1].lines[-1].stake == 100


# ---- rulebooks ----


def test_a_wrong_rulebook_is_judged_again_by_the_right_one() -> None:
    even = load_rulebook("au-even-money")
    context = replace(CONTEXT, library=(even,))
    bets = ((1, "banker", 1000),)
    world = played(context, player=cards("7S KH"), banker=cards("8D KC"), bets=bets)
    made = world.must(other(even))
    assert isinstance(made[0], RulebookCorrected)
    last = settlements(world)[-1]
    assert (last.rulebook, last.rulebook_hash) == (even.id, even.hash)
    assert last.difference == (SeatDifference(seat=1, paid=50, commission=-50),)
    assert world.state.commission.accrued == world.state.commission.reversed_ == 50
    assert world.state.commission.collected == 0
    assert code(world, other(even)) == "changes_nothing"
    world.must(other(CONTEXT.rulebook))
    assert settlements(world)[-1].lines == settlements(world)[0].lines


def test_wagers_move_to_the_phase_in_which_the_right_rulebook_settles_them() -> None:
    first = book("au-even-money", "bets.player_pair.phase=1")
    context = replace(CONTEXT, library=(first,))
    bets = ((1, "player_pair", 100), (2, "player", 100))
    world = played(context, player=cards("9S 9H"), banker=cards("2D 5C"), bets=bets)
    assert [each.phase for each in settlements(world)] == [2]
    world.must(other(first))
    two, one = settlements(world)[1:]  # it leaves the last phase, and comes to the first
    assert [(each.phase, each.revision) for each in (one, two)] == [(1, 1), (2, 2)]
    assert [line.bet for line in (*one.lines, *two.lines)] == ["player_pair", "player"]
    assert one.difference == (SeatDifference(seat=1, staked=100, paid=1200),)
    assert two.difference == (SeatDifference(seat=1, staked=-100, paid=-1200),)
    assert (world.state.totals.staked, world.state.totals.paid) == (200, 1400)


# ---- void, and counting again ----


@pytest.mark.parametrize("policy", ["keep", "reverse_all"])
def test_a_void_after_the_settlement_gives_the_stakes_back_less_what_was_paid(policy: str) -> None:
    rules = book("nz-scale-one", f"procedure.void_after_phase_one={policy}")
    bets = ((1, "player", 1000), (1, "perfect_pairs", 500), (2, "banker", 2000))
    context = DecisionContext(table="t1", rulebook=rules)
    world = played(context, player=cards("9S 9D"), banker=cards("7D KC"), bets=bets)
    assert world.state.totals.paid == 3000 + 2000
    made = world.must(VoidCoup(transaction="v", coup=COUP, reason="a card of another shoe"))
    assert isinstance(made[0], CoupVoided)
    assert made[0].refunds == ()
    standing = {each.phase: each for each in settlements(world)}
    assert standing[2].difference == (
        SeatDifference(seat=1, paid=-1000),
        SeatDifference(seat=2, paid=2000),
    )
    assert {line.result for line in standing[2].lines} == {"void"}
    kept = policy == "keep"
    assert standing[1].revision == (1 if kept else 2)
    totals, shoe = world.state.totals, world.state.shoe
    assert shoe is not None
    assert (totals.coups, totals.voids, shoe.voids, len(shoe.roads.beads)) == (0, 1, 1, 0)
    assert totals.house == (-2500 if kept else 0)
    for command in (
        VoidCoup(transaction="v", coup=COUP, reason="again"),
        face(P, 1, Card.D8),
        wager(None, standing[2].lines[0].wager),
    ):
        assert code(world, command) == "coup_void"
    world.must(hands("9S 9D", "7D KC"))
    totals, shoe = world.state.totals, world.state.shoe
    assert shoe is not None
    assert (totals.paid, totals.coups, totals.voids) == (5000, 1, 0)
    assert (shoe.voids, len(shoe.roads.beads)) == (0, 1)
    assert world.state.phase is Phase.SETTLED
