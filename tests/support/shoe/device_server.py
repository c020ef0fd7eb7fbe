"""A serial device server: accepts, says what the test has it say, and can vanish from the network.

Vanished is not closed. Its sockets get a kernel filter that drops every packet: calls, bytes and
questions for life find nobody, and no FIN and no RST tells the other end, as when power or network
fails beyond a switch.
"""

import asyncio
import ctypes
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from baccarat.local_brokers.nats import LOOPBACK
from tests.support.brokers.listeners import stop_listening

# linux/filter.h: a program of one instruction, BPF_RET | BPF_K with 0: of each packet keep nothing.
_DROP_ALL: Final = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
_SO_ATTACH_FILTER, _SO_DETACH_FILTER = 26, 27  # asm-generic/socket.h; `socket` does not name them


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
        self._listening: asyncio.Server | None = None
        self._standing: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}
        self._sockets: list[socket.socket] = []  # duplicates, of which the filter is shared

    @property
    def url(self) -> str:
        return f"tcp://{LOOPBACK}:{self.port}"

    @property
    def connected(self) -> bool:
        return self._writer is not None

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._writer, self._standing[writer] = writer, task
        self.clients += 1
        writer.write(self.backlog)
        self.backlog = b""
        while data := await reader.read(4096):
            self.got += data
        if self._writer is writer:
            self._writer = None
        del self._standing[writer]
        writer.close()

    def say(self, data: bytes) -> None:
        assert self._writer is not None
        self._writer.write(data)

    def listen(self, server: asyncio.Server) -> None:
        """This is what listens for it."""
        self._listening = server
        self.port = server.sockets[0].getsockname()[1]

    def vanish(self) -> None:
        """From now on nothing reaches it, and it says nothing."""
        assert self._listening is not None
        assert self._writer is not None
        for each in (*self._listening.sockets, self._writer.get_extra_info("socket")):
            mine = socket.socket(fileno=socket.dup(each.fileno()))
            program = struct.pack("@HP", 1, ctypes.addressof(_DROP_ALL))
            mine.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
            self._sockets.append(mine)

    def come_back(self) -> None:
        """It can be reached again; of old connections it thinks that they stand."""
        for mine in self._sockets:
            mine.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)
            mine.close()
        self._sockets.clear()

    async def end(self) -> None:
        """No connection stands any more, not even one that only this end knows of."""
        self.come_back()
        standing = dict(self._standing)
        for writer in standing:
            writer.transport.abort()
        await asyncio.gather(*standing.values())

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
    made.listen(server)
    try:
        yield made
    finally:
        await stop_listening(server)
        await made.end()
