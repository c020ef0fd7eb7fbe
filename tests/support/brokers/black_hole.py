"""A road to a server that can vanish: what is open stays open and carries nothing ever more."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.brokers.listeners import stop_listening
from tests.support.machine.waiting import PATIENCE_SECONDS

__all__ = ["Road", "road_to"]


class Road:
    """Forwards to a port on this machine until it is shut.

    Args:
        port: of the server.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self.shut = False
        self.port = 0

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: both directions, for as long as the road is open."""
        ends = [writer]
        try:
            if self.shut:
                await self._nothing_any_more()
            there, back = await asyncio.open_connection("127.0.0.1", self._port)
            ends.append(back)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._carry(reader, back))
                group.create_task(self._carry(there, writer))
        finally:
            for each in ends:
                each.close()
            await asyncio.gather(*(each.wait_closed() for each in ends), return_exceptions=True)

    async def _carry(self, source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65_536):
                if self.shut:
                    await self._nothing_any_more()
                to.write(data)
                await to.drain()
        except ConnectionError:
            pass
        if self.shut:
            await self._nothing_any_more()  # not even that somebody has hung up
        to.close()

    async def _nothing_any_more(self) -> None:
        """What was under way when the road was shut stays lost when it is open again."""
        await asyncio.get_running_loop().create_future()


@contextmanager
def road_to(port: int) -> Iterator[Road]:
    """The road, in a thread of its own.

    Args:
        port: of the server.
    """
    loop, up, road = asyncio.new_event_loop(), threading.Event(), Road(port)
    stop = asyncio.Event()

    async def serve() -> None:
        taken: set[asyncio.Task[None]] = set()

        def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            taken.add(asyncio.ensure_future(road.take(reader, writer)))

        server = await asyncio.start_server(take, "127.0.0.1", 0)
        road.port = server.sockets[0].getsockname()[1]
        up.set()
        await stop.wait()
        await stop_listening(server)
        for task in taken:
            task.cancel()
        await asyncio.gather(*taken, return_exceptions=True)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), name="road")
    thread.start()
    try:
        assert up.wait(PATIENCE_SECONDS)
        yield road
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
