"""The fold of events about chips: floats, slips, counts, the drop. Pure."""

from typing import Any

from msgspec.structs import replace

from events.errors import OurBug
from events.types import (
    ChipEvent,
    ChipMove,
    ChipsCorrected,
    ChipsCounted,
    ChipsCredited,
    ChipsFilled,
    DropCounted,
    FloatClosed,
    FloatOpened,
)
from table_core.state.table import KEPT_FLOATS, Slip, TableFloat, TableState

__all__ = [
    "on_chips_corrected",
    "on_chips_counted",
    "on_chips_moved",
    "on_drop_counted",
    "on_float_closed",
    "on_float_opened",
]


def on_float_opened(state: TableState, event: FloatOpened) -> TableState:
    """Add a float, and drop the oldest."""
    opened = TableFloat(id=event.float_id, currency=event.currency, opening=event.chips)
    return replace(state, floats=(*state.floats, opened)[-KEPT_FLOATS:])


def on_chips_moved(state: TableState, event: ChipsFilled | ChipsCredited) -> TableState:
    """Add a slip."""
    move: ChipMove = "fill" if isinstance(event, ChipsFilled) else "credit"
    slip = Slip(move, event.slip, event.chips)
    return _with(state, event, slips=(*_of(state, event).slips, slip))


def on_chips_counted(state: TableState, event: ChipsCounted) -> TableState:
    """Set the newest count."""
    return _with(state, event, counted=event.chips)


def on_float_closed(state: TableState, event: FloatClosed) -> TableState:
    """Close the float: the table has none until the next is opened."""
    return _with(state, event, closing=event.chips)


def on_drop_counted(state: TableState, event: DropCounted) -> TableState:
    """Set the newest count of a box."""
    others = tuple(each for each in _of(state, event).drops if each[0] != event.box)
    return _with(state, event, drops=(*others, (event.box, event.amount)))


def on_chips_corrected(state: TableState, event: ChipsCorrected) -> TableState:
    """Correct a count or a slip."""
    if event.move in {"opening", "closing"}:
        return _with(state, event, **{event.move: event.chips})
    slips = tuple(
        replace(each, chips=event.chips)
        if (each.move, each.number) == (event.move, event.slip)
        else each
        for each in _of(state, event).slips
    )
    return _with(state, event, slips=slips)


def _of(state: TableState, event: ChipEvent) -> TableFloat:
    for each in state.floats:
        if each.id == event.float_id:
            return each
    raise OurBug(f"{event.TYPE} of float {event.float_id}, which is not known")


def _with(state: TableState, event: ChipEvent, **changes: Any) -> TableState:
    changed = replace(_of(state, event), **changes)
    floats = (changed if each.id == changed.id else each for each in state.floats)
    return replace(state, floats=tuple(floats))
