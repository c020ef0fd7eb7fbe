"""The table's chips: each command's refusals as a line a case, and what the table remembers."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.commands.base import Refusal
from events.errors import OurBug
from events.types.chips import (
    MOVES,
    ChipEvent,
    ChipMove,
    ChipsCorrected,
    ChipsCounted,
    ChipsCredited,
    ChipsFilled,
    DropCounted,
    FloatClosed,
    FloatOpened,
    Pieces,
    amount_of,
)
from events.types.table import CardDealt, TableEvent
from table_core.decide.available_commands import current_refusals
from table_core.fold.dispatch import fold_all
from table_core.fold.snapshot import decode_state, encode_state
from table_core.state.coup import Phase
from table_core.state.table import KEPT_FLOATS, MOST_SLIPS, TableState
from tests.support.table.chip_games import chip_command, played
from tests.support.table.coups import CONTEXT, World, world_in

# name arguments > outcome; chips are denomination x pieces. `+` makes an event.
GAMES = """
a float that is opened, worked with and closed
open 20261127-01 100x200 2500x40 > +
fill F-1 2500x10 > +
credit C-1 100x50 > +
count 100x150 2500x50 > +
close 100x150 2500x50 > +
drop 20261127-01 B-1 5000x20 > +

nothing without a float
fill F-1 100x1 > no_float
credit C-1 100x1 > no_float
count 100x1 > no_float
close 100x1 > no_float
drop 20261127-01 B-1 100x1 > unknown_float
correct 20261127-01 opening - 100x1 > unknown_float

one float at a time, and each once
open 20261127-01 100x200 > +
open 20261127-02 100x200 > float_open
close 100x200 > +
close 100x200 > float_closed
fill F-1 100x1 > float_closed
credit C-1 100x1 > float_closed
count 100x1 > float_closed
open 20261127-01 100x200 > float_known
open 20261126-09 100x200 > float_known
open 20261127-02 100x200 > +

what is no id, no denomination, no number of pieces
open tuesday 100x200 > invalid_float
open 20261127-1 100x200 > invalid_float
open 20261127-01 > no_chips
open 20261127-01 0x5 > invalid_denomination
open 20261127-01 -100x5 > invalid_denomination
open 20261127-01 100x5 100x6 > invalid_denomination
open 20261127-01 100x-1 > invalid_pieces
open 20261127-01 100x1000001 > invalid_pieces
open 20261127-01 9000000000000x1000000 > invalid_pieces
open 20261127-01 100x0 2500x4 > +
fill F-1 100x0 > invalid_pieces
fill F-1 > no_chips
credit C-1 100x-3 > invalid_pieces
count > no_chips
count 100x0 > +
close > no_chips

a slip's number is used once, a fill's and a credit's apart
open 20261127-01 100x200 > +
fill F-1 100x10 > +
fill F-1 100x10 > slip_used
credit F-1 100x10 > +
credit F-1 100x11 > slip_used
fill _ 100x10 > invalid_slip
close 100x200 > +
open 20261127-02 100x200 > +
fill F-1 100x10 > slip_used
fill F-2 100x10 > +

a box is counted again only with a reason, and only where it was counted
open 20261127-01 100x200 > +
drop 20261127-01 B-1 5000x20 > +
drop 20261127-01 B-1 5000x21 > box_counted
drop! 20261127-01 B-1 5000x20 > changes_nothing
drop! 20261127-01 B-1 5000x21 > +
drop! 20261127-01 B-2 5000x21 > unknown_box
drop 20261127-01 B-2 > +
drop 20261127-01 _ 100x1 > invalid_box
drop 20261127-02 B-3 100x1 > unknown_float

