"""What keeps betting shut at the shoe, and the ways out: its own word, or a named person's."""

from msgspec.structs import replace

from events.commands.base import Refusal
from events.commands.coup import OpenBetting, VoidCoup
from events.commands.shoe import ClearShoeError
from events.types.irregularities import ShoeErrorCleared
from events.types.shoe_reports import ErrorCleared, ErrorRaised, LinkStalled, LinkUp
from table_core.projections.table_document import active_alarms
from table_core.state.coup import Phase
from tests.support.table.coups import code, stands, world_in


def test_two_errors_can_stand_and_one_be_cleared() -> None:
    world = world_in(Phase.NONE)
    world.say(
        ErrorRaised(code="overdraw", latched=False),
        ErrorRaised(code="time_out", latched=True),
        ErrorCleared(code="time_out"),
    )
    refusal = world.ask(OpenBetting(transaction="o"))
    assert isinstance(refusal, Refusal)
    assert "overdraw" in refusal.text
    world.say(ErrorCleared(code="overdraw"))
    world.open()


def test_an_error_that_no_report_ends_is_ended_by_a_person_with_a_reason_and_no_other() -> None:
    world = world_in(Phase.NONE)
    world.say(
        ErrorRaised(code="alarm_e5", latched=True), ErrorRaised(code="overdraw", latched=False)
    )

    def cleared(code: str, reason: str = "its door was open; it is shut") -> object:
        made = world.ask(ClearShoeError(transaction="c", code=code, reason=reason))
        return made.code if isinstance(made, Refusal) else made

    assert cleared("alarm_e7") == "no_such_error"
    assert cleared("alarm_e5", " ") == "reason_required"
    [said] = world.must(ClearShoeError(transaction="c", code="alarm_e5", reason="door shut"))
    assert said == ShoeErrorCleared(code="alarm_e5", reason="door shut")
    assert [alarm.name for alarm in active_alarms(world.state)] == ["shoe_error_overdraw"]
    refusal = world.ask(OpenBetting(transaction="o"))
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.text) == ("shoe_error", "the shoe reports overdraw")
    world.say(ErrorRaised(code="alarm_e5", latched=True))  # it stands again
    assert cleared("overdraw") == [
        ShoeErrorCleared(code="overdraw", reason="its door was open; it is shut")
    ]
    refusal = world.ask(OpenBetting(transaction="o"))
    assert isinstance(refusal, Refusal)
    assert refusal.text == "the shoe reports alarm_e5"
    world.must(ClearShoeError(transaction="c", code="alarm_e5", reason="door shut again"))
    world.open()


def test_a_silent_shoe_keeps_betting_shut_no_longer_than_until_a_person_has_looked_at_it() -> None:
    world = world_in(Phase.DEALING)
    looked = ClearShoeError(transaction="c", code="stalled", reason="its lamp is green")
    assert code(world, looked) == "no_such_error"
    world.say(LinkStalled(silent_ms=60_000))
    assert code(world, looked) == "coup_in_progress"
    world.must(VoidCoup(transaction="v", reason="its result never came"))
    assert code(world, OpenBetting(transaction="o")) == "link_down"
    assert code(world, replace(looked, reason=" ")) == "reason_required"
    assert world.must(looked) == [ShoeErrorCleared(code="stalled", reason="its lamp is green")]
    assert active_alarms(world.state) == ()
    world.open()
    world.close()
    world.say(LinkUp())  # as the driver says before the report that ends the silence
    world.deal("9S")
    assert stands(world) is Phase.DEALING
