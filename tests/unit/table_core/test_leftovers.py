"""What a coup or a shoe leaves behind does not stand for ever."""

from events.cards import Card, Hand
from events.commands.cards import EnterCard, Realign, ResolveIrregularity
from events.commands.coup import FreeHand, VoidCoup
from events.commands.shoe import Burn, EndShoe, LoadShoe, ReplaceShoe
from events.types.shoe_reports import BurnCard, DeviceResult, FirstCard, ShoeBooted
from table_core.state.coup import Phase
from table_core.state.shoe import times_seen
from tests.support.table.coups import World, drawn, world_in

P, B = Hand.PLAYER, Hand.BANKER


def carried_card_missing() -> World:
    """A card was to be the dummy coup's first, and the shoe deals from itself."""
    world = world_in(Phase.HELD)
    world.say(DeviceResult(winner="player"))
    world.must(
        ResolveIrregularity(transaction="r", kind="excess_card", seen=True, reason="face up")
    )
    world.must(FreeHand(transaction="f"))
    world.say(drawn(P, 1, "9S"))
    assert world.state.phase is Phase.MISALIGNED
    return world


def plays_on(world: World) -> None:
    world.open()
    world.close()
    world.deal("9S", "2D", "KH", "3C")
    assert world.state.phase is Phase.COMPLETE


def alarms(world: World) -> list[str]:
    return [alarm.name for alarm in world.state.alarms]


def test_a_carried_card_is_no_longer_awaited_when_the_first_card_was_entered_by_hand() -> None:
    world = carried_card_missing()
    world.say(drawn(B, 1, "2D"), drawn(P, 2, "KH"), drawn(B, 2, "3C"))
    world.say(DeviceResult(winner="player"))
    faces = ((P, 1, Card.S9), (B, 1, Card.D2), (P, 2, Card.HK), (B, 2, Card.C3))
    for hand, number, face in faces:
        world.must(
            EnterCard(transaction=f"e-{face}", hand=hand, number=number, face=face, reason="by eye")
        )
    world.must(Realign(transaction="a", reason="the cards were compared"))
    plays_on(world)


def test_a_carried_card_is_no_longer_awaited_when_its_coup_was_void() -> None:
    world = carried_card_missing()
    world.must(VoidCoup(transaction="v", reason="the shoe burned its first card"))
    world.say(DeviceResult(winner="player"))
    plays_on(world)


def test_a_carried_card_is_still_awaited_when_a_coup_was_void_before_its_first_card() -> None:
    world = world_in(Phase.HELD)
    world.say(DeviceResult(winner="player"))
    world.must(ResolveIrregularity(transaction="r", kind="excess_card", seen=False, reason="r"))
    world.open()
    world.must(VoidCoup(transaction="v", reason="a patron fell ill"))
    world.open()
    world.say(drawn(P, 1, "4D"))
    assert world.state.coup is not None
    assert world.state.coup.reason.startswith("carried_card_missing")


def unburned() -> World:
    """A coup of a shoe whose burn nobody reported."""
    world = World()
    world.ready()
    world.must(ReplaceShoe(transaction="x", shoe="20261127-02", reason="jammed"))
    world.open()
    assert alarms(world) == ["burn_missing"]
    return world


def test_the_alarm_for_a_missing_burn_ends_when_the_shoe_tells_of_the_burn_after_all() -> None:
    world = unburned()
    world.say(FirstCard(face=Card.SA), BurnCard(face=Card.C4, left=0))
    assert alarms(world) == []


def test_the_alarm_for_a_missing_burn_ends_with_its_shoe() -> None:
    world = unburned()
    world.must(VoidCoup(transaction="v", reason="r"))
    world.must(EndShoe(transaction="e"))
    assert alarms(world) == []
    world.must(LoadShoe(transaction="l", shoe="20261127-03"))
    world.say(FirstCard(face=Card.SA), BurnCard(face=Card.C4, left=0))
    plays_on(world)
    assert alarms(world) == []


def test_the_alarm_for_a_missing_burn_ends_when_a_person_records_it() -> None:
    world = unburned()
    world.must(Burn(transaction="b", cards=0, reason="none were burned"))
    assert alarms(world) == []


def test_cards_that_a_restarted_shoe_tells_of_at_its_own_places_count_once() -> None:
    """It has lost its power in mid-coup and calls the third card Player's first."""
    world = world_in(Phase.CLOSED)
    before = world.state.shoe
    assert before is not None
    world.deal("9S", "2D")
    world.say(ShoeBooted(), drawn(P, 1, "KH"), drawn(B, 1, "3C"))
    for hand, face in ((P, Card.HK), (B, Card.C3)):
        command = EnterCard(transaction=face.value, hand=hand, number=2, face=face, reason="by eye")
        world.must(command)
    world.must(Realign(transaction="a", reason="the cards were compared"))
    assert world.state.phase is Phase.COMPLETE
    after = world.state.shoe
    assert after is not None
    assert after.cards == before.cards + 4
    assert [times_seen(after, face) for face in (Card.S9, Card.D2, Card.HK, Card.C3)] == [1] * 4
    world.must(VoidCoup(transaction="v", reason="the shoe is checked"))
    plays_on(world)
    assert world.state.shoe is not None
    assert times_seen(world.state.shoe, Card.S9) == 2
