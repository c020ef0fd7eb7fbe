"""People who wait: coroutines that the world resumes, without an event loop and without time.

A person awaits `Waiting.until`; the world looks, between any two things that happen, whether what
is waited for has come or its time is over.
"""

from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, Final, NamedTuple

from simulators.world.parts.clock import WorldClock

__all__ = ["FOREVER_US", "Person", "Waiting"]

FOREVER_US: Final = 1 << 62
"""No limit."""


class _Wait(NamedTuple):
    holds: Callable[[], bool]
    limit_us: int


class Waiting:
    """How people wait in a world.

    Args:
        clock: the world's.
    """

    def __init__(self, clock: WorldClock) -> None:
        self._clock = clock

    async def until(self, holds: Callable[[], bool], patience_us: int | None = None) -> bool:
        """Wait until `holds`; False when the patience is over first."""
        limit = FOREVER_US if patience_us is None else self._clock.now_us + patience_us
        return holds() or await _wait(holds, limit)

    async def pause(self, microseconds: int) -> None:
        """Let so much time pass, at least."""
        await _wait(_never, self._clock.now_us + microseconds)


def _never() -> bool:
    return False


@coroutine
def _wait(holds: Callable[[], bool], limit_us: int) -> Generator[_Wait, bool, bool]:
    return (yield _Wait(holds, limit_us))


class Person:
    """Somebody at the table, and what they wait for.

    Args:
        clock: the world's.
        life: all that they do.

    Attributes:
        over: they are done.
    """

    def __init__(self, clock: WorldClock, life: Coroutine[Any, Any, None]) -> None:
        self._clock = clock
        self._life = life
        self.over = False
        self._wait: _Wait = _Wait(lambda: True, 0)
        self._begun = False

    @property
    def wakes_us(self) -> int:
        """When their patience is over."""
        return self._wait.limit_us

    @property
    def busy(self) -> bool:
        """Whether they would go on now."""
        wait = self._wait
        return not self.over and (self._clock.now_us >= wait.limit_us or wait.holds())

    def work(self) -> None:
        """Go on to the next thing that has to be waited for."""
        came = self._wait.holds() if self._begun else None
        self._begun = True
        try:
            self._wait = self._life.send(came)
        except StopIteration:
            self.over = True

    def leave(self) -> None:
        """The world is over, whatever they were waiting for."""
        self._life.close()
