"""What the events of one coup say of its commission, against what its settlements charge. Pure.

Debts of other coups are not needed for it: accrued less reversed must be the commission of the
settlements in force, for each payer, and nothing lies beside the wagers of a coup that is over.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from events.types import (
    CommissionAccrued,
    CommissionCollected,
    CommissionEvent,
    CommissionPrepaid,
    CommissionReturned,
    CommissionReversed,
    PayerAmount,
    Settlement,
)

__all__ = ["ToldCommission", "commission_fault", "told_after"]

_Payer = tuple[int, str | None]
_Amounts = tuple[tuple[int, str | None, int], ...]
_OWED: Final = {CommissionAccrued: 1, CommissionReversed: -1}
_LAID: Final = {CommissionPrepaid: 1, CommissionReturned: -1}


class ToldCommission(Struct, frozen=True, kw_only=True):
    """What a coup's events have told so far; each amount with its seat and patron, minor units.

    Args:
        accrued: accrued less reversed.
        laid: what lies beside the wagers, by seat.
        by_seat: an old build wrote the events, which named seats alone.
    """

    accrued: _Amounts = ()
    laid: _Amounts = ()
    by_seat: bool = False


def told_after(told: ToldCommission, event: CommissionEvent) -> ToldCommission:
    """Return what is told after one more event of the coup."""
    laid = _LAID.get(type(event), 0)
    if isinstance(event, CommissionCollected) and event.method == "prepaid":
        laid = -1
    amounts: Sequence[PayerAmount] = getattr(event, "amounts", ())
    owed = ((each.seat, each.patron, _OWED.get(type(event), 0) * each.amount) for each in amounts)
    lies = ((each.seat, None, laid * each.amount) for each in amounts)
    return ToldCommission(
        accrued=_rows(_sums((*told.accrued, *owed))),
        laid=_rows(_sums((*told.laid, *lies))),
        by_seat=told.by_seat or not event.currency,
    )


def commission_fault(
    told: ToldCommission, settlements: Iterable[Settlement], *, over: bool
) -> str | None:
    """Return what is wrong with a coup's commission after a whole commit; None if nothing is."""
    lines = (line for each in settlements for line in each.lines)
    charged = ((line.seat, line.patron, line.commission) for line in lines)
    if _sums(charged, by_seat=told.by_seat) != _sums(told.accrued, by_seat=told.by_seat):
        return "its settlements charge another commission"
    for seat, _, amount in told.laid if over else ():
        return f"commission of {amount} lies at seat {seat} after the coup"
    return None


def _sums(
    rows: Iterable[tuple[int, str | None, int]], *, by_seat: bool = False
) -> dict[_Payer, int]:
    sums: dict[_Payer, int] = {}
    for seat, patron, amount in rows:
        payer = seat, None if by_seat else patron
        sums[payer] = sums.get(payer, 0) + amount
    return {payer: amount for payer, amount in sums.items() if amount}


def _rows(sums: dict[_Payer, int]) -> _Amounts:
    return tuple((seat, patron, amount) for (seat, patron), amount in sums.items())
