"""Tasks that go on for ever: how long one pauses behind a fault, and how it ends."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

__all__ = ["Pause", "end_tasks"]

_AGAIN_S: Final = 0.5
_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 5.0


class Pause:
    """A pause that grows as long as nothing goes well."""

    def __init__(self) -> None:
        self._s = _FIRST_PAUSE_S

    def well(self) -> None:
        """Something went well: the next pause is short again."""
        self._s = _FIRST_PAUSE_S

    def next_s(self) -> float:
        """How long to pause this time, in seconds."""
        now, self._s = self._s, min(self._s * 2, _LONGEST_PAUSE_S)
        return now

    async def wait(self, stop: asyncio.Event) -> None:
        """Pause, or until `stop` is set."""
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), self.next_s())


async def end_tasks(tasks: Iterable["asyncio.Task[Any]"]) -> None:
    """Cancel until each has ended; how it ended is the caller's to ask.

    A task that waits for an answer with a time-out, and is cancelled in the turn in which the
    answer comes, goes on as if nothing had been said (`asyncio.wait_for` before Python 3.12).
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=_AGAIN_S)
