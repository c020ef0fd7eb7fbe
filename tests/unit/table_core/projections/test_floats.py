"""The table's chips as they are told in a story and shown to consoles."""

from events.money import Currency
from events.types import ChipEvent
from table_core.narrative.timeline import narrate_event
from table_core.projections.table_document import FloatView, project_table
from table_core.replay.coup_events import LoggedEvent, Moment
from table_core.state.table import TableState
from tests.support.table.chip_games import chip_command, played
from tests.support.table.coups import CONTEXT, World


def test_every_fact_is_told_with_its_amounts_and_its_people() -> None:
    world = played(
        [
            "open 20261127-01 100x200 2500x40 > +",
            "fill F-1 2500x10 > +",
            "credit C-1 100x50 > +",
            "count 100x150 > +",
            "correct 20261127-01 fill F-1 > +",
            "close 100x150 > +",
            "drop 20261127-01 B-1 5000x20 > +",
            "drop! 20261127-01 B-1 5000x21 > +",
        ]
    )
    facts = [event for event in world.log if isinstance(event, ChipEvent)]
    assert len(facts) == 8
    told = []
    for number, event in enumerate(facts):
        fact = LoggedEvent(
            position=number,
            at="2026-11-27T21:40:07.000000000Z",
            actor="supervisor",
            cause=f"supervisor/t-{number}",
            correlation="",
            digest="",
            event=event,
        )
        told.append(narrate_event(Moment(TableState(), fact, TableState()), Currency("AUD", 2)))
    assert [line.says for line in told] == [
        "Float 20261127-01 was opened with 1,200.00.",
        "The cage brought 250.00 in chips, fill slip F-1.",
        "50.00 in chips went to the cage, credit slip C-1.",
        "The tray was counted: 150.00.",
        "The fill slip F-1 of float 20261127-01 was corrected: 0.00, not 250.00.",
        "Float 20261127-01 was closed with 150.00.",
        "Drop box B-1 of float 20261127-01 held 1,000.00.",
        "Drop box B-1 of float 20261127-01 held 1,050.00.",
    ]
    assert all("signed: s-1, d-4" in line.details for line in told)
    assert told[0].details[:2] == ("200 of 1.00", "40 of 25.00")
    assert told[-1].details[0] == "counted before: 1,000.00; reason: a note stuck to the lid"


def test_consoles_see_the_floats_in_sums() -> None:
    world = played(
        [
            "open 20261127-01 100x200 2500x40 > +",
            "fill F-1 2500x10 > +",
            "correct 20261127-01 fill F-1 > +",
            "credit C-1 100x50 > +",
        ]
    )
    (shown,) = _shown(world)
    assert (shown.opening, shown.counted, shown.closing, shown.drop) == (120_000, None, None, None)
    assert [(each.move, each.slip, each.amount) for each in shown.slips] == [
        ("fill", "F-1", 0),
        ("credit", "C-1", 5_000),
    ]
    for number, line in enumerate(("count 100x1", "close 100x2", "drop 20261127-01 B-1 5000x3")):
        world.must(chip_command(line, f"late-{number}"))
    world.must(chip_command("open 20261128-01 100x0", "next"))
    shown, newest = _shown(world)
    assert (shown.counted, shown.closing, shown.drop) == (100, 200, 15_000)
    assert (newest.float_id, newest.opening, newest.closing) == ("20261128-01", 0, None)


def _shown(world: World) -> tuple[FloatView, ...]:
    return project_table(
        world.state, table="t1", rulebook=CONTEXT.rulebook, catching_up=False
    ).floats
