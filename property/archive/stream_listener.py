"""Listening to one of the hub's streams, whatever faults the hub has meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import structlog
from nats.aio.client import Client

from property.archive.stream_reader import HUB_ERRORS, StreamMessage, StreamReader

__all__ = ["listen"]

_AGAIN_S: Final = 2.0

_log: Final = structlog.get_logger()


async def listen(
    client: Client,
    begin: Callable[[], Awaitable[StreamReader]],
    take: Callable[[Sequence[StreamMessage]], Awaitable[None]],
    unheard: str,
) -> None:
    """Take what a stream has until the connection is gone; the hub's faults are waited for.

    Args:
        client: the connection, with a reader's login.
        begin: reads from the beginning; called again after each fault.
        take: given the messages in order, some of them again after a fault.
        unheard: what the journal calls a fault, once for each reason.

    Raises:
        nats.errors.Error, BusError: the connection to the hub is gone.
        Exception: what `take` raises beside the hub's faults.
    """
    said = ""
    while True:
        try:
            async with await begin() as reader:
                while True:
                    await take(await reader.next())
                    said = ""
        except HUB_ERRORS as error:
            if client.is_closed:
                raise
            if (reason := str(error) or type(error).__name__) != said:
                _log.warning(unheard, reason=reason)
                said = reason
            await asyncio.sleep(_AGAIN_S)
