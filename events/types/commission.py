"""Events about the house's commission, apart from the settlements: due, collected, returned.

A settlement's lines are net, whenever commission is taken. These events record when commission is
due and when its money moves, per seat, so that at any moment (game rules, commission):

    accrued - reversed = collected + recovered + outstanding + still uncollected
"""

from msgspec import Struct

from events.types.table import TableEvent

__all__ = [
    "CommissionAccrued",
    "CommissionCollected",
    "CommissionPrepaid",
    "CommissionRecovered",
    "CommissionReturned",
    "CommissionReversed",
    "CommissionUncollected",
    "SeatAmount",
]


class SeatAmount(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """So much of one seat, in minor units."""

    seat: int
    amount: int


class CommissionAccrued(TableEvent, frozen=True, kw_only=True):
    """A settlement's winners owe commission, by the rulebook's `timing`."""

    TYPE = "commission_accrued"
    coup: str
    settlement_id: str
    timing: str
    amounts: tuple[SeatAmount, ...]


class CommissionCollected(TableEvent, frozen=True, kw_only=True):
    """Commission was taken.

    Args:
        coup: the coup it was taken with, where it was taken with one.
        method: `deducted` from winnings, out of what was `prepaid`, or `paid` by the patron.
        amounts: per seat.
    """

    TYPE = "commission_collected"
    coup: str | None = None
    method: str
    amounts: tuple[SeatAmount, ...]


class CommissionPrepaid(TableEvent, frozen=True, kw_only=True):
    """Commission was laid beside Banker wagers before the hand (seed 3, the small circle)."""

    TYPE = "commission_prepaid"
    coup: str
    amounts: tuple[SeatAmount, ...]


class CommissionReturned(TableEvent, frozen=True, kw_only=True):
    """What was laid and is not owed went back."""

    TYPE = "commission_returned"
    coup: str
    amounts: tuple[SeatAmount, ...]


class CommissionReversed(TableEvent, frozen=True, kw_only=True):
    """A settlement was taken back, and what its winners owed or had paid with it.

    Args:
        coup: the coup's id.
        settlement_id: what was taken back.
        timing: how it had been taken, by the rulebook of that settlement; empty in old logs.
        amounts: per seat.
    """

    TYPE = "commission_reversed"
    coup: str
    settlement_id: str
    timing: str = ""
    amounts: tuple[SeatAmount, ...]


class CommissionUncollected(TableEvent, frozen=True, kw_only=True):
    """Commission that a seat owes could not be collected, and why."""

    TYPE = "commission_uncollected"
    amounts: tuple[SeatAmount, ...]
    reason: str


class CommissionRecovered(TableEvent, frozen=True, kw_only=True):
    """Commission that had been given up was paid after all."""

    TYPE = "commission_recovered"
    amounts: tuple[SeatAmount, ...]
