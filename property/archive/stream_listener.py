"""Reads one of the hub's streams for ever, and waits for the hub's faults to pass."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from nats.aio.client import Client

from events.structured_log import structlog
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
    """Take a stream's messages until the connection is lost; wait after each fault of the hub.

    Args:
        client: the connection, with a reader's login.
        begin: makes a reader at the stream's beginning; called again after each fault.
        take: called with the messages in order, some of them again after a fault.
        unheard: the name under which a fault is logged, once for each reason.

    Raises:
        nats.errors.Error, BusError: the connection to the hub is lost.
        Exception: `take` raised it, and it is no fault of the hub.
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
