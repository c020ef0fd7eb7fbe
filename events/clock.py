"""The clock interface, and RFC 3339 timestamps.

Services get a `Clock`; pure code gets values only.
"""

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, Protocol

__all__ = ["Clock", "SystemClock", "rfc3339", "seconds_between"]

_NANOSECONDS: Final = 1_000_000_000


class Clock(Protocol):
    """The clock of a service: wall time for timestamps, monotonic time for order and durations."""

    def utc_ns(self) -> int:
        """Nanoseconds since 1970-01-01 UTC. They may jump, so nothing is ordered by them."""
        ...

    def mono_us(self) -> int:
        """Microseconds of a clock that never steps back; they stay below 2^53 for 285 years."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def utc_ns(self) -> int:
        """See `Clock.utc_ns`."""
        return time.time_ns()

    def mono_us(self) -> int:
        """See `Clock.mono_us`."""
        return time.monotonic_ns() // 1_000


def rfc3339(utc_ns: int) -> str:
    """Format a time as RFC 3339 in UTC with nine decimals: `2026-11-27T21:40:07.123456789Z`."""
    seconds, fraction = divmod(utc_ns, _NANOSECONDS)
    minutes, second = divmod(seconds, 60)
    return f"{_to_the_minute(minutes)}:{second:02d}.{fraction:09d}Z"


def seconds_between(earlier: str, later: str) -> float:
    """Return the seconds from one stamp of `rfc3339` to another.

    Raises:
        ValueError: one is no such stamp.
    """
    # Python 3.11 reads at most six decimals; a microsecond is exact enough for seconds.
    first, second = (datetime.fromisoformat(f"{at[:26]}+00:00") for at in (earlier, later))
    return (second - first).total_seconds()


@lru_cache(maxsize=16)  # a coup's events come within a minute, and each card in another second
def _to_the_minute(minutes: int) -> str:
    return f"{datetime.fromtimestamp(minutes * 60, tz=UTC):%Y-%m-%dT%H:%M}"
