"""A shoe replaced in mid-coup: whose the cards are, whose the coup is, and when it is audited."""

from collections import Counter

import pytest

from events.cards import Card, Hand
from events.commands.base import Command
from events.commands.cards import CorrectCard, EnterCard, Realign
from events.commands.commission import CollectCommission
from events.commands.coup import FreeHand, VoidCoup
from events.commands.shoe import EndShoe, LoadShoe, ReplaceShoe
from events.types.shoe_life import ShoeAudited
from events.types.shoe_reports import (
    BurnCard,
    CardOutOfGame,
    CardRevealed,
    CardUnreadable,
    DeviceResult,
    FirstCard,
    ReportLost,
    ShoeBooted,
)
from events.types.table import ShoeEnded, ShoeLoaded
from table_core.decide.decision import DecisionContext
from table_core.projections.table_document import project_table
from table_core.state.coup import Phase
from table_core.state.shoe import ShoeState
from tests.support.cage.books import book
from tests.support.table.coups import (
    CONTEXT,
    NATURAL_NINE,
    ORDER,
    SHOE,
    World,
    code,
    drawn,
    revealed,
    world_in,
)

P, B = Hand.PLAYER, Hand.BANKER
SECOND, THIRD = "20261127-02", "20261127-03"
BURNED = ["AS", "4C"]  # the first shoe of every table here begins with these


def replaced(world: World, shoe: str = SECOND, *, coup: str = "continue") -> list[object]:
    command = ReplaceShoe(
        transaction=world.transaction(),
        shoe=shoe,
        coup=coup,  # type: ignore[arg-type]  # one of the two words
        reason="jammed",
    )
    return list(world.must(command))


def audits(world: World) -> dict[str, ShoeAudited]:
    found = [event for event in world.log if isinstance(event, ShoeAudited)]
    assert len({event.shoe for event in found}) == len(found), "each shoe is audited once"
    return {event.shoe: event for event in found}


def gone(audit: ShoeAudited) -> Counter[str]:
    """The faces that an audit knows to have left its shoe."""
    left = {face.value: audit.decks - count for face, count in audit.left.items()}
    return Counter({face: count for face, count in left.items() if count})


def faces(shoe: ShoeState) -> list[str]:
    return sorted(shoe.order[at : at + 2] for at in range(0, len(shoe.order), 2))


def on_the_table(world: World) -> ShoeState:
    assert world.state.shoe is not None
    return world.state.shoe


def squeezed(world: World, before: int) -> None:
    """A natural of withheld faces, so many of its cards from the first shoe."""
    for index, (hand, number) in enumerate(ORDER):
        if index == before:
            replaced(world)
        world.say(drawn(hand, number))


def disclose(world: World) -> None:
    told = zip(ORDER, NATURAL_NINE, strict=True)
    world.say(*(revealed(hand, number, face) for (hand, number), face in told))


@pytest.mark.parametrize("before", [1, 2, 3])
def test_faces_disclosed_later_count_for_the_shoe_that_they_came_from(before: int) -> None:
    world = world_in(Phase.CLOSED)
    squeezed(world, before)
    disclose(world)
    assert SHOE not in audits(world), "more may become known of its cards"
    world.say(DeviceResult(winner="player"))
    assert world.state.phase is Phase.SETTLED
    audit = audits(world)[SHOE]
    assert gone(audit) == Counter([*BURNED, *NATURAL_NINE[:before]])
    assert (audit.seen, audit.known) == (2 + before, 2 + before)
    shoe = on_the_table(world)
    assert (shoe.cards, faces(shoe)) == (4 - before, sorted(NATURAL_NINE[before:]))
    world.must(EndShoe(transaction="e"))
    second = audits(world)[SECOND]
    assert gone(second) == Counter(NATURAL_NINE[before:])


def test_the_coup_is_the_first_shoes_with_its_mark_and_its_count() -> None:
    world = world_in(Phase.CLOSED)
    squeezed(world, 2)
    disclose(world)
    world.say(DeviceResult(winner="player"))
    first = next(shoe for shoe in world.state.replaced if shoe.id == SHOE)
    assert list(first.roads.heights) == [1]
    shown = project_table(
        world.state, table="t1", rulebook=CONTEXT.rulebook, catching_up=False
    ).shoe
    assert shown is not None
    assert (shown.id, shown.coups, on_the_table(world).roads.heights) == (SECOND, 0, ())
    audit = audits(world)[SHOE]
    assert (audit.coups, audit.voids) == (1, 0)
    world.open()
    assert world.state.coup is not None
    assert world.state.coup.id == f"{SECOND}/1"
    assert world.state.replaced == (), "the next coup has begun: the first shoe is over"


@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_coup_that_is_void_behind_a_replacement_is_void_of_its_own_shoe(before: int) -> None:
    world = world_in(Phase.CLOSED)
    world.deal(*NATURAL_NINE[:before])
    replaced(world)
    world.must(VoidCoup(transaction="v", reason="the patrons object"))
    audit = audits(world)[SHOE]
    assert (audit.coups, audit.voids) == (1, 1)
    world.must(EndShoe(transaction="e"))
    assert (audits(world)[SECOND].coups, audits(world)[SECOND].voids) == (0, 0)


