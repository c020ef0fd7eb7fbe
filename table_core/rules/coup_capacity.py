"""Bounds on one coup, so that its settlement always fits one stored event. Pure.

A settlement is one event, and an event has a maximum size. A coup with more wagers than fit could
never be settled, so the table refuses the first wager that is too many.
"""

from collections.abc import Sequence
from typing import Final

from events.commands.base import Refusal
from events.money import MAX_STAKE
from events.types.envelope import MAX_EVENT_BYTES
from events.types.table import Wager
from table_core.refusals import refuse
from table_core.rules.wager_totals import WagerTotals, WagerTotalsBuilder

__all__ = ["MAX_PATRON", "MAX_STAKED", "bounds_refusal"]

MAX_PATRON: Final = 64
"""Characters of a patron's reference: it is a key, not a text."""

MAX_STAKED: Final = MAX_STAKE
"""Stakes of one coup, minor units: no sum exceeds the integers that JSON readers keep."""

# Bytes of a settlement without its lines.
_ROOM_BESIDE_LINES: Final = 64 * 1024


def bounds_refusal(standing: WagerTotals, asked: Sequence[Wager]) -> Refusal | None:
    """Return the refusal of wagers that exceed the bounds of one coup; else None.

    Args:
        standing: totals of the wagers already placed.
        asked: the new wagers; their stakes are positive.
    """
    for wager in asked:
        if wager.patron is not None and not 1 <= len(wager.patron) <= MAX_PATRON:
            return refuse(
                "invalid_patron", f"a patron's reference has 1 to {MAX_PATRON} characters"
            )
    after = WagerTotalsBuilder(standing)
    for wager in asked:
        after.add(wager)
    if after.staked > MAX_STAKED:
        return refuse("table_maximum", f"one coup takes {MAX_STAKED} minor units at the most")
    if after.line_bytes > MAX_EVENT_BYTES - _ROOM_BESIDE_LINES:
        return refuse(
            "too_many_wagers", f"the coup holds {len(standing.ids)}; no more would settle"
        )
    return None
