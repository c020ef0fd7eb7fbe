"""Earlier versions of events: the shape of each, and how it becomes the next. Pure.

Nothing but the reading of old logs uses these classes, and none is ever edited.
docs/changing-an-event.md says how a type gets an earlier version.
"""

from typing import Any, Final

from msgspec import Struct

from events.types.table import TableEvent
from events.types.upcasting import Upcast

__all__ = ["UPCASTS", "BetLimits1", "LimitsSet1"]


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


UPCASTS: Final[tuple[Upcast, ...]] = (Upcast(LimitsSet1, _limits_set_1),)
"""From every older version, which a log may hold as well."""
