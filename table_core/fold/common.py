"""Helpers that the folds share: the current coup and shoe of a state, and a coup in a new phase."""

from typing import Any

from msgspec.structs import replace

from events.errors import OurBug
from events.types import TableEvent
from table_core.state.coup import Phase
from table_core.state.coup_projection import changed_coup
from table_core.state.shoe import ShoeState
from table_core.state.table import Coup, TableState

__all__ = ["current_coup", "current_shoe", "on_coup", "with_coup"]


def current_coup(state: TableState) -> Coup:
    """The coup in progress, or the last one."""
    if state.coup is None:
        raise OurBug("a coup's event before the first coup")
    return state.coup


def current_shoe(state: TableState) -> ShoeState:
    """The shoe on the table."""
    if state.shoe is None:
        raise OurBug("a shoe's event before the first shoe")
    return state.shoe


def on_coup(state: TableState, event: TableEvent, phase: Phase) -> TableState:
    """Return the state with the coup as an event changes it, and nothing else changed."""
    coup = changed_coup(current_coup(state), event)
    if coup.phase is not phase:
        coup = replace(coup, phase=phase)
    return replace(state, coup=coup)


def with_coup(state: TableState, phase: Phase, **changes: Any) -> TableState:
    """Return the state with the coup moved to `phase`, and with `changes`."""
    return replace(state, coup=replace(current_coup(state), phase=phase, **changes))
