"""Effects from cursors over the log: what is stored is published, in order, at least once.

A publisher reads stored events behind its own cursor and moves it when the broker has taken them.
The broker is a courier: what it loses, a consumer asks for again. A replay has no publishers and
so has no effects.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Final, Protocol

from events.errors import LogUnwritable
from events.log.store import Stored
from events.types.envelope import sealed_bytes, with_hash
from events.types.shoe_life import ShoeAudited
from events.types.snapshot_anchor import BooksClosed
from events.types.table import CoupSettled, ShoeReported

__all__ = [
    "BATCH",
    "SEALED",
    "CursorPublisher",
    "LatestPublisher",
    "Publish",
    "Source",
    "is_settlement",
    "public_bytes",
]

Publish = Callable[[bytes], Awaitable[bool]]
"""Hands a message to the broker; True when it has taken it."""

# How long to wait before a message that the broker did not take is offered again, seconds.
_OFFER_AGAIN_S: Final = 0.2
# What is retained is sent again so often, seconds.
_AGAIN_S: Final = 5.0
# The latest waits so long for what changes in the same breath, seconds: one message goes out
# for all of it, behind the settlement and the events. Nobody sees the difference on a display.
_GATHER_S: Final = 0.005
# Read so many events at a time, so that a long backlog never sits in memory.
BATCH: Final = 256
# The cursor on disk is a hint, written so often; what it lags behind is published twice. Each time
# is a forced write, which in a process of many tables keeps all of them waiting: at 1 s they were
# two in five of what did.
_CURSOR_EVERY_S: Final = 5.0
# ... and in a long backlog after so many events.
_CURSOR_EVERY: Final = 256
# These hold, or let be told or guessed, faces that the table has not seen.
SEALED: Final = frozenset({ShoeReported.TYPE, ShoeAudited.TYPE, BooksClosed.TYPE})
"""Types whose contents leave the table for nobody."""


class Source(Protocol):
    """The log as a publisher needs it."""

    def read(self, start: int, limit: int | None = None) -> Iterator[Stored]:
        """Stored events from position `start` on."""
        ...

    def cursor(self, name: str) -> int:
        """Where `name` stands."""
        ...

    def move_cursor(self, name: str, position: int) -> None:
        """`name` now stands at `position`."""
        ...


def public_bytes(stored: Stored) -> bytes:
    """An event as everybody may see it: with its hash, and sealed where it holds what is secret."""
    sealed = stored.type in SEALED
    return with_hash(sealed_bytes(stored.stored) if sealed else stored.stored, stored.hash)


def is_settlement(stored: Stored) -> bool:
    """Whether the event is a settlement phase of a coup."""
    return stored.type == CoupSettled.TYPE


class CursorPublisher:
    """Publishes every stored event that `wanted` lets through, in order.

    Args:
        name: the cursor's name.
        source: the log.
        publish: hands one message to the broker.
        wanted: which events; the cursor passes over the others.
        probe: told `<name>.before` and `<name>.after` of each message.
    """

    def __init__(
        self,
        name: str,
        source: Source,
        publish: Publish,
        *,
        wanted: Callable[[Stored], bool] = lambda _: True,
        probe: Callable[[str], None],
    ) -> None:
        self._name = name
        self._source = source
        self._publish = publish
        self._wanted = wanted
        self._probe = probe
        self._kick = asyncio.Event()
        self.position = self._noted = source.cursor(name)
        self._due: float | None = None

    def kick(self) -> None:
        """There is something new in the log, or the broker is back."""
        self._kick.set()

    async def run(self) -> None:
        """Publish for ever, until cancelled."""
        try:
            while True:
                await self._drain()
                await self._rest()
        finally:
            self._note()

    async def _drain(self) -> None:
        while True:
            self._kick.clear()
            batch = list(self._source.read(self.position + 1, BATCH))
            if not batch:
                return
            for stored in batch:
                if self._wanted(stored):
                    await self._offer(public_bytes(stored))
                self.position = stored.position
                if self.position % _CURSOR_EVERY == 0:
                    self._note()

    async def _rest(self) -> None:
        """Wait for something new, and write the cursor down when there is time for it.

        Its commit is forced to the disk, and must not come between a card and its settlement.
        """
        loop = asyncio.get_running_loop()
        if self._noted != self.position:
            self._due = self._due or loop.time() + _CURSOR_EVERY_S
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._due):
                    await self._kick.wait()
                    return
            self._note()
        await self._kick.wait()

    def _note(self) -> None:
        """Write the cursor down. A disk that refuses it costs a repetition, never an event."""
        with suppress(LogUnwritable):
            self._source.move_cursor(self._name, self.position)
        self._noted, self._due = self.position, None

    async def _offer(self, message: bytes) -> None:
        self._probe(f"{self._name}.before")
        while not await self._publish(message):
            # The broker is away, or busy: its return kicks, and the time-out is for the rest.
            self._kick.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._kick.wait(), _OFFER_AGAIN_S)
        self._probe(f"{self._name}.after")


class LatestPublisher:
    """Publishes the newest of something; what was overtaken meanwhile is never sent.

    Now and then it is sent again: a broker that was killed and has come back may not hand a
    retained message to those who subscribe in the same moment (seen with nats-server).

    Args:
        render: makes the message, when it is about to be sent.
        publish: hands it to the broker.
        again_s: how often it is sent again.
    """

    def __init__(
        self, render: Callable[[], bytes], publish: Publish, *, again_s: float = _AGAIN_S
    ) -> None:
        self._again_s = again_s
        self._render = render
        self._publish = publish
        self._kick = asyncio.Event()
        self._kick.set()

    def kick(self) -> None:
        """It has changed."""
        self._kick.set()

    async def run(self) -> None:
        """Publish for ever, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._again_s):
                    await self._kick.wait()
            await asyncio.sleep(_GATHER_S)
            self._kick.clear()
            if not await self._publish(self._render()):
                self._kick.set()
                await asyncio.sleep(_OFFER_AGAIN_S)
