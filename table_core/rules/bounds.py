"""How much one coup may hold, so that its settlement can always be stored and sent. Pure.

A settlement is one event, and an event has a largest size. A coup that took more wagers than its
settlement could hold would never be settled: so the wager that would be one too many is refused.
"""

from collections.abc import Sequence
from typing import Final

from events.commands.base import Refusal
from events.money import MAX_STAKE
from events.types.envelope import MAX_EVENT_BYTES
from events.types.table import Wager
from table_core.refusals import refuse
from table_core.rules.wager_totals import Standing, Tally

__all__ = ["MAX_PATRON", "MOST_STAKED", "bounds_refusal"]

MAX_PATRON: Final = 64
"""An opaque reference is a key, not a text."""

MOST_STAKED: Final = MAX_STAKE
"""In one coup, minor units: within this no sum leaves the integers that JSON readers keep."""

# What a settlement has beside its lines.
_ROOM_BESIDE_LINES: Final = 64 * 1024


def bounds_refusal(standing: Standing, asked: Sequence[Wager]) -> Refusal | None:
    """Why these wagers are more than one coup may hold; None when they are not.

    Args:
        standing: what stands already.
        asked: the new ones; their stakes are positive.
    """
    for wager in asked:
        if wager.patron is not None and not 1 <= len(wager.patron) <= MAX_PATRON:
            return refuse(
                "invalid_patron", f"a patron's reference has 1 to {MAX_PATRON} characters"
            )
    after = Tally(standing)
    for wager in asked:
        after.add(wager)
    if after.staked > MOST_STAKED:
        return refuse("table_maximum", f"one coup takes {MOST_STAKED} minor units at the most")
    if after.line_bytes > MAX_EVENT_BYTES - _ROOM_BESIDE_LINES:
        return refuse(
            "too_many_wagers", f"the coup holds {len(standing.ids)}; no more would settle"
        )
    return None
