"""The world's time: it stands still until the world moves it."""

from typing import Final

__all__ = ["MICROSECONDS", "WorldClock"]

MICROSECONDS: Final = 1_000_000
"""In a second."""

# 2026-11-27 18:00 UTC: some day. Every seed begins at the same moment.
_BEGINS_NS: Final = 1_795_802_400 * 1_000_000_000


class WorldClock:
    """A `Clock` of the product's, in the world's hand.

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

    def go_on(self, microseconds: int) -> None:
        """Let so much time pass."""
        self.now_us += microseconds

    def until(self, then_us: int) -> None:
        """Let time pass until then, if that is not past."""
        self.now_us = max(self.now_us, then_us)
