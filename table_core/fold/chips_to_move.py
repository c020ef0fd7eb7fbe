"""The fold of the chips that corrections ask the dealer to move. Pure.

A settlement moves chips when the dealer pays by it. Each later settlement of the coup names its
`difference`, and the commission events of the same correction say how much of the commission moves
with it: what is deducted stays in the tray, and what is refunded leaves it.

A wager that a corrected rulebook moves to the last phase is on the first phase's pay list already.
So the chips of its last settlement are moved as a correction as well.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from events.types import (
    CommissionAccrued,
    CommissionRefunded,
    CorrectionAcknowledged,
    CoupSettled,
    SeatDifference,
    TableEvent,
)
from table_core.rules.rulebook import CommissionTiming
from table_core.state.corrected_coup import seat_differences
from table_core.state.table import KEPT_CORRECTIONS, ChipsToMove, SeatChips, TableState

__all__ = ["CHIPS_TO_MOVE", "on_correction_acknowledged"]

_DEDUCTED: Final = CommissionTiming.DEDUCT.value


def _on_settled(state: TableState, event: CoupSettled) -> TableState:
    settlement = event.settlement
    difference = settlement.difference or _listed_before(state, settlement.settlement_id)
    if settlement.revision == 1 and not difference:
        return state
    gets = {each.seat: each.paid + each.commission - each.staked for each in difference}
    found = _found(state, event.coup)
    entry = found or ChipsToMove(coup=event.coup, settlements=(), seats=())
    entry = replace(entry, settlements=(*entry.settlements, settlement.settlement_id))
    return _with(state, found, _moved(entry, gets))


def _on_accrued(state: TableState, event: CommissionAccrued) -> TableState:
    """Hold deducted commission back, where it is of a corrected settlement."""
    found = _found(state, event.coup)
    if found is None or event.settlement_id not in found.settlements or event.timing != _DEDUCTED:
        return state
    listed = _listed_before(state, event.settlement_id)
    if listed:  # of the settlement's other lines the pay list holds it back
        return _with(state, found, _moved(found, {each.seat: -each.commission for each in listed}))
    return _commission(state, event, -1)


def _on_refunded(state: TableState, event: CommissionRefunded) -> TableState:
    return _commission(state, event, 1)


def _commission(state: TableState, event: Any, sign: int) -> TableState:
    found = _found(state, event.coup)
    if found is None:
        return state
    gets: dict[int, int] = {}
    for each in event.amounts:
        gets[each.seat] = gets.get(each.seat, 0) + sign * each.amount
    return _with(state, found, _moved(found, gets))


def _listed_before(state: TableState, settlement_id: str) -> tuple[SeatDifference, ...]:
    """Return what a phase's first settlement comes to for wagers that an earlier phase listed."""
    coup = state.coup
    if coup is None or not coup.paid_by:
        return ()
    for each in coup.settlements:
        if each.settlement_id == settlement_id and each.revision == 1:
            return seat_differences((), coup.lines_listed_before(each))
    return ()


def on_correction_acknowledged(state: TableState, event: CorrectionAcknowledged) -> TableState:
    """Forget the chips of a coup: the dealer has moved them."""
    return replace(state, to_move=tuple(each for each in state.to_move if each.coup != event.coup))


def _found(state: TableState, coup: str) -> ChipsToMove | None:
    return next((each for each in state.to_move if each.coup == coup), None)


def _moved(entry: ChipsToMove, gets: Mapping[int, int]) -> ChipsToMove:
    seats = {each.seat: each.gets for each in entry.seats}
    for seat, amount in gets.items():
        seats[seat] = seats.get(seat, 0) + amount
    chips = tuple(SeatChips(seat=seat, gets=seats[seat]) for seat in sorted(seats))
    return replace(entry, seats=chips)


def _with(state: TableState, was: ChipsToMove | None, entry: ChipsToMove) -> TableState:
    others = tuple(each for each in state.to_move if each is not was)
    return replace(state, to_move=(*others, entry)[-KEPT_CORRECTIONS:])


CHIPS_TO_MOVE: Final[Mapping[type[TableEvent], Callable[[TableState, Any], TableState]]] = {
    CoupSettled: _on_settled,
    CommissionAccrued: _on_accrued,
    CommissionRefunded: _on_refunded,
}
"""What the events of a correction do to the chips to move, after their own fold."""
