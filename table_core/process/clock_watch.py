"""Detects that the machine's clock went back. Pure.

A step forward looks like a machine that slept, and the time service silently corrects a second of
drift. So only a step back is reported: after it, later events have earlier times. The log does not
depend on these times, but people who read it do.
"""

from datetime import datetime
from typing import Final

from events.mqtt.process import Instant

__all__ = ["STEP_LEAST_S", "ClockWatch"]

STEP_LEAST_S: Final = 2
_NS_PER_US: Final = 1_000
_NS_PER_S: Final = 1_000_000_000
# The length of RFC 3339 with as many decimals as Python accepts.
_TAKEN: Final = 26


class ClockWatch:
    """Compares the clock with a monotonic one at each look.

    Args:
        now: on both of them.
        newest: time of the newest event, RFC 3339; empty where there is none.
    """

    def __init__(self, now: Instant, newest: str) -> None:
        self._mono_ns = now.mono_us * _NS_PER_US
        then = datetime.fromisoformat(f"{newest[:_TAKEN]}+00:00").timestamp() if newest else 0
        # The time since the newest event is unknown, but never negative.
        self._utc_ns = int(then * _NS_PER_S) if newest else now.utc_ns

    def went_back_s(self, now: Instant) -> float:
        """Return how many seconds the clock went back since the last look; 0 where it did not."""
        utc_ns, mono_ns = now.utc_ns, now.mono_us * _NS_PER_US
        back_ns = self._utc_ns + (mono_ns - self._mono_ns) - utc_ns
        self._utc_ns, self._mono_ns = utc_ns, mono_ns
        return back_ns / _NS_PER_S if back_ns >= STEP_LEAST_S * _NS_PER_S else 0.0
