"""A broker that speaks just enough MQTT 3.1.1 to misbehave on purpose."""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from baccarat.local_brokers.nats import LOOPBACK
from tests.support.brokers.listeners import stop_listening
from tests.support.brokers.mqtt_packets import body_of, read_packet

CONNACK = bytes.fromhex("20020000")


class Line:
    """One client's connection, packet by packet."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> tuple[int, bytes]:
        """The type of the next packet and what follows its length."""
        packet = await read_packet(self._reader)
        return packet[0] & 0xF0, body_of(packet)

    async def expect(self, kind: int) -> bytes:
        """The next packet, which is of that kind."""
        found, body = await self.read()
        assert found == kind, f"expected packet {kind:#x}, got {found:#x}"
        return body

    async def written(self) -> bytes:
        """What the client's next write brings."""
        return await self._reader.read(65_536)

    def write(self, packet: bytes) -> None:
        self._writer.write(packet)

    def suback(self, subscribe: bytes, *codes: int) -> None:
        """Answer a SUBSCRIBE packet."""
        self.write(bytes([0x90, 2 + len(codes)]) + subscribe[:2] + bytes(codes))

    def publish(self, topic: bytes, payload: bytes, mid: int) -> None:
        """Send a message with quality of service 1; both parts are short."""
        body = struct.pack("!H", len(topic)) + topic + struct.pack("!H", mid) + payload
        self.write(bytes([0x32, len(body)]) + body)


Script = Callable[[Line], Awaitable[None]]


@asynccontextmanager
async def rude_broker(script: Script) -> AsyncIterator[int]:
    """Its port. The script is played to each client, who is then hung up on."""

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await script(Line(reader, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has hung up first
        finally:
            writer.close()

    server = await asyncio.start_server(play, LOOPBACK, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        await stop_listening(server)
