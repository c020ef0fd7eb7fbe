"""Two settlement phases: pairs after the initial deal, and what later changes make of them."""

import pytest

from events.cards import Card, Hand
from events.commands.cards import CorrectCard, EnterCard, MarkUnreadable
from events.commands.coup import VoidCoup
from events.types.shoe_reports import DeviceResult
from events.types.table import CoupSettled, CoupVoided, Settlement
from table_core.decide.decision import DecisionContext
from table_core.rulebooks.shipped import shipped_source
from table_core.rules.rulebook_file import parse_rulebook
from table_core.state.coup import Phase
from tests.support.table.coups import World, drawn, world_in

P, B = Hand.PLAYER, Hand.BANKER


def table(void: str = "keep") -> World:
    """500 on Perfect Pairs and 1,000 on Player, and a pair of nines: mixed, pays 5."""
    source = shipped_source("nz-scale-one")
    source += f"\n[procedure]\nvoid_after_phase_one = '{void}'\n".encode()
    world = World(DecisionContext(table="t1", rulebook=parse_rulebook("nz-scale-one.toml", source)))
    world.ready()
    world.open()
    world.bet((1, "player", 1000), (1, "perfect_pairs", 500))
    world.close()
    world.deal("9S", "2D", "9D", "3C")
    return world


def settlements(world: World) -> list[Settlement]:
    return [event.settlement for event in world.log if isinstance(event, CoupSettled)]


def correct(face: Card, number: int = 2) -> CorrectCard:
    return CorrectCard(transaction="c", hand=P, number=number, face=face, reason="misread")


def test_pair_wagers_are_paid_at_the_end_of_the_initial_deal() -> None:
    world = table()
    (first,) = settlements(world)
    assert (first.phase, first.winner) == (1, None)
    assert [(line.bet, line.category, line.paid) for line in first.lines] == [
        ("perfect_pairs", "mixed", 3000)
    ]
    world.say(DeviceResult(winner="player", player_pair=True))
    _, last = settlements(world)
    assert [line.bet for line in last.lines] == ["player"]
    assert world.state.totals.staked == 1500
    assert world.state.totals.paid == 5000


def test_a_first_phase_without_wagers_is_not_issued() -> None:
    world = world_in(Phase.COMPLETE)
    assert settlements(world) == []


def test_a_corrected_card_that_phase_one_used_reverses_and_reissues_it() -> None:
    world = table()
    world.must(correct(Card.S9))
    first, second = settlements(world)
    assert (second.revision, second.reverses) == (2, first.settlement_id)
    assert second.settlement_id.endswith("/1/2")
    assert [(line.category, line.paid) for line in second.lines] == [("perfect", 15500)]
    world.say(DeviceResult(winner="player", player_pair=True))
    # The totals count what stands, not what was taken back.
    assert world.state.totals.paid == 15500 + 2000
    assert world.state.totals.staked == 1500


def test_a_correction_that_changes_no_payment_changes_the_face_on_record() -> None:
    world = table()
    world.must(CorrectCard(transaction="c", hand=B, number=1, face=Card.D4, reason="misread"))
    first, second = settlements(world)
    assert (first.banker[0], second.banker[0]) == (Card.D2, Card.D4)
    assert (second.reverses, second.lines) == (first.settlement_id, first.lines)
    assert second.difference == ()


def test_a_second_correction_of_the_same_coup_works() -> None:
    world = table()
    world.must(correct(Card.S9))
    world.must(CorrectCard(transaction="d", hand=P, number=2, face=Card.H9, reason="again"))
    assert [s.revision for s in settlements(world)] == [1, 2, 3]
    assert settlements(world)[-1].reverses == settlements(world)[1].settlement_id


def test_a_card_marked_unreadable_is_settled_again_when_it_is_entered() -> None:
    world = table()
    world.must(MarkUnreadable(transaction="m", hand=P, number=2, reason="smudged"))
    assert len(settlements(world)) == 1
    world.must(EnterCard(transaction="e", hand=P, number=2, face=Card.HK, reason="r"))
    assert [line.result for line in settlements(world)[-1].lines] == ["lose"]


@pytest.mark.parametrize("policy", ["keep", "reverse_all"])
def test_a_later_void_leaves_phase_one_or_takes_it_back_by_policy(policy: str) -> None:
    world = table(policy)
    world.must(VoidCoup(transaction="v", reason="misdeal"))
    voided = next(event for event in world.log if isinstance(event, CoupVoided))
    assert [refund.stake for refund in voided.refunds] == [1000]
    if policy == "keep":
        assert len(settlements(world)) == 1
        assert (world.state.totals.staked, world.state.totals.paid) == (500, 3000)
        return
    _, back = settlements(world)
    assert back.reverses == settlements(world)[0].settlement_id
    assert [(line.result, line.paid) for line in back.lines] == [("void", 500)]
    assert (world.state.totals.staked, world.state.totals.paid) == (500, 500)


def test_a_third_card_comes_after_the_first_phase_was_paid() -> None:
    source = shipped_source("nz-scale-two")
    world = World(DecisionContext(table="t1", rulebook=parse_rulebook("nz-scale-two.toml", source)))
    world.ready()
    world.open()
    world.bet((1, "banker", 1000), (1, "perfect_pairs", 500))
    world.close()
    world.deal("2S", "3D", "2S", "KC")
    assert [line.category for line in settlements(world)[0].lines] == ["perfect"]
    world.say(drawn(P, 3, "8D"))
    assert len(settlements(world)) == 1