def test_a_replacement_that_voids_the_coup_audits_at_once() -> None:
    world = world_in(Phase.DEALING)
    made = replaced(world, coup="void")
    kinds = [type(event) for event in made]
    assert kinds.index(ShoeEnded) < kinds.index(ShoeAudited) < kinds.index(ShoeLoaded)
    assert (audits(world)[SHOE].coups, audits(world)[SHOE].voids) == (1, 1)


def test_a_face_of_a_void_coup_told_when_the_shoe_is_off_the_table_counts_for_no_other() -> None:
    world = world_in(Phase.CLOSED)
    world.say(drawn(P, 1), drawn(B, 1))
    replaced(world, coup="void")
    world.say(revealed(P, 1, "9S"), revealed(B, 1, "2D"))
    assert (on_the_table(world).cards, on_the_table(world).order) == (0, "")


HAND: dict[str, list[Command]] = {
    "entered": [EnterCard(transaction="e", hand=B, number=1, face=Card.D2, reason="by eye")],
    "entered and corrected": [
        EnterCard(transaction="e", hand=B, number=1, face=Card.D3, reason="by eye"),
        CorrectCard(transaction="c", hand=B, number=1, face=Card.D2, reason="misread"),
    ],
}


@pytest.mark.parametrize("way", HAND)
def test_a_face_entered_by_hand_counts_for_the_shoe_that_the_card_came_from(way: str) -> None:
    world = world_in(Phase.CLOSED)
    world.say(drawn(P, 1, "9S"), CardUnreadable(hand=B, number=1))
    replaced(world)
    world.say(drawn(P, 2, "KH"))
    for command in HAND[way]:
        world.must(command)
    world.say(drawn(B, 2, "3C"), DeviceResult(winner="player"))
    assert gone(audits(world)[SHOE]) == Counter([*BURNED, "9S", "2D"])
    assert faces(on_the_table(world)) == ["3C", "KH"]


def test_a_card_that_the_first_shoe_never_told_of_is_its_own_where_one_behind_it_is() -> None:
    world = world_in(Phase.CLOSED)
    world.say(drawn(P, 1, "9S"), ReportLost(expected="2", got="4"), drawn(P, 2, "KH"))
    replaced(world)
    world.say(drawn(B, 2, "3C"))
    for hand, number, face in ((B, 1, Card.D2), (P, 2, Card.HK), (B, 2, Card.C3)):
        world.must(
            EnterCard(transaction=face.value, hand=hand, number=number, face=face, reason="by eye")
        )
    world.must(Realign(transaction="a", reason="the cards were compared"))
    world.say(DeviceResult(winner="player"))
    assert gone(audits(world)[SHOE]) == Counter([*BURNED, "9S", "2D", "KH"])
    assert faces(on_the_table(world)) == ["3C"]


def test_a_new_device_that_powers_up_in_mid_coup_counts_its_own_places() -> None:
    world = world_in(Phase.CLOSED)
    world.deal("9S", "2D")
    replaced(world)
    world.say(ShoeBooted(), drawn(P, 1, "KH"), drawn(B, 1, "3C"))
    for hand, face in ((P, Card.HK), (B, Card.C3)):
        world.must(
            EnterCard(transaction=face.value, hand=hand, number=2, face=face, reason="by eye")
        )
    world.must(Realign(transaction="a", reason="the cards were compared"))
    world.must(VoidCoup(transaction="v", reason="the shoe is checked"))
    assert gone(audits(world)[SHOE]) == Counter([*BURNED, "9S", "2D"])
    assert (on_the_table(world).cards, faces(on_the_table(world))) == (2, ["3C", "KH"])


def test_a_shoe_that_is_replaced_by_one_that_is_replaced_keeps_its_cards_too() -> None:
    world = world_in(Phase.CLOSED)
    world.say(drawn(P, 1))
    replaced(world)
    world.say(drawn(B, 1))
    replaced(world, THIRD)
    world.say(drawn(P, 2), drawn(B, 2))
    disclose(world)
    world.say(DeviceResult(winner="player"))
    assert gone(audits(world)[SHOE]) == Counter([*BURNED, "9S"])
    assert gone(audits(world)[SECOND]) == Counter(["2D"])
    assert faces(on_the_table(world)) == ["3C", "KH"]
    assert (audits(world)[SHOE].coups, audits(world)[SECOND].coups) == (1, 0)


def test_an_overdrawn_card_that_is_taken_out_behind_a_replacement_counts_once() -> None:
    world = world_in(Phase.HELD)
    replaced(world)
    world.say(CardOutOfGame(reason="overdrawn", face=Card.D4))
    assert (on_the_table(world).cards, on_the_table(world).order) == (0, "")
    world.must(VoidCoup(transaction="v", reason="test"))
    assert gone(audits(world)[SHOE]) == Counter([*BURNED, *NATURAL_NINE, "4D"])


