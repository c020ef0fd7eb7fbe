"""Stored events sent again to whoever asks: one replay a user, the newest request wins."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, Final

import structlog

from events.errors import LogRefused
from events.log.store import Stored
from table_core.service.publishers import BATCH, public_bytes

__all__ = ["MAX_REPLAYS", "Replays", "Spawn"]

# More consumers than a table has; beyond it a request is refused.
MAX_REPLAYS: Final = 32

# On their way to the broker together: enough that its round trip is not the pace of a consumer that
# has a day to catch up with, and few beside what the table itself says meanwhile.
_IN_FLIGHT: Final = 16

_log: Final = structlog.get_logger()

Spawn = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]
"""Makes a task; `TaskGroup.create_task` is one."""


class Replays:
    """Runs the replays that users asked for.

    Args:
        read: stored events from a position on, so many at the most.
        publish: (user, message) to the broker; False when it was not taken.
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
        """Send `user` the events from `first` to `last`; False when too many are at it.

        Args:
            user: who asked, and will be sent them.
            first: the first position to send.
            last: the last: where the log stood at the answer; what comes later comes live.
            spawn: makes the task in the service's own group, so that its failure is the service's.
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
        """End them all; whoever misses something asks again."""
        for task in tuple(self._running.values()):
            task.cancel()

    async def _send(self, user: str, first: int, last: int) -> None:
        while first <= last:
            try:
                batch = list(self._read(first, min(BATCH, last - first + 1)))
            except LogRefused as error:  # a closed file: the table itself does not need it
                _log.error("replay.refused", user=user, reason=str(error))
                return
            for begin in range(0, len(batch), _IN_FLIGHT):
                some = batch[begin : begin + _IN_FLIGHT]
                # Each is written to the socket as its turn comes: in order.
                taken = await asyncio.gather(
                    *(self._publish(user, public_bytes(stored)) for stored in some)
                )
                if not all(taken):
                    return  # the broker is gone; the consumer asks again when it is back
            first += BATCH

    def _forget(self, user: str, done: "asyncio.Task[None]") -> None:
        if self._running.get(user) is done:
            del self._running[user]
