"""The coup in progress put right: hands and wagers, in each phase in which that is lawful."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from events.cards import Card, Winner
from events.commands.base import Refusal
from events.commands.cards import Realign
from events.commands.coup import ConfirmResult
from events.commands.wagers import WagerRequest
from events.types.corrections import HandsCorrected, WagerCorrected
from events.types.shoe_reports import CardDrawn, CardRevealed, DeviceResult
from events.types.table import CoupMisaligned, CoupSettled
from table_core.decide.decision import DecisionContext
from table_core.rulebooks.shipped import load_rulebook
from table_core.state.coup import Phase
from table_core.state.shoe import times_seen
from tests.support.cage.books import book
from tests.support.table.auditor import Auditor
from tests.support.table.coups import World, cards, code, drawn, revealed, stands, world_in
from tests.support.table.settled_coups import B, P, first_wager, hands, settlements, wager

NZ = DecisionContext(table="t1", rulebook=load_rulebook("nz-scale-one"))


def audited(world: World) -> None:
    auditor = Auditor(world.context.rulebook)
    auditor.hear(world.log)
    auditor.check(world.state)


# ---- hands ----


@pytest.mark.parametrize("phase", [Phase.DEALING, Phase.COMPLETE, Phase.DISPUTED])
def test_hands_are_corrected_and_the_coup_is_judged_again(phase: Phase) -> None:
    world = world_in(phase)
    made = world.must(hands("6S KH", "7D KC"))
    assert isinstance(made[0], HandsCorrected)
    coup = world.state.coup
    assert coup is not None
    assert coup.completed is not None
    assert coup.completed.winner is Winner.BANKER
    if phase is not Phase.DISPUTED:  # there the shoe had said banker, and is believed now
        assert stands(world) is Phase.COMPLETE
        world.say(DeviceResult(winner="banker"))
    assert stands(world) is Phase.SETTLED
    assert world.state.totals.paid == 2000 + 1900
    audited(world)


def test_a_deal_that_goes_on_goes_on_from_the_corrected_hands() -> None:
    world = world_in(Phase.DEALING)
    world.say(drawn(B, 1, "7D"), drawn(P, 2, "KH"), drawn(B, 2, "KC"))
    assert stands(world) is Phase.COMPLETE  # the nine of spades was a five
    world.must(hands("5S KH", "7D KC"))
    assert stands(world) is Phase.DEALING
    world.say(drawn(P, 3, "4D"), DeviceResult(winner="player"))
    assert stands(world) is Phase.SETTLED
    assert settlements(world)[-1].player == cards("5S KH 4D")
    audited(world)


def test_a_misaligned_coup_takes_its_hands_and_waits_for_the_realignment() -> None:
    world = world_in(Phase.MISALIGNED)
    world.must(hands("9S KH", "2D 3C"))
    assert stands(world) is Phase.MISALIGNED
    world.must(Realign(transaction="r", reason="camera 4"))
    assert stands(world) is Phase.COMPLETE
    world.say(DeviceResult(winner="player"))
    assert stands(world) is Phase.SETTLED
    audited(world)


def test_a_held_coup_is_judged_again_and_held_again_while_the_excess_card_lies_there() -> None:
    world = world_in(Phase.HELD)
    world.must(hands("8S KH", "2D 3C"))
    assert stands(world) is Phase.HELD


def test_a_card_that_lay_in_the_other_hand_is_moved_and_counted_once() -> None:
    world = world_in(Phase.CLOSED)
    world.deal("6S", "5D", "KH", "KC")
    assert stands(world) is Phase.DEALING  # Player stands, Banker has drawn
    world.say(drawn(B, 3, "4D"))
    before = world.state.shoe
    assert before is not None
    world.must(hands("5S KH 4D", "5D KC"))
    shoe = world.state.shoe
    assert shoe is not None
    assert shoe.cards == before.cards
    assert times_seen(shoe, Card.D4) == 1
    assert (times_seen(shoe, Card.S6), times_seen(shoe, Card.S5)) == (0, 1)


def test_hands_that_contradict_the_draw_table_are_refused() -> None:
    world = world_in(Phase.COMPLETE)
    before = world.state
    for command, expected in (
        (hands("9S KH 2C", "2D 3C"), "excess_card"),
        (hands("9S", "2D 3C"), "excess_card"),
        (hands("2S KH", "2D 3C 4C"), "excess_card"),  # Player's third was due before
        (hands("", ""), "incomplete_coup"),
        (hands("9S KH", "2D 3C"), "changes_nothing"),
        (replace(hands("8S KH", "2D 3C"), reason=" "), "reason_required"),
    ):
        assert code(world, command) == expected
        assert world.state is before


FACES = st.lists(st.sampled_from(list(Card)), max_size=4).map(tuple)


@settings(deadline=None)
@given(player=FACES, banker=FACES, phase=st.sampled_from(Phase))
def test_any_hands_are_taken_or_refused(
    player: tuple[Card, ...], banker: tuple[Card, ...], phase: Phase
) -> None:
    if phase is Phase.CONFIRMED:
        return  # no table stands in it
    world = world_in(phase)
    before = world.state
    made = world.ask(replace(hands("", ""), player=player, banker=banker))
    if isinstance(made, Refusal):
        assert world.state is before
        return
    coup = world.state.coup
    assert coup is not None
    assert tuple(dealt.card for dealt in coup.hand(P)) == player
    assert tuple(dealt.card for dealt in coup.hand(B)) == banker
    assert world.state.shoe is not None
    assert all(times_seen(world.state.shoe, face) >= player.count(face) for face in player)


def test_withheld_faces_are_not_corrected_away() -> None:
    world = world_in(Phase.CLOSED)
    world.say(CardDrawn(hand=P, number=1))
    assert code(world, hands("9S", "")) == "face_unknown"
    world.say(CardRevealed(hand=P, number=1, face=Card.S8))
    world.must(hands("9S", ""))


@pytest.mark.parametrize("squeeze", [False, True])
def test_a_first_phase_that_was_paid_follows_the_corrected_hands(squeeze: bool) -> None:
    world = World(NZ)
    world.ready()
    world.open()
    world.bet((1, "player", 1000), (1, "perfect_pairs", 500))
    world.close()
    places = ((P, 1, "9S"), (B, 1, "2D"), (P, 2, "9D"), (B, 2, "3C"))
    if squeeze:
        world.say(*(drawn(hand, number) for hand, number, _ in places))
        world.say(*(revealed(*place) for place in places))
    else:
        world.say(*(drawn(*place) for place in places))
    world.must(hands("9S 8D", "2D 3C"))
    first, second = settlements(world)
    assert ([line.paid for line in first.lines], [line.paid for line in second.lines]) == (
        [3000],
        [0],
    )
    world.say(DeviceResult(winner="player"))
    audited(world)


# ---- wagers ----


@pytest.mark.parametrize(
    "phase", [Phase.CLOSED, Phase.DEALING, Phase.COMPLETE, Phase.DISPUTED, Phase.HELD]
)
@pytest.mark.parametrize("how", ["stake", "late", "out"])
def test_a_wager_is_corrected_in_every_phase_behind_the_betting(phase: Phase, how: str) -> None:
    world = world_in(phase)
    coup = world.state.coup
    assert coup is not None
    name = coup.wagers[0].id
    to = WagerRequest(seat=1, bet="player", stake=5000)
    made = world.must(
        {
            "stake": wager(to, name),
            "late": wager(replace(to, seat=6)),
            "out": wager(None, name),
        }[how]
    )
    assert isinstance(made[0], WagerCorrected)
    assert stands(world) is phase
    assert world.state.coup is not None
    staked = sum(each.stake for each in world.state.coup.wagers)
    assert staked == 3500 + {"stake": 4000, "late": 5000, "out": -1000}[how]
    assert world.state.coup.standing.staked == staked
    audited(world)


def test_while_betting_is_open_wagers_are_placed_and_withdrawn() -> None:
    assert code(world_in(Phase.BETTING), wager(WagerRequest(seat=1, bet="tie", stake=100))) == (
        "betting_open"
    )


def test_a_misaligned_coups_wagers_wait_for_its_cards() -> None:
    assert code(world_in(Phase.MISALIGNED), wager(WagerRequest(seat=1, bet="tie", stake=100))) == (
        "coup_misaligned"
    )


@pytest.mark.parametrize("how", ["stake", "late", "out", "to the other phase"])
def test_a_first_phase_that_was_paid_follows_its_wager(how: str) -> None:
    world = World(NZ)
    world.ready()
    world.open()
    world.bet((1, "player", 1000), (1, "perfect_pairs", 500))
    world.close()
    world.deal("9S", "2D", "9D", "3C")
    name, pair = first_wager(world), WagerRequest(seat=1, bet="perfect_pairs", stake=700)
    world.must(
        {
            "stake": wager(pair, name),
            "late": wager(replace(pair, seat=1, patron="p-2")),
            "out": wager(None, name),
            "to the other phase": wager(WagerRequest(seat=1, bet="tie", stake=300), name),
        }[how]
    )
    paid = {"stake": [4200], "late": [3000, 4200], "out": [], "to the other phase": []}[how]
    assert [line.paid for line in settlements(world)[-1].lines] == paid
    assert settlements(world)[-1].revision == 2
    audited(world)
    world.say(DeviceResult(winner="player", player_pair=True))
    assert stands(world) is Phase.SETTLED
    audited(world)


def test_the_first_pair_wager_is_added_when_the_deal_is_complete() -> None:
    world = World(NZ)
    world.ready()
    world.open()
    world.bet((1, "player", 1000))
    world.close()
    world.deal("9S", "2D", "9D", "3C")
    world.must(wager(WagerRequest(seat=1, bet="perfect_pairs", stake=500)))
    (first,) = settlements(world)
    assert (first.phase, first.revision, [line.paid for line in first.lines]) == (1, 1, [3000])
    world.say(DeviceResult(winner="player", player_pair=True))
    audited(world)


def test_commission_laid_in_advance_follows_a_corrected_wager() -> None:
    world = World(
        DecisionContext(table="t1", rulebook=book("au-commission", "commission.timing=prepaid"))
    )
    world.ready()
    world.open()
    world.bet((1, "banker", 1000), (2, "banker", 400))
    world.close()
    laid = [(each.seat, each.amount) for each in world.state.commission.laid]
    assert laid == [(1, 50), (2, 20)]
    assert world.state.coup is not None
    first, second = (each.id for each in world.state.coup.wagers)
    world.must(wager(WagerRequest(seat=1, bet="banker", stake=3000), first))
    world.must(wager(None, second))
    assert [(each.seat, each.amount) for each in world.state.commission.laid] == [(1, 150)]
    world.deal("6S", "7D", "KH", "KC")
    world.say(DeviceResult(winner="banker"))
    assert world.state.commission.collected == 150
    audited(world)


def test_a_disputed_result_is_confirmed_after_the_wagers_are_right() -> None:
    world = world_in(Phase.DISPUTED)
    assert world.state.coup is not None
    world.must(wager(None, world.state.coup.wagers[2].id))
    world.must(ConfirmResult(transaction="c", reason="looked"))
    assert len(settlements(world)[-1].lines) == 2
    audited(world)


def test_nothing_of_a_correction_misaligns_what_was_right() -> None:
    world = world_in(Phase.COMPLETE)
    world.must(hands("8S KH", "2D 3C"))
    assert not any(isinstance(event, CoupMisaligned) for event in world.log)
    assert not any(isinstance(event, CoupSettled) for event in world.log)
