"""A table made of a plain MQTT client, for the tests of those who talk to one.

It knows nothing of the game: it answers requests as the test says, and publishes what it is given.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import aiomqtt

from events.mqtt.topics import Topics
from tests.support.machine.waiting import until

HOST: Final = "127.0.0.1"
TOPICS: Final = Topics("site", "t1")

Asked = Callable[[str, str, bytes], Awaitable[dict[str, Any] | bytes | None]]
"""(user, command, body) to the answer; None is silence."""


class SmallTable:
    """The table's place on the bus. `client` is None while the broker is away."""

    def __init__(self, port: int, asked: Asked) -> None:
        self.client: aiomqtt.Client | None = None
        self._port = port
        self._asked = asked

    async def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        assert self.client is not None
        await self.client.publish(topic, payload, qos=1, retain=retain)

    async def serve(self) -> None:
        while True:
            try:
                async with aiomqtt.Client(HOST, self._port, identifier="table") as client:
                    await client.subscribe(TOPICS.requests, qos=1)
                    self.client = client
                    async for message in client.messages:
                        await self._answer(message)
            except aiomqtt.MqttError:
                self.client = None
                await asyncio.sleep(0.02)

    async def _answer(self, message: aiomqtt.Message) -> None:
        parsed = TOPICS.parse_request(str(message.topic))
        assert parsed is not None
        assert isinstance(message.payload, bytes)
        said = await self._asked(*parsed, message.payload)
        if said is not None:
            raw = said if isinstance(said, bytes) else json.dumps(said).encode()
            await self.publish(TOPICS.response(parsed[0]), raw)


@asynccontextmanager
async def small_table(port: int, asked: Asked) -> AsyncIterator[SmallTable]:
    """A table that listens when the block begins."""
    table = SmallTable(port, asked)
    serving = asyncio.create_task(table.serve())
    try:
        await until(lambda: table.client is not None, "the table listens")
        yield table
    finally:
        # aiomqtt uses `wait_for`, which in 3.11 can swallow a cancellation: repeat it.
        while not serving.done():
            serving.cancel()
            await asyncio.wait({serving}, timeout=0.1)
        if not serving.cancelled():
            serving.result()
