"""A relay to a server on this machine, whose connections can be cut, or go silent for ever."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final, TypeVar

from anyio.from_thread import start_blocking_portal

from tests.support.brokers.listeners import stop_listening

_LOOPBACK: Final = "127.0.0.1"


class Relay:
    """Carries what comes, both ways.

    Args:
        server: its port.
    """

    def __init__(self, server: int) -> None:
        self.port = 0
        self.shut = False
        """What is open stays open and carries nothing ever more, and nobody is told of anything."""
        self._server = server
        self._lines: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        """Cut every line that stands."""
        for line in tuple(self._lines):
            line.cancel()

    async def ended(self) -> None:
        """Cut every line, and wait until they are gone."""
        if lines := tuple(self._lines):
            self.cut()
            await asyncio.wait(lines)

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client's line, until both ends have hung up."""
        line = asyncio.current_task()
        assert line is not None
        self._lines.add(line)
        ends = [writer]
        try:
            await self._unless_shut()
            back, onward = await self.connect()
            ends.append(onward)
            async with asyncio.TaskGroup() as both:
                both.create_task(self.one_way("up", reader, onward, writer))
                both.create_task(self.one_way("down", back, writer, onward))
        except (ExceptionGroup, OSError, asyncio.CancelledError):
            for end in ends:  # an end has hung up, the server is away, or the line was cut
                end.transport.abort()
        finally:
            self._lines.discard(line)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The line's other half, to the server."""
        return await asyncio.open_connection(_LOOPBACK, self._server)

    async def one_way(
        self,
        way: str,  # noqa: ARG002 - of those who do more than carry
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        sender: asyncio.StreamWriter,  # noqa: ARG002 - the same
    ) -> None:
        """Carry one direction, until its source has hung up.

        Args:
            way: `up` to the server or `down` from it.
            source: whence it comes.
            target: where it goes.
            sender: the way back to the source.
        """
        while data := await source.read(65_536):
            await self._unless_shut()
            target.write(data)
            await target.drain()
        await self._unless_shut()
        target.close()

    async def _unless_shut(self) -> None:
        """Go on, or never: what was under way when it was shut stays lost when it is open again."""
        if self.shut:
            await asyncio.get_running_loop().create_future()


_R = TypeVar("_R", bound=Relay)


@asynccontextmanager
async def relayed(relay: _R) -> AsyncIterator[_R]:
    """A relay that stands when the block begins."""
    server = await asyncio.start_server(relay.carry, _LOOPBACK, 0)
    relay.port = server.sockets[0].getsockname()[1]
    try:
        yield relay
    finally:
        await stop_listening(server)
        await relay.ended()
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await server.wait_closed()


@contextmanager
def relay_to(port: int) -> Iterator[Relay]:
    """A relay to a server, in a thread of its own."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(relayed(Relay(port))) as road,
    ):
        yield road