what was misread is put right, once, with a reason
open 20261127-01 100x200 > +
fill F-1 100x10 > +
correct 20261127-01 opening - 100x201 > +
correct 20261127-01 opening - 100x201 > changes_nothing
correct 20261127-01 opening - > no_chips
correct 20261127-01 opening F-1 100x2 > nothing_to_correct
correct 20261127-01 closing - 100x200 > nothing_to_correct
correct 20261127-01 fill F-2 100x2 > nothing_to_correct
correct 20261127-01 credit F-1 100x2 > nothing_to_correct
correct 20261127-01 fill F-1 100x0 > invalid_pieces
correct? 20261127-01 fill F-1 100x2 > reason_required
correct 20261127-01 fill F-1 > +
fill F-1 100x10 > slip_used
close 100x190 > +
correct 20261127-01 closing - 100x200 > +
"""
SLIPS = {"fill", "credit", "count_chips", "close_float"}


def _games() -> list[tuple[str, list[str]]]:
    blocks = (block.strip().splitlines() for block in GAMES.strip().split("\n\n"))
    return [(title, lines) for title, *lines in blocks]


@pytest.mark.parametrize(("title", "lines"), _games(), ids=[title for title, _ in _games()])
def test_each_command_does_what_the_line_says(title: str, lines: list[str]) -> None:
    world = played(lines)
    assert decode_state(encode_state(world.state)) == world.state, title
    assert fold_all(TableState(), world.log) == world.state


@pytest.mark.parametrize("signed", [(), ("s-1",), ("s-1", "s-1"), ("s-1", " "), ("",) * 2,
                                    tuple(f"s-{n}" for n in range(9))])  # fmt: skip
def test_nobody_counts_alone(signed: tuple[str, ...]) -> None:
    lines = [line.partition(" > ")[0] for line in dict(_games())[_games()[0][0]]]
    world = World()
    for number, line in enumerate(lines):
        refused = world.ask(chip_command(line, f"u-{number}", signed=signed))
        assert isinstance(refused, Refusal)
        assert refused.code == "signatures_required"
        world.must(chip_command(line, f"t-{number}"))
    correct = chip_command("correct 20261127-01 fill F-1 100x1", "t", signed=signed)
    refused = world.ask(correct)
    assert isinstance(refused, Refusal)
    assert refused.code == "signatures_required"


def test_chips_of_another_currency_are_refused() -> None:
    refused = World().ask(chip_command("open 20261127-01 100x1", "t-1", currency="USD"))
    assert isinstance(refused, Refusal)
    assert (refused.code, "played in AUD, not in 'USD'" in refused.text) == ("wrong_currency", True)


def test_a_denomination_is_a_multiple_of_the_smallest_chip() -> None:
    rulebook = msgspec.structs.replace(CONTEXT.rulebook, unit=250)
    world = World(msgspec.structs.replace(CONTEXT, rulebook=rulebook))
    refused = world.ask(chip_command("open 20261127-01 100x1", "t-1"))
    assert isinstance(refused, Refusal)
    assert refused.code == "invalid_denomination"
    world.must(chip_command("open 20261127-01 500x1", "t-1"))
    world.must(chip_command("drop 20261127-01 B-1 100x7", "t-2"))  # notes are no chips


@pytest.mark.parametrize("phase", [Phase.NONE, Phase.SETTLED, Phase.VOIDED])
def test_between_coups_a_float_is_opened_and_closed(phase: Phase) -> None:
    world = world_in(phase)
    assert current_refusals(world.state, CONTEXT).keys() >= SLIPS
    world.must(chip_command("open 20261127-01 100x1", "t-1"))
    offered = current_refusals(world.state, CONTEXT)
    assert offered["open_float"].code == "float_open"
    assert not offered.keys() & SLIPS
    world.must(chip_command("close 100x1", "t-2"))
    offered = current_refusals(world.state, CONTEXT)
    assert {offered[name].code for name in SLIPS} == {"float_closed"}
    assert "open_float" not in offered


@pytest.mark.parametrize("phase", [Phase.BETTING, Phase.DEALING, Phase.HELD, Phase.MISALIGNED])
def test_a_tray_is_counted_between_coups_and_filled_at_any_time(phase: Phase) -> None:
    world = world_in(Phase.NONE)
    world.must(chip_command("open 20261127-01 100x200", "t-1"))
    opened = world_in(phase)
    refused = opened.ask(chip_command("open 20261127-02 100x1", "t-1"))
    assert isinstance(refused, Refusal)
    assert refused.code == "coup_in_progress"
    assert current_refusals(opened.state, CONTEXT)["open_float"].code == "coup_in_progress"
    opened.state = msgspec.structs.replace(opened.state, floats=world.state.floats)
    for line in ("count 100x1", "close 100x1"):
        refused = opened.ask(chip_command(line, "t-2"))
        assert isinstance(refused, Refusal)
        assert refused.code == "coup_in_progress"
    offered = current_refusals(opened.state, CONTEXT)
    assert {offered[name].code for name in ("count_chips", "close_float")} == {"coup_in_progress"}
    assert not offered.keys() & {"fill", "credit"}
    coup = opened.state.coup
    opened.must(chip_command("fill F-1 100x1", "t-3"))
    opened.must(chip_command("credit C-1 100x1", "t-4"))
    opened.must(chip_command("correct 20261127-01 fill F-1 100x2", "t-5"))
    opened.must(chip_command("drop 20261127-01 B-1 100x2", "t-6"))
    assert opened.state.coup == coup


def test_the_newest_count_and_every_box_are_kept() -> None:
    world = World()
    lines = ("open 20261127-01 100x200", "count 100x150", "count 100x140 2500x4")
    for number, line in enumerate(lines):
        world.must(chip_command(line, f"t-{number}"))
    (kept,) = world.state.floats
    assert amount_of(kept.counted or ()) == 24_000
    world.must(chip_command("close 100x140", "c"))
    # Two boxes may hold the same; the newest count of one leaves the other alone.
    for number, line in enumerate(("drop B-1 5000x20", "drop B-2 5000x20", "drop! B-1 5000x30")):
        world.must(chip_command(line.replace(" ", " 20261127-01 ", 1), f"d-{number}"))
    (kept,) = world.state.floats
    assert sorted(kept.drops) == [("B-1", 150_000), ("B-2", 100_000)]


def test_a_closing_and_an_opening_that_were_told_wrong_say_something_else() -> None:
    world = World()
    world.must(chip_command("open 20261127-01 100x200", "o"))
    world.must(chip_command("fill F-1 100x10", "f"))
    world.must(chip_command("close 100x150", "c"))
    world.must(chip_command("correct 20261127-01 closing - 100x149", "e-1"))
    world.must(chip_command("correct 20261127-01 opening - 100x201", "e-2"))
    (kept,) = world.state.floats
    assert amount_of(kept.opening) == 20_100
    assert amount_of(kept.closing or ()) == 14_900
    assert [amount_of(slip.chips) for slip in kept.slips] == [1_000]


def test_a_fact_about_a_float_that_nobody_opened_is_our_bug() -> None:
    world = World()
    (opened,) = world.must(chip_command("open 20261127-01 100x200", "o"))
    (filled,) = world.must(chip_command("fill F-1 100x10", "f"))
    assert isinstance(opened, FloatOpened)
    with pytest.raises(OurBug, match=r"chips_filled of float 20261127-01, which is not known"):
        fold_all(TableState(), [filled])


def test_what_a_table_remembers_is_bounded() -> None:
    world = World()
    for number in range(1, KEPT_FLOATS + 4):
        float_id = f"20261127-{number:02}"
        world.must(chip_command(f"open {float_id} 100x1", f"o-{number}"))
        world.must(chip_command(f"fill F-{number} 100x1", f"f-{number}"))
        world.must(chip_command("close 100x1", f"c-{number}"))
    kept = [each.id for each in world.state.floats]
    assert kept == [f"20261127-{number:02}" for number in range(4, KEPT_FLOATS + 4)]
    refused = world.ask(chip_command("drop 20261127-03 B-1 100x1", "t"))
    assert isinstance(refused, Refusal)
    assert refused.code == "unknown_float"
    world.must(chip_command("open 20261128-01 100x1", "o"))
    for number in range(MOST_SLIPS):
        world.must(chip_command(f"fill G-{number} 100x1", f"g-{number}"))
    refused = world.ask(chip_command("credit C-1 100x1", "t"))
    assert isinstance(refused, Refusal)
    assert refused.code == "too_many_slips"
    world.must(chip_command("close 100x1", "c"))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["open", "fill", "credit", "count", "close", "drop", "void"]),
                max_size=30), st.integers(0, 2**16))  # fmt: skip
def test_whatever_comes_the_floats_hold_what_the_events_say(steps: list[str], seed: int) -> None:
    """An auditor with two numbers a float: what the cage gave it, and what its boxes held."""
    world, given_out, dropped = World(), dict[str, int](), dict[tuple[str, str], int]()
    for number, step in enumerate(steps):
        pieces, last = seed % (number + 7) + 1, world.state.floats[-1:]
        line = {
            "open": f"open 20261127-{number:02} 100x{pieces}",
            "drop": f"drop {last[0].id if last else '20261127-01'} B-1 100x{pieces}",
            "void": f"correct {last[0].id if last else '20261127-01'} fill F-{number - 1}",
        }.get(step, f"{step} {'' if step in {'count', 'close'} else f'F-{number} '}100x{pieces}")
        made = world.ask(chip_command(line, f"t-{number}"))
        for event in () if isinstance(made, Refusal) else made:
            _audit(event, given_out, dropped)
    for each in world.state.floats:
        moved: list[tuple[ChipMove, tuple[Pieces, ...]]] = [
            ("opening", each.opening),
            ("closing", each.closing or ()),
            *((slip.move, slip.chips) for slip in each.slips),
        ]
        out = sum(MOVES[move] * amount_of(chips) for move, chips in moved)
        assert out == given_out[each.id]
        assert dict(each.drops) == {box: v for (f, box), v in dropped.items() if f == each.id}


def _audit(
    event: TableEvent, given_out: dict[str, int], dropped: dict[tuple[str, str], int]
) -> None:
    assert isinstance(event, ChipEvent)
    match event:
        case FloatOpened() | ChipsFilled():
            moved = event.amount
        case ChipsCredited() | FloatClosed():
            moved = -event.amount
        case ChipsCorrected():
            moved = (event.amount - event.was) * (-1 if event.move in {"credit", "closing"} else 1)
        case DropCounted():
            moved, dropped[event.float_id, event.box] = 0, event.amount
        case _:
            assert isinstance(event, ChipsCounted)
            moved = 0
    given_out[event.float_id] = given_out.get(event.float_id, 0) + moved


def test_chips_of_a_void_table_leave_cards_alone() -> None:
    """No fact about chips is a move of a coup: the phase stays what it was."""
    world = world_in(Phase.SETTLED)
    phase, totals = world.state.phase, world.state.totals
    for number, line in enumerate(dict(_games())["a float that is opened, worked with and closed"]):
        made = world.must(chip_command(line.partition(" > ")[0], f"chips-{number}"))
        assert not any(isinstance(event, CardDealt) for event in made)
    assert (world.state.phase, world.state.totals) == (phase, totals)
