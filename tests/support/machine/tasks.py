"""Work that goes on beside a test, and is over when its block ends."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

__all__ = ["background", "loop_apart", "serving"]

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


@contextmanager
def loop_apart(
    work: Callable[[asyncio.Event], _Work],
) -> Iterator[asyncio.AbstractEventLoop]:
    """It runs in a loop and a thread of its own until the block ends; what it raises, this does."""
    loop, stop, failed = asyncio.new_event_loop(), asyncio.Event(), list[BaseException]()

    def run() -> None:
        try:
            loop.run_until_complete(work(stop))
        except BaseException as error:  # noqa: BLE001 - told by the test's own thread
            failed.append(error)

    thread = threading.Thread(target=run, name="apart")
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
    if failed:
        raise failed[0]
