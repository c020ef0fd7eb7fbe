"""Helpers for long-running tasks: back-off after faults, and cancellation."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

__all__ = ["TaskBackoff", "end_tasks"]

_AGAIN_S: Final = 0.5
_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 5.0


class TaskBackoff:
    """An exponential back-off, from 0.2 to 5 seconds."""

    def __init__(self) -> None:
        self._s = _FIRST_PAUSE_S

    def well(self) -> None:
        """Reset after a success: the next pause is short again."""
        self._s = _FIRST_PAUSE_S

    def next_s(self) -> float:
        """Return the next pause in seconds, and double the one after it."""
        now, self._s = self._s, min(self._s * 2, _LONGEST_PAUSE_S)
        return now

    async def wait(self, stop: asyncio.Event) -> None:
        """Pause, but no longer than until `stop` is set."""
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), self.next_s())


async def end_tasks(tasks: Iterable["asyncio.Task[Any]"]) -> None:
    """Cancel tasks until each has ended; the caller checks how each ended.

    Before Python 3.12 `asyncio.wait_for` loses a cancellation that arrives together with the
    awaited answer, so one `cancel` may not be enough.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=_AGAIN_S)
