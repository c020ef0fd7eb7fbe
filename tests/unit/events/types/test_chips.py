"""The table's chips: each command's refusals as a line a case, and what the table remembers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.commands import Refusal
from events.errors import OurBug
from events.types import (
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
    TableEvent,
    amount_of,
)
from table_core.decide.available_commands import current_refusals
from table_core.fold.dispatch import fold_all
from table_core.fold.snapshot import decode_state, encode_state
from table_core.state.table import KEPT_FLOATS, MOST_SLIPS, TableState
from tests.support.table.chip_games import chip_command, played
from tests.support.table.coups import CONTEXT, World
from tests.support.table.histories import Functions, each_history

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


HISTORIES = """
a denomination is a multiple of the smallest chip
    rules au-commission unit=250
    empty
    chips open 20261127-01 100x1 -> refused invalid_denomination
    chips open 20261127-01 500x1
    chips drop 20261127-01 B-1 100x7    # notes are no chips
between coups a float is opened and closed
    * none
    * settled
    * voided
    in {0}                   -> offered(open_float)=yes offered(fill)=no_float
                             -> offered(credit)=no_float offered(count_chips)=no_float
                             -> offered(close_float)=no_float
    chips open 20261127-01 100x1 -> offered(open_float)=float_open offered(fill)=yes
                             -> offered(credit)=yes offered(count_chips)=yes
                             -> offered(close_float)=yes
    chips close 100x1        -> offered(open_float)=yes offered(fill)=float_closed
                             -> offered(credit)=float_closed offered(count_chips)=float_closed
                             -> offered(close_float)=float_closed
a tray is counted between coups and filled at any time
    * betting
    * dealing
    * held
    * misaligned
    in {0}                   -> offered(open_float)=coup_in_progress
    chips open 20261127-02 100x1 -> refused coup_in_progress
    {float}
    chips count 100x1        -> refused coup_in_progress
    chips close 100x1        -> refused coup_in_progress
    chips fill F-1 100x1     -> offered(fill)=yes offered(credit)=yes; {0}
                             -> offered(count_chips)=coup_in_progress
                             -> offered(close_float)=coup_in_progress
    chips credit C-1 100x1
    chips correct 20261127-01 fill F-1 100x2
    chips drop 20261127-01 B-1 100x2 -> {0}
the newest count and every box are kept
    empty
    chips open 20261127-01 100x200
    chips count 100x150
    chips count 100x140 2500x4 -> amount(counted)=24000
    chips close 100x140
    # Two boxes may hold the same; the newest count of one leaves the other alone.
    chips drop 20261127-01 B-1 5000x20
    chips drop 20261127-01 B-2 5000x20
    chips drop! 20261127-01 B-1 5000x30 -> drops()=B-1,150000,B-2,100000
a closing and an opening that were told wrong say something else
    empty
    chips open 20261127-01 100x200
    chips fill F-1 100x10
    chips close 100x150
    chips correct 20261127-01 closing - 100x149
    chips correct 20261127-01 opening - 100x201 -> amount(opening)=20100 amount(closing)=14900
                             -> amount(slips)=1000
chips leave cards alone
    # No fact about chips is a move of a coup: the phase stays what it was.
    in settled               -> totals.coups=1
    chips open 20261127-01 100x200 2500x40
    chips fill F-1 2500x10
    chips credit C-1 100x50
    chips count 100x150 2500x50
    chips close 100x150 2500x50
    chips drop 20261127-01 B-1 5000x20 -> settled; totals.coups=1 totals.paid=2000
                             -> count(card_dealt)=4
"""
FLOAT = (
    "fold float_opened float_id=20261127-01 amount=20000 signed=s-1,d-4 currency=AUD chips=100x200"
)


def amount(world: World, what: str) -> int:
    """What chips of the newest float come to."""
    (kept,) = world.state.floats
    if what == "slips":
        return sum(amount_of(slip.chips) for slip in kept.slips)
    return amount_of(getattr(kept, what) or ())


def offered(world: World, command: str) -> str:
    refusal = current_refusals(world.state, CONTEXT).get(command)
    return refusal.code if refusal else "yes"


ASKED: Functions = {
    "amount": amount,
    "offered": offered,
    "drops": lambda world, _: [
        each for drop in sorted(world.state.floats[-1].drops) for each in drop
    ],
}


test_chips_beside_coups = each_history(HISTORIES, World, ASKED, float=FLOAT)


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
