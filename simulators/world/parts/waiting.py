"""People who wait: coroutines that the world resumes, without an event loop and without real time.

A person awaits `Waiting.until`. Between any two steps the world checks whether the condition holds
or the wait has timed out.
"""

from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, Final, NamedTuple

from simulators.world.parts.clock import WorldClock

__all__ = ["FOREVER_US", "SimulatedPerson", "Waiting"]

FOREVER_US: Final = 1 << 62
"""No limit."""


class _Wait(NamedTuple):
    holds: Callable[[], bool]
    limit_us: int


class Waiting:
    """Lets people wait in the world's time.

    Args:
        clock: the world's.
    """

    def __init__(self, clock: WorldClock) -> None:
        self._clock = clock

    async def until(self, holds: Callable[[], bool], patience_us: int | None = None) -> bool:
        """Wait until `holds`; return False when the patience is over first."""
        limit = FOREVER_US if patience_us is None else self._clock.now_us + patience_us
        return holds() or await _wait(holds, limit)

    async def pause(self, microseconds: int) -> None:
        """Wait at least so many microseconds."""
        await _wait(_never, self._clock.now_us + microseconds)


def _never() -> bool:
    return False


@coroutine
def _wait(holds: Callable[[], bool], limit_us: int) -> Generator[_Wait, bool, bool]:
    return (yield _Wait(holds, limit_us))


class SimulatedPerson:
    """A person's coroutine, and the condition that it waits for.

    Args:
        clock: the world's.
        life: everything that the person does.

    Attributes:
        over: the coroutine has ended.
    """

    def __init__(self, clock: WorldClock, life: Coroutine[Any, Any, None]) -> None:
        self._clock = clock
        self._life = life
        self.over = False
        self._wait: _Wait = _Wait(lambda: True, 0)
        self._begun = False

    @property
    def wakes_us(self) -> int:
        """The moment when the person's patience is over, microseconds."""
        return FOREVER_US if self.over else self._wait.limit_us

    def work(self) -> bool:
        """Resume the person up to the next wait, if this one is over."""
        wait = self._wait
        if self.over or not ((came := wait.holds()) or self._clock.now_us >= wait.limit_us):
            return False
        try:
            self._wait = self._life.send(came if self._begun else None)
        except StopIteration:
            self.over = True
        self._begun = True
        return True

    def leave(self) -> None:
        """End the coroutine, whatever it waits for."""
        self._life.close()
