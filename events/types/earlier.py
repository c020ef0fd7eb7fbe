"""Earlier versions of events: the shape of each, and how it becomes the next. Pure.

Nothing but the reading of old logs uses these classes, and none is ever edited.

Version 1 of the commission's events knows balances of seats. It has no currency, and where
commission was paid by hand, given up or recovered, no coup. Both are empty in what it becomes, and
the fold takes that for what it was: a balance of the seat.
"""

from typing import Any, Final

from events.types.commission import SeatAmount
from events.types.table import TableEvent
from events.types.upcasting import Upcast

__all__ = ["UPCASTS"]


class _Accrued1(TableEvent, frozen=True, kw_only=True):
    TYPE = "commission_accrued"
    coup: str
    settlement_id: str
    timing: str
    amounts: tuple[SeatAmount, ...]


class _Collected1(TableEvent, frozen=True, kw_only=True):
    TYPE = "commission_collected"
    coup: str | None = None
    method: str
    amounts: tuple[SeatAmount, ...]


class _Prepaid1(TableEvent, frozen=True, kw_only=True):
    TYPE = "commission_prepaid"
    coup: str
    amounts: tuple[SeatAmount, ...]


class _Returned1(TableEvent, frozen=True, kw_only=True):
    TYPE = "commission_returned"
    coup: str
    amounts: tuple[SeatAmount, ...]


class _Reversed1(TableEvent, frozen=True, kw_only=True):
    TYPE = "commission_reversed"
    coup: str
    settlement_id: str
    timing: str = ""
    amounts: tuple[SeatAmount, ...]


class _Uncollected1(TableEvent, frozen=True, kw_only=True):
    TYPE = "commission_uncollected"
    amounts: tuple[SeatAmount, ...]
    reason: str


class _Recovered1(TableEvent, frozen=True, kw_only=True):
    TYPE = "commission_recovered"
    amounts: tuple[SeatAmount, ...]


def _without_currency(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "coup": fields.get("coup") or "", "currency": ""}


def _reversed(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "timing": fields.get("timing", ""), "currency": ""}


UPCASTS: Final[tuple[Upcast, ...]] = (
    Upcast(_Accrued1, _without_currency),
    Upcast(_Collected1, _without_currency),
    Upcast(_Prepaid1, _without_currency),
    Upcast(_Returned1, _without_currency),
    Upcast(_Reversed1, _reversed),
    Upcast(_Uncollected1, _without_currency),
    Upcast(_Recovered1, _without_currency),
)
"""From every older version, which a log may hold as well."""
