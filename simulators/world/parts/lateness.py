"""What is late in the world, and until when: nothing of it is lost, and nothing overtakes."""

from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Final

from simulators.world.parts.clock import MICROSECONDS, WorldClock
from simulators.world.parts.waiting import FOREVER_US

__all__ = ["LATE_JOURNAL", "LATE_LOG", "LATE_MOST_US", "Lateness"]

LATE_JOURNAL: Final = "late_journal"
LATE_LOG: Final = "late_log"
LATE_MOST_US: Final = 5 * MICROSECONDS


class Lateness:
    """Ends each delay at its time.

    Args:
        clock: the world's.
        rng: draws how long each delay lasts.

    Attributes:
        wakes_us: the moment when the next delay ends, microseconds.
    """

    def __init__(self, clock: WorldClock, rng: Random) -> None:
        self.wakes_us = FOREVER_US
        self._clock, self._rng = clock, rng
        self._ends: list[tuple[int, int, Callable[[], None]]] = []  # a heap
        self._begun = 0

    def begin(self, end: Callable[[], None], midway: Callable[[], None] | None = None) -> None:
        """Begin a delay of up to five seconds.

        Args:
            end: called when it is over.
            midway: called at some moment before, if at all.
        """
        lasts_us = self._rng.choice((self._rng.randint(0, LATE_MOST_US), LATE_MOST_US))
        if midway is not None:
            self._call_in(self._rng.randint(0, lasts_us), midway)
        self._call_in(lasts_us, end)

    def _call_in(self, wait_us: int, call: Callable[[], None]) -> None:
        self._begun += 1
        heappush(self._ends, (self._clock.now_us + wait_us, self._begun, call))
        self.wakes_us = self._ends[0][0]

    def pass_by(self) -> None:
        """End the delays whose time has come."""
        ends = self._ends
        while ends and ends[0][0] <= self._clock.now_us:
            heappop(ends)[2]()
        self.wakes_us = ends[0][0] if ends else FOREVER_US
