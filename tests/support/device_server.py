"""A serial device server: accepts, and says what the test has it say."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from baccarat.broker import LOOPBACK

__all__ = ["DeviceServer", "serving"]


class DeviceServer:
    """One port; the newest client is heard.

    Attributes:
        backlog: what was buffered while nobody was connected: sent at once to who comes next.
        got: what clients have sent.
        clients: how often one has connected.
    """

    def __init__(self) -> None:
        self.backlog = b""
        self.got = b""
        self.clients = 0
        self.port = 0
        self._writer: asyncio.StreamWriter | None = None

    @property
    def url(self) -> str:
        return f"tcp://{LOOPBACK}:{self.port}"

    @property
    def connected(self) -> bool:
        return self._writer is not None

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.clients += 1
        writer.write(self.backlog)
        self.backlog = b""
        while data := await reader.read(4096):
            self.got += data
        if self._writer is writer:
            self._writer = None
        writer.close()

    def say(self, data: bytes) -> None:
        assert self._writer is not None
        self._writer.write(data)

    def hang_up(self) -> None:
        """Close the connection, and go on listening."""
        assert self._writer is not None
        self._writer.close()
        self._writer = None


@asynccontextmanager
async def serving(port: int = 0) -> AsyncIterator[DeviceServer]:
    """A device server at work; `port` where it must be the one of before."""
    made = DeviceServer()
    server = await asyncio.start_server(made.accept, LOOPBACK, port)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        if made.connected:
            made.hang_up()
