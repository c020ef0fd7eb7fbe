"""Time as the table writes it down. Shells are given a `Clock`; the pure core sees only values."""

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, Protocol

__all__ = ["Clock", "SystemClock", "rfc3339"]

_NANOSECONDS: Final = 1_000_000_000


class Clock(Protocol):
    """What a shell may ask about time."""

    def utc_ns(self) -> int:
        """Nanoseconds since 1970-01-01 UTC. May step; never used for order."""
        ...

    def mono_us(self) -> int:
        """Microseconds of a clock that never steps back (stays below 2^53 for 285 years)."""
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
    """RFC 3339 in UTC with nine decimals: `2026-11-27T21:40:07.123456789Z`."""
    seconds, fraction = divmod(utc_ns, _NANOSECONDS)
    return f"{_to_the_second(seconds)}.{fraction:09d}Z"


@lru_cache(maxsize=16)  # a coup's events come many to a second
def _to_the_second(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, tz=UTC):%Y-%m-%dT%H:%M:%S}"
