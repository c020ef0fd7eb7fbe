"""Sends stored events again on request: one replay a user, and the newest request wins."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, Final

import structlog

from events.errors import LogRefused
from events.types.stored import Stored
from table_core.service.publishers import BATCH, public_bytes

__all__ = ["MAX_REPLAYS", "Replays", "Spawn"]

# More than a table has consumers; further requests are refused.
MAX_REPLAYS: Final = 32

# Messages in flight to the broker: enough that its round trip does not slow a consumer that has a
# day to catch up with, and few next to the table's own messages.
_IN_FLIGHT: Final = 16

_log: Final = structlog.get_logger()

Spawn = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]
"""Makes a task; `TaskGroup.create_task` is one."""


class Replays:
    """Runs the replays that users requested.

    Args:
        read: stored events from a position on, at most so many.
        publish: (user, message) to the broker; False when it did not accept it.
    """

    def __init__(
        self,
        read: Callable[[int, int], Iterator[Stored]],
        publish: Callable[[str, bytes], Awaitable[bool]],
    ) -> None:
        self._read = read
        self._publish = publish
        self._running: dict[str, asyncio.Task[None]] = {}

    def start(self, user: str, first: int, last: int, spawn: Spawn) -> bool:
        """Send `user` the events from `first` to `last`; False when too many replays are running.

        Args:
            user: the user who asked and receives them.
            first: the first position to send.
            last: the last position, the newest at the answer; later events are published live.
            spawn: makes the task in the service's own group, so its failure ends the service.
        """
        older = self._running.pop(user, None)
        if older is not None:
            older.cancel()
        if len(self._running) >= MAX_REPLAYS:
            return False
        task = spawn(self._send(user, first, last))
        self._running[user] = task
        task.add_done_callback(lambda done: self._forget(user, done))
        return True

    def stop(self) -> None:
        """Cancel all replays; a user who misses events asks again."""
        for task in tuple(self._running.values()):
            task.cancel()

    async def _send(self, user: str, first: int, last: int) -> None:
        while first <= last:
            try:
                batch = list(self._read(first, min(BATCH, last - first + 1)))
            except LogRefused as error:  # a closed segment: the table itself does not need it
                _log.error("replay.refused", user=user, reason=str(error))
                return
            for begin in range(0, len(batch), _IN_FLIGHT):
                some = batch[begin : begin + _IN_FLIGHT]
                # Each is written to the socket in turn, so they arrive in order.
                taken = await asyncio.gather(
                    *(self._publish(user, public_bytes(stored)) for stored in some)
                )
                if not all(taken):
                    return  # the broker is gone; the consumer asks again when it is back
            first += BATCH

    def _forget(self, user: str, done: "asyncio.Task[None]") -> None:
        if self._running.get(user) is done:
            del self._running[user]