def test_a_shoe_is_held_against_the_whole_order_of_one_that_was_replaced() -> None:
    world = world_in(Phase.CLOSED)
    squeezed(world, 3)
    disclose(world)
    world.say(DeviceResult(winner="player"))
    assert world.state.orders[-1] == (SHOE, "AS4C9S2DKH")


def test_as_many_copies_as_a_shoe_has_are_counted_in_the_cards_own_shoe() -> None:
    world = world_in(Phase.CLOSED)
    world.say(*(BurnCard(face=Card.D2, left=20 - n) for n in range(8)))
    world.say(drawn(P, 1, "9S"), CardUnreadable(hand=B, number=1))
    replaced(world)
    world.say(drawn(P, 2, "KH"))
    ninth = EnterCard(transaction="n", hand=B, number=1, face=Card.D2, reason="by eye")
    assert code(world, ninth) == "too_many_copies"
    world = world_in(Phase.CLOSED)
    world.say(drawn(P, 1), drawn(B, 1))
    world.say(*(BurnCard(face=Card.D2, left=20 - n) for n in range(8)))
    replaced(world)
    world.say(revealed(B, 1, "2D"))
    assert world.state.phase is Phase.MISALIGNED
    assert "too_many_copies" in {alarm.name for alarm in world.state.alarms}


# ---- commission ----

PER_SHOE = DecisionContext(table="t1", rulebook=book("au-commission", "commission.timing=per_shoe"))


def owing() -> World:
    """Banker has won, and a seat owes its commission until the shoe's end."""
    world = World(PER_SHOE)
    world.ready()
    world.open()
    world.bet((2, "banker", 2000))
    world.close()
    world.deal("2D", "9S", "3C", "KH")
    world.say(DeviceResult(winner="banker"))
    assert world.state.commission.outstanding
    return world


@pytest.mark.parametrize("way", ["load", "replace", "replace in mid-coup"])
def test_no_other_shoe_comes_before_commission_kept_by_the_shoe_is_settled(way: str) -> None:
    world = owing()
    command: Command = ReplaceShoe(transaction="n", shoe=SECOND, reason="jammed")
    if way == "load":
        world.must(EndShoe(transaction="e"))
        command = LoadShoe(transaction="n", shoe=SECOND)
    if way == "replace in mid-coup":
        world.open()
    before = world.state
    assert code(world, command) == "commission_outstanding"
    assert world.state is before
    world.must(CollectCommission(transaction="c"))
    world.must(command)
    assert on_the_table(world).id == SECOND


# ---- rounds that begin without betting ----


def test_a_free_hand_begins_a_round_of_its_own_though_no_card_of_it_is_heard() -> None:
    world = world_in(Phase.SETTLED)
    before = on_the_table(world)
    world.must(FreeHand(transaction="f"))
    world.say(ReportLost(expected="1", got="3"))
    for (hand, number), face in zip(ORDER, (Card.S8, Card.D2, Card.HK, Card.C3), strict=True):
        world.must(
            EnterCard(transaction=face.value, hand=hand, number=number, face=face, reason="by eye")
        )
    shoe = on_the_table(world)
    assert shoe.cards == before.cards + 4
    assert faces(shoe) == sorted([*faces(before), "8S", "2D", "KH", "3C"])


def test_a_free_hand_behind_a_void_round_leaves_its_late_faces_with_it() -> None:
    world = world_in(Phase.CLOSED)
    world.say(drawn(P, 1), drawn(B, 1))
    world.must(VoidCoup(transaction="v", reason="test"))
    cards = on_the_table(world).cards
    world.must(FreeHand(transaction="f"))
    world.say(CardRevealed(hand=P, number=1, face=Card.S9))
    assert on_the_table(world).cards == cards


def test_a_round_that_a_card_began_is_the_same_when_the_coup_is_opened_by_it() -> None:
    world = world_in(Phase.SETTLED)
    before = on_the_table(world).cards
    world.say(drawn(P, 1), revealed(P, 1, "9S"))
    assert world.state.coup is not None
    assert (world.state.coup.id, world.state.coup.wagerless) == (f"{SHOE}/2", True)
    assert on_the_table(world).cards == before + 1


def test_the_first_coup_of_a_new_shoe_has_nothing_of_the_shoe_before() -> None:
    world = world_in(Phase.SETTLED)
    world.must(EndShoe(transaction="e"))
    world.must(LoadShoe(transaction="l", shoe=SECOND))
    world.say(FirstCard(face=Card.SA), BurnCard(face=Card.C4, left=0))
    world.open()
    world.close()
    world.say(ReportLost(expected="1", got="3"))
    world.must(EnterCard(transaction="e1", hand=P, number=1, face=Card.S8, reason="by eye"))
    assert faces(on_the_table(world)) == ["4C", "8S", "AS"]
