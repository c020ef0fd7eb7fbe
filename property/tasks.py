"""Ending tasks that may not hear it at once."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

__all__ = ["end_tasks"]

_AGAIN_S: Final = 0.5


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
