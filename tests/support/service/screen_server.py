"""The screens' server on a real socket in the test's own loop, and a state for it to show."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import msgspec

from displays.live import LiveState
from displays.service import DisplayService, DisplaySettings
from events.clock import Clock, SystemClock
from events.mqtt.bus import BusSettings
from events.mqtt.topics import Topics
from table_core.roads.columns import project_roads, read_results
from tests.support.machine.ports import free_port
from tests.support.machine.tasks import loop_apart
from tests.support.machine.waiting import PATIENCE_SECONDS, until

Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]
"""A browser's end of a connection."""


def shown(results: str, position: int, **more: Any) -> bytes:
    """A `state` document after a shoe with these results.

    Args:
        results: a letter a coup.
        position: of the log.
        more: further fields.
    """
    roads = msgspec.to_builtins(project_roads(read_results(results)))
    shoe = {"id": "20261128-01", "decks": 8, "coups": len(results), "cards": 5 * len(results)}
    document = {
        "position": position,
        "table": "t1",
        "rulebook": {"id": "au-commission", "currency": "AUD"},
        "shoe": {**shoe, "roads": roads},
    }
    return msgspec.json.encode(document | more)


@asynccontextmanager
async def serving(*, clock: Clock | None = None, **settings: Any) -> AsyncIterator[DisplayService]:
    """The service, with no broker: what it shows is told to its `live`.

    Args:
        clock: its own; the machine's unless said.
        settings: of `DisplaySettings`.
    """
    bus = BusSettings(host="127.0.0.1", port=free_port(), client_id="screens")
    started = DisplayService(
        DisplaySettings(**settings), Topics("site", "t1"), bus, clock or SystemClock(), session=1
    )
    stop = asyncio.Event()
    running = asyncio.ensure_future(started.run(stop))
    try:
        await until(lambda: running.done() or _listens(started), "the server listens")
        yield started
    finally:
        stop.set()
        await running


def _listens(started: DisplayService) -> bool:
    host, port = address_of(started)
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


def address_of(started: DisplayService) -> tuple[str, int]:
    """Host and port."""
    host, _, port = started.address.partition("//")[2].rstrip("/").partition(":")
    return host, int(port)


async def open_line(started: DisplayService, head: str = "", **options: Any) -> Line:
    """A connection on which this much was said.

    Args:
        started: the service.
        head: lines of a request, without the empty one at their end.
        options: of `asyncio.open_connection`.
    """
    reader, writer = await asyncio.open_connection(*address_of(started), **options)
    writer.write(head.replace("\n", "\r\n").encode())
    await writer.drain()
    return reader, writer


class Served:
    """The service in a thread of its own, for a browser that the test drives.

    Args:
        started: the service.
        loop: of its thread.
    """

    def __init__(self, started: DisplayService, loop: asyncio.AbstractEventLoop) -> None:
        self.address = started.address.rstrip("/")
        self._live = started.live
        self._loop = loop

    def tell(self, document: bytes) -> None:
        """The table says a state."""
        self._loop.call_soon_threadsafe(lambda: self._live.on_state(document, retain=False))

    def do(self, act: Callable[[LiveState], object]) -> None:
        """Do something to what is shown, in its own thread."""
        self._loop.call_soon_threadsafe(lambda: act(self._live))


@contextmanager
def served(**settings: Any) -> Iterator[Served]:
    """The service, with no broker, in a thread.

    Args:
        settings: as `serving` takes them.
    """
    ready: Future[Served] = Future()

    async def serve(stop: asyncio.Event) -> None:
        async with serving(**settings) as started:
            ready.set_result(Served(started, asyncio.get_running_loop()))
            await stop.wait()

    with loop_apart(serve):
        yield ready.result(PATIENCE_SECONDS)
