"""A bus in a test: it runs in the background, and what it received can be looked at."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

from baccarat.local_brokers.nats import LOOPBACK
from events.mqtt.bus import Bus, BusSettings, Handler
from events.mqtt.messages import Message, Publication
from tests.support.machine.waiting import until

ROOT = "bac/v1/harbour/b7"
EVENT = f"{ROOT}/shoe/event"
STATE = f"{ROOT}/state"
STATUS = f"{ROOT}/status/shoe"

SEED = 20261127  # of the reconnect pauses


class Peer:
    """One client with its own record of what happened to it."""

    def __init__(
        self,
        port: int,
        name: str,
        *filters: str,
        will: Publication | None = None,
        on_connect: Callable[["Peer"], Awaitable[None]] | None = None,
        handler: Handler | None = None,
        login: tuple[str, str] | None = None,
    ) -> None:
        self.got: list[Message] = []
        self.connects = 0
        self.disconnects = 0
        self._greet = on_connect
        username, password = login or (None, None)
        self.bus = Bus(
            BusSettings(LOOPBACK, port, name, username, password),
            subscriptions=dict.fromkeys(filters, handler or self._record),
            will=will,
            on_connect=self._connected,
            on_disconnect=self._disconnected,
            rng=random.Random(SEED),
        )

    @property
    def payloads(self) -> list[bytes]:
        return [message.payload for message in self.got]

    def has_connected(self, before: int = 0) -> bool:
        return self.connects > before

    async def _record(self, message: Message) -> None:
        self.got.append(message)

    async def _connected(self) -> None:
        if self._greet is not None:
            await self._greet(self)
        self.connects += 1

    def _disconnected(self) -> None:
        assert not self.bus.connected
        self.disconnects += 1


@asynccontextmanager
async def at_work(*peers: Peer) -> AsyncIterator[None]:
    """The peers are connected in the order given, and gone at the end."""
    tasks = []
    try:
        for peer in peers:
            again = partial(peer.has_connected, peer.connects)
            tasks.append(asyncio.create_task(peer.bus.run()))
            await until(again, "a peer connects")
        yield
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def reader_and_writer(
    port: int, topic: str = EVENT, handler: Handler | None = None
) -> AsyncIterator[tuple[Peer, Peer]]:
    """One that hears a topic, and one that says what it likes."""
    reader, writer = Peer(port, "core", topic, handler=handler), Peer(port, "driver")
    async with at_work(reader, writer):
        yield reader, writer
