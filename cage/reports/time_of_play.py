"""How long was played, from the times of a log's events in the log's order. Pure."""

from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from typing import Final

__all__ = ["seconds_of_play"]

# Betting stays open for an hour at the most: a longer gap is a closed table, or a clock that was
# set.
_PAUSE_MOST_S: Final = 3600


def seconds_of_play(times: Iterable[str]) -> float:
    """Return the seconds from the first of these times to the last, gaps of over an hour left out.

    So a clock that was set, forwards or back, adds no time, but costs the gap in which it was.

    Args:
        times: RFC 3339, in the log's order.
    """
    instants = [datetime.fromisoformat(each) for each in times]
    gaps = [(after - before).total_seconds() for before, after in pairwise(instants)]
    return sum(gap for gap in gaps if 0 <= gap <= _PAUSE_MOST_S)
