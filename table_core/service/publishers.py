"""Publishers with cursors over the log: stored events are published in order, at least once.

A publisher reads stored events after its own cursor, and moves the cursor when the broker has
accepted them. The broker only delivers: a consumer asks again for a message that the broker lost. A
replayed log has no publishers, and so has no effects.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Final, Protocol

from events.errors import LogUnwritable
from events.types.envelope import sealed_bytes, with_hash
from events.types.shoe_life import ShoeAudited
from events.types.snapshot_anchor import BooksClosed
from events.types.stored import Stored
from events.types.table import CoupSettled, ShoeReported

__all__ = [
    "BATCH",
    "SEALED",
    "CursorPublisher",
    "LatestPublisher",
    "Publish",
    "PublishedLog",
    "is_settlement",
    "public_bytes",
]

Publish = Callable[[bytes], Awaitable[bool]]
"""Sends a message to the broker; True when the broker has accepted it."""

# Seconds until a message that the broker did not accept is sent again.
_OFFER_AGAIN_S: Final = 0.2
# Seconds between two sends of the same retained message.
_AGAIN_S: Final = 5.0
# Seconds that the latest state waits for further changes: one message goes out for all of them,
# after the settlement and the events. Nobody sees the difference on a display.
_GATHER_S: Final = 0.005
# Events read at a time, so that a long backlog never fills the memory.
BATCH: Final = 256
# Seconds between two writes of the cursor. After a restart, events after the stored cursor are
# published twice. Each write is forced to the disk, and in a process of many tables all of them
# wait for it: at 1 s they were two in five of all such waits.
_CURSOR_EVERY_S: Final = 5.0
# ... and, in a long backlog, the number of events between two writes.
_CURSOR_EVERY: Final = 256
# These contain, or allow someone to guess, faces that the table has not seen.
SEALED: Final = frozenset({ShoeReported.TYPE, ShoeAudited.TYPE, BooksClosed.TYPE})
"""Event types whose contents the table publishes to nobody."""


class PublishedLog(Protocol):
    """The part of the log that a publisher needs."""

    def read(self, start: int, limit: int | None = None) -> Iterator[Stored]:
        """Return stored events from position `start` on."""
        ...

    def cursor(self, name: str) -> int:
        """Return the position of the cursor `name`."""
        ...

    def move_cursor(self, name: str, position: int) -> None:
        """Move the cursor `name` to `position`."""
        ...


def public_bytes(stored: Stored) -> bytes:
    """Return an event as published: with its hash, and sealed where its contents are secret."""
    sealed = stored.type in SEALED
    return with_hash(sealed_bytes(stored.stored) if sealed else stored.stored, stored.hash)


def is_settlement(stored: Stored) -> bool:
    """Return whether the event is a settlement phase of a coup."""
    return stored.type == CoupSettled.TYPE


class CursorPublisher:
    """Publishes every stored event that `wanted` accepts, in order.

    Args:
        name: the cursor's name.
        source: the log.
        publish: sends one message to the broker.
        wanted: selects events; the cursor passes over the others.
        probe: called with `<name>.before` and `<name>.after` of each message.
    """

    def __init__(
        self,
        name: str,
        source: PublishedLog,
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
        """Look soon: the log has new events, or the broker is back."""
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
        """Wait for new events, and store the cursor while idle.

        The commit is forced to the disk, and must not come between a card and its settlement.
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
        """Store the cursor. If the disk refuses, events are published again, but never lost."""
        with suppress(LogUnwritable):
            self._source.move_cursor(self._name, self.position)
        self._noted, self._due = self.position, None

    async def _offer(self, message: bytes) -> None:
        self._probe(f"{self._name}.before")
        while not await self._publish(message):
            # The broker is away, or busy: its return kicks, and the time-out covers all else.
            self._kick.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._kick.wait(), _OFFER_AGAIN_S)
        self._probe(f"{self._name}.after")


class LatestPublisher:
    """Publishes the newest version of a document; overtaken versions are never sent.

    It sends the newest version again from time to time: a broker that restarted may not deliver a
    retained message to those who subscribe at that moment (seen with nats-server).

    Args:
        render: makes the message just before it is sent.
        publish: sends it to the broker.
        again_s: seconds until it is sent again.
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
        """Note that the document has changed."""
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
