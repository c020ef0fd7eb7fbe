"""Whether the machine's clock has gone back. Order in the log never depends on it; people's do.

A step forward cannot be told from a machine that slept, and a second of drift is put right without
a word by whoever keeps the clock. What is told is a step back: then events stand behind one
another whose times do not.
"""

from datetime import datetime
from typing import Final

from events.clock import Clock

__all__ = ["STEP_LEAST_S", "ClockWatch"]

STEP_LEAST_S: Final = 2
_NS_PER_US: Final = 1_000
_NS_PER_S: Final = 1_000_000_000
# RFC 3339 with as many decimals as Python takes.
_TAKEN: Final = 26


class ClockWatch:
    """Looks at the clock now and then, beside one that never steps.

    Args:
        clock: both of them.
        newest: when the newest event was appended, RFC 3339; empty where there is none.
    """

    def __init__(self, clock: Clock, newest: str) -> None:
        self._clock = clock
        self._mono_ns = clock.mono_us() * _NS_PER_US
        then = datetime.fromisoformat(f"{newest[:_TAKEN]}+00:00").timestamp() if newest else 0
        # Whatever has passed since the newest event, it was not less than nothing.
        self._utc_ns = int(then * _NS_PER_S) if newest else clock.utc_ns()

    def went_back_s(self) -> float:
        """By how many seconds the clock went back since the last look; 0 where it did not."""
        utc_ns, mono_ns = self._clock.utc_ns(), self._clock.mono_us() * _NS_PER_US
        back_ns = self._utc_ns + (mono_ns - self._mono_ns) - utc_ns
        self._utc_ns, self._mono_ns = utc_ns, mono_ns
        return back_ns / _NS_PER_S if back_ns >= STEP_LEAST_S * _NS_PER_S else 0.0
