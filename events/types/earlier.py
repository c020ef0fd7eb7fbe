"""Earlier versions of events: the shape of each, and how it becomes the next. Pure.

Nothing but the reading of old logs uses these classes, and none is ever edited.
docs/develop/changing-events.md says how a type gets an earlier version.

Version 1 of the commission's events knows balances of seats. It has no currency, and where
commission was paid by hand, given up or recovered, no coup. Both are empty in what it becomes, and
the fold takes that for what it was: a balance of the seat.
"""

from typing import Any, Final

from msgspec import Struct

from events.types.commission import SeatAmount
from events.types.table import TableEvent
from events.types.upcasting import Upcast

__all__ = ["UPCASTS", "BetLimits1", "LimitsSet1"]


class _RulebookAdopted1(TableEvent, frozen=True, kw_only=True):
    TYPE = "rulebook_adopted"
    rulebook: str
    rulebook_hash: str


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


def _unnamed(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "currency": ""}


def _without_currency(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "coup": fields.get("coup") or "", "currency": ""}


def _reversed(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "timing": fields.get("timing", ""), "currency": ""}


class BetLimits1(
    Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A table's own limits for one bet, in the first version."""

    bet: str
    minimum: int | None = None
    maximum: int | None = None
    step: int | None = None


class LimitsSet1(TableEvent, frozen=True, kw_only=True):
    """The table's own limits, in the first version: they bind what the rulebook says."""

    TYPE = "limits_set"
    VERSION = 1
    bets: tuple[BetLimits1, ...] = ()
    table_maximum: int | None = None
    differential: int | None = None


def _limits_set_1(fields: dict[str, Any]) -> dict[str, Any]:
    """Of the limits that came later nothing was set."""
    return fields


UPCASTS: Final[tuple[Upcast, ...]] = (
    Upcast(_RulebookAdopted1, _unnamed),
    Upcast(_Accrued1, _without_currency),
    Upcast(_Collected1, _without_currency),
    Upcast(_Prepaid1, _without_currency),
    Upcast(_Returned1, _without_currency),
    Upcast(_Reversed1, _reversed),
    Upcast(_Uncollected1, _without_currency),
    Upcast(_Recovered1, _without_currency),
    Upcast(LimitsSet1, _limits_set_1),
)
"""From every older version, which a log may hold as well."""
