"""A fake clock that advances only when the world moves it."""

from typing import Final

from events.mqtt.process import Instant, Now

__all__ = ["MICROSECONDS", "WorldClock"]

MICROSECONDS: Final = 1_000_000
"""Microseconds in a second."""

# 2026-11-27 18:00 UTC, chosen freely. Every seed begins at the same moment.
_BEGINS_NS: Final = 1_795_802_400 * 1_000_000_000


class WorldClock:
    """The product's `Clock`, moved by the world.

    Attributes:
        now_us: microseconds since the world began.
    """

    def __init__(self) -> None:
        self.now_us = 0

    def utc_ns(self) -> int:
        """See `events.clock.Clock.utc_ns`."""
        return _BEGINS_NS + self.now_us * 1_000

    def mono_us(self) -> int:
        """See `events.clock.Clock.mono_us`."""
        return self.now_us

    def now(self, _: Now) -> Instant:
        """Perform `Now`."""
        return Instant(_BEGINS_NS + self.now_us * 1_000, self.now_us)

    def go_on(self, microseconds: int) -> None:
        """Advance by so many microseconds."""
        self.now_us += microseconds

    def until(self, then_us: int) -> None:
        """Advance to a moment, unless it is past."""
        self.now_us = max(self.now_us, then_us)
