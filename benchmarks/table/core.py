"""Measure coups a second through the table's core, next to encoding the same events.

Product: whole coups through `decide`, `decide_on_report` and `fold`, as
`table_core.process.table_writer` calls
them, three wagers each, without storing or sending. Floor: msgspec encodes the fields of the same
events and decodes them again. They take turns, in this process. The figure is processor time.
"""

import os
import time
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from benchmarks.instruments.figures import Figure, percentiles, side_by_side
from benchmarks.rows import BenchOptions
from benchmarks.table.coups import COUPS_A_SHOE, deal_coups, numbered, result_of, wagers_of
from events.commands import (
    CloseBetting,
    Command,
    EndShoe,
    LoadShoe,
    OpenBetting,
    PlaceWager,
    Refusal,
)
from events.errors import OurBug
from events.types import (
    AnyReport,
    CardDrawn,
    LinkOpen,
    LinkUp,
    ShoeEvent,
    TableEvent,
)
from table_core.decide.decision import DecisionContext
from table_core.decide.dispatch import decide
from table_core.decide.shoe_reports import decide_on_report
from table_core.fold.dispatch import fold_all
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.settlement import KeptSettlement
from table_core.state.table import TableState

__all__ = [
    "COUPS",
    "RATIO_MOST",
    "inputs_of",
    "measure",
    "play",
]

COUPS: Final = 600
"""Coups in one pass, unless the command line says otherwise."""

RATIO_MOST: Final = 15.0
_PASSES: Final = 9
_US: Final = 1_000_000

Input = Command | ShoeEvent


def measure(options: BenchOptions) -> list[Figure]:
    """Measure the row `core`."""
    coups, passes = options.events or COUPS, min(options.samples, _PASSES)
    inputs = list(inputs_of(coups))
    rulebook = load_rulebook("au-commission")
    kept = KeptSettlement(rulebook)  # as a table keeps it
    context = DecisionContext(table="t1", rulebook=rulebook, user="dealer", kept=kept)
    product, floor = [], []
    events = play(inputs, context)  # warm, and the floor's input
    with options.progress("passes", passes) as advance:
        for done in range(1, passes + 1):
            began = time.process_time_ns()
            play(inputs, context)
            between = time.process_time_ns()
            _written_and_read(events)
            product.append((between - began) / 1_000 / coups)
            floor.append((time.process_time_ns() - between) / 1_000 / coups)
            advance(done)
    return [_figure(product, floor, len(events) / coups)]


def _figure(product: list[float], floor: list[float], events_a_coup: float) -> Figure:
    p50, p99 = percentiles(product)
    floor_p50, floor_p99 = percentiles(floor)
    return Figure(
        **side_by_side((p50, p99), (floor_p50, floor_p99), digits=1),
        name="core",
        unit="us",
        samples=len(product),
        goal=f"ratio_p50 <= {RATIO_MOST:g}",
        met=p50 <= RATIO_MOST * floor_p50,
        detail={
            "coups_a_second": round(_US / p50),
            "events_a_coup": round(events_a_coup, 1),
            "load": round(os.getloadavg()[0], 2),
        },
    )


def play(inputs: Sequence[Input], context: DecisionContext) -> list[TableEvent]:
    """Return the events of a table for all these inputs, from an empty log on.

    Raises:
        OurBug: the table refuses one.
    """
    state, events = TableState(), list[TableEvent]()
    for each in inputs:
        if isinstance(each, ShoeEvent):
            made = decide_on_report(state, each, context)
        else:
            decided = decide(state, each, context)
            if isinstance(decided, Refusal):
                raise OurBug(f"the bench's table refuses: {decided.text}")
            made = decided
        state = fold_all(state, made)
        events += made
    return events


def _written_and_read(events: Sequence[TableEvent]) -> None:
    encoder = msgspec.json.Encoder()
    decoders = {kind: msgspec.json.Decoder(kind) for kind in {type(each) for each in events}}
    for event in events:
        decoders[type(event)].decode(encoder.encode(event))


def inputs_of(coups: int) -> Iterator[Input]:
    """Yield the commands and reports of so many coups, shoe after shoe."""
    script = _Script()
    yield from script.say(LinkOpen(transport="bench"), LinkUp())
    cards, wagers = deal_coups(), wagers_of()
    for number in range(coups):
        if number % COUPS_A_SHOE == 0:
            yield from script.next_shoe(number // COUPS_A_SHOE)
        yield OpenBetting(transaction=script.transaction())
        yield PlaceWager(transaction=script.transaction(), wagers=next(wagers))
        yield CloseBetting(transaction=script.transaction())
        dealt = next(cards)
        for hand, place, face in dealt:
            yield from script.say(CardDrawn(hand=hand, number=place, face=face))
        yield from script.say(result_of(dealt))


class _Script:
    """Numbers the inputs."""

    def __init__(self) -> None:
        self._asked = self._said = 0

    def transaction(self) -> str:
        self._asked += 1
        return f"bench-{self._asked}"

    def next_shoe(self, number: int) -> Iterator[Input]:
        if number:
            yield EndShoe(transaction=self.transaction(), reason="bench")
        day, of_day = divmod(number, 99)
        yield LoadShoe(transaction=self.transaction(), shoe=f"202611{day + 1:02}-{of_day + 1:02}")

    def say(self, *reports: AnyReport) -> Iterator[ShoeEvent]:
        for report in reports:
            self._said += 1
            yield numbered(self._said, report)
