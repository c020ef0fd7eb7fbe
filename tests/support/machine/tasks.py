"""Work that goes on beside a test, and is over when its block ends."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

__all__ = ["background", "serving"]

_Work = Coroutine[Any, Any, object]


@asynccontextmanager
async def background(*work: _Work) -> AsyncIterator[list[asyncio.Task[object]]]:
    """These run while the block does, and are cancelled at its end."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def serving(
    service: Callable[[asyncio.Event], _Work],
) -> AsyncIterator[asyncio.Task[object]]:
    """The service runs while the block does; at its end it is told to stop, and waited for."""
    stop = asyncio.Event()
    task = asyncio.create_task(service(stop))
    try:
        yield task
    finally:
        stop.set()
        await task
