"""Hands corrected whole while the coup is in progress: what that makes of the shoe's own cards."""

from collections import Counter

import pytest

from events.cards import Card, Hand
from events.commands.cards import ResolveIrregularity
from events.commands.corrections import CorrectHands
from events.commands.shoe import ReplaceShoe
from events.types.shoe_reports import CardOutOfGame, DeviceResult, ReportLost
from table_core.state.coup import Phase
from table_core.state.shoe import ShoeState
from tests.support.table.coups import COUP, World, cards, drawn, revealed, shoe_of, stands, world_in

P, B = Hand.PLAYER, Hand.BANKER
BURNED = "AS 4C"

# told by the shoe in dealing order | Player and Banker as they really lay | faces out of the shoe
HANDS = """
one misread              | 9S 2D KH 3C | 9S KH    | 2D 4C | 9S 2D KH 4C
two misread              | 9S 2D KH 3C | 9S QH    | 2D 4C | 9S 2D QH 4C
hands changed over       | 9S 2D KH 3C | 2D 3C    | 9S KH | 9S 2D KH 3C
all in other places      | 9S 2D KH 3C | KH 9S    | 3C 2D | 9S 2D KH 3C
moved and misread        | 9S 2D KH 3C | KH 9S    | 2D 4C | 9S 2D KH 4C
"""


def correct(world: World, player: str, banker: str) -> None:
    world.must(
        CorrectHands(
            transaction=world.transaction(),
            coup=COUP,
            player=cards(player),
            banker=cards(banker),
            reason="the cards were compared",
        )
    )


def out_of(shoe: ShoeState) -> Counter[str]:
    return Counter(shoe.order[at : at + 2] for at in range(0, len(shoe.order), 2))


@pytest.mark.parametrize("row", HANDS.strip().splitlines())
@pytest.mark.parametrize("phase", ["complete", "held"])
def test_a_card_that_was_misread_or_misplaced_is_still_one_card(row: str, phase: str) -> None:
    _, told, player, banker, out = (cell.strip() for cell in row.split("|"))
    world = world_in(Phase.CLOSED)
    world.deal(*told.split())
    if phase == "held":
        world.say(CardOutOfGame(reason="drawn_outside_game"))
    correct(world, player, banker)
    assert stands(world) is Phase(phase), "a card in excess is open until it is resolved"
    assert shoe_of(world).cards == 6 + (phase == "held")
    assert out_of(shoe_of(world)) == Counter(f"{BURNED} {out}".split())
    if phase == "held":
        resolve = ResolveIrregularity(transaction="r", kind="excess_card", seen=False, reason="r")
        world.must(resolve)
        assert world.state.link.carried
    correct(world, "9S KH", "2D 3C")
    assert out_of(shoe_of(world)) == Counter(f"{BURNED} 9S 2D KH 3C".split())
    world.say(DeviceResult(winner="player"))
    assert stands(world) is Phase.SETTLED


def test_a_card_that_was_never_told_of_is_one_more() -> None:
    world = world_in(Phase.CLOSED)
    world.say(drawn(P, 1, "9S"), ReportLost(expected="2", got="4"), drawn(B, 2, "3C"))
    correct(world, "9S KH", "2D 3C")
    assert shoe_of(world).cards == 6
    assert out_of(shoe_of(world)) == Counter(f"{BURNED} 9S 2D KH 3C".split())


def test_a_third_card_that_was_the_other_hands_is_the_same_card() -> None:
    """Player stands on 6: what the shoe told as Player's third, its faces late, is Banker's."""
    world = world_in(Phase.CLOSED)
    places = ((P, 1), (B, 1), (P, 2), (B, 2), (P, 3))
    faces = ("6S", "2D", "KH", "3C", "9D")
    world.say(*(drawn(hand, number) for hand, number in places))
    told = zip(places, faces, strict=True)
    world.say(*(revealed(hand, number, face) for (hand, number), face in told))
    assert stands(world) is Phase.MISALIGNED
    correct(world, "6S KH", "2D 3C 9D")
    assert shoe_of(world).cards == 7
    assert out_of(shoe_of(world)) == Counter(f"{BURNED} 6S 2D KH 3C 9D".split())


def test_a_card_that_lay_in_no_hand_has_left_the_shoe() -> None:
    world = world_in(Phase.CLOSED)
    world.deal("2S", "3D", "3H", "3C")
    world.say(drawn(P, 3, "4S"))
    correct(world, "9S KH", "3D 3C")
    assert shoe_of(world).cards == 7
    assert out_of(shoe_of(world))["4S"] == 1


def test_the_card_in_excess_was_the_third_after_all() -> None:
    world = world_in(Phase.HELD)
    world.say(CardOutOfGame(reason="overdrawn", face=Card.D4))
    correct(world, "2S 3H 4D", "3D 4C")
    assert stands(world) is Phase.COMPLETE
    assert (shoe_of(world).cards, shoe_of(world).extra) == (7, None)
    assert out_of(shoe_of(world))["4D"] == 1


def test_cards_of_a_shoe_that_was_replaced_stay_its_own() -> None:
    world = world_in(Phase.CLOSED)
    world.deal("9S", "2D")
    replace = ReplaceShoe(transaction="x", shoe="20261127-02", coup="continue", reason="jammed")
    world.must(replace)
    world.say(drawn(P, 2, "KH"), drawn(B, 2, "3C"))
    correct(world, "9S KH", "4D 4C")
    (first,) = world.state.replaced
    assert out_of(first) == Counter(f"{BURNED} 9S 4D".split())
    assert out_of(shoe_of(world)) == Counter(["KH", "4C"])
    assert (first.cards, shoe_of(world).cards) == (4, 2)
