"""Helpers for long-running tasks: back-off after faults, and cancellation."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from events.mqtt.backoff import Backoff

__all__ = ["TaskBackoff", "end_tasks"]

_AGAIN_S: Final = 0.5
_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 5.0


class TaskBackoff(Backoff):
    """A back-off from 0.2 to 5 seconds that ends early when the service stops."""

    def __init__(self) -> None:
        super().__init__(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)

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
