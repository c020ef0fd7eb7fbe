"""What holds things back, now and then: a relay, a line, a disk. Nothing is lost.

The order stays, but that messages of one subscription may overtake those of another.

Tests wait for a condition and not for a time. Whether they wait for the right one shows only where
one connection is slower than another, which on a quiet machine it never is.
"""

import asyncio
import os
import random
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from types import ModuleType
from typing import Any, Final

from tests.support.brokers.relay import Relay
from tests.tools.late.packets import Subscriptions

SEED: Final = "LATE_SEED"
# Of what goes over a connection or a line, or to the disk, and for how many seconds. The people at
# a simulated table wait until it is quiet for 0.6 s, and take what is later for lost.
_SHARE: Final = float(os.environ.get("LATE_SHARE", "0.02"))
_SECONDS: Final = (0.1, float(os.environ.get("LATE_MOST", "0.5")))
_USUAL_S: Final = 0.004  # what a relay takes when it is not late, at most
_STEP_S: Final = 1e-5  # between two pieces that must not overtake one another
_PIECE: Final = 65_536

_rng: Final = random.Random(f"{os.environ.get(SEED)} {os.getpid()}")


def _late() -> float:
    """Seconds to hold back what comes next; mostly none."""
    return _rng.uniform(*_SECONDS) if _rng.random() < _SHARE else 0.0


class _LateRelay(Relay):
    """Holds pieces back; what one subscription brings may overtake what another does.

    Args:
        broker: a connection to it.
        asked: splits what comes into pieces, each with what it must not overtake its like of.
    """

    def __init__(self, broker: socket.socket, asked: Subscriptions) -> None:
        super().__init__(broker.getpeername()[1])
        self._broker = broker
        self._read = {"up": asked.up, "down": asked.down}

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(sock=self._broker)

    async def one_way(
        self,
        way: str,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        sender: asyncio.StreamWriter,  # noqa: ARG002 - of a relay that answers by itself
    ) -> None:
        loop = asyncio.get_running_loop()
        last: dict[object, float] = {}
        while came := await source.read(_PIECE):
            late = _late()
            usual = loop.time() + _rng.uniform(0, _USUAL_S)
            for kind, piece in self._read[way](came):
                due = last[kind] = max(last.get(kind, 0.0) + _STEP_S, usual + late)
                loop.call_at(due, target.write, piece)
                late = 0.0  # the first of what came, and its like: others may overtake it
            await target.drain()
        await asyncio.sleep(max(last.values(), default=0.0) + _STEP_S - loop.time())
        target.close()


_lines: Final[set[Future[None]]] = set()  # which a loop alone would let go


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The loop of this process's relays, in a thread that ends with it."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


def _relayed(broker: socket.socket, asked: Subscriptions) -> socket.socket:
    """A connection to the same broker, by way of a relay."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    for each in (broker, near, far):
        each.settimeout(None)
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def carry() -> None:
        await _LateRelay(broker, asked).carry(*await asyncio.open_connection(sock=far))

    line = asyncio.run_coroutine_threadsafe(carry(), _loop())
    _lines.add(line)
    line.add_done_callback(_lines.discard)
    return near


def _late_connections(module: ModuleType) -> None:
    connect: Callable[[Any], socket.socket] = module.Client._create_socket_connection
    module.Client._create_socket_connection = lambda client: _relayed(
        connect(client), Subscriptions(module.topic_matches_sub)
    )


def _late_line(module: ModuleType) -> None:
    resume: Callable[[Any], None] = module.PortReader._resume
    on_time = 0.0  # until then: a report that comes a byte at a time is not late with each of them

    def later(inflow: Any) -> None:
        nonlocal on_time
        now = time.monotonic()
        if not inflow._reading and now > on_time and (late := _late()):
            on_time = now + 2 * late
            inflow._loop.call_later(late, _unless_closed(resume), inflow)
        else:
            resume(inflow)

    close: Callable[[Any], None] = module.PortReader.close

    def closed(inflow: Any) -> None:
        inflow.is_closed = True
        close(inflow)

    module.PortReader._resume, module.PortReader.close = later, closed


def _unless_closed(resume: Callable[[Any], None]) -> Callable[[Any], None]:
    return lambda inflow: None if hasattr(inflow, "is_closed") else resume(inflow)


def _late_log(module: ModuleType) -> None:
    module.EventLog.append = _after_a_while(module.EventLog.append)


def _after_a_while(call: Callable[..., Any]) -> Callable[..., Any]:
    def late(*args: Any, **named: Any) -> Any:
        time.sleep(_late())
        return call(*args, **named)

    return late


def make_disk_late() -> None:
    """What has to be on the disk takes its time to get there."""
    os.fsync, os.fdatasync = _after_a_while(os.fsync), _after_a_while(os.fdatasync)


PATCHES: Final[dict[str, Callable[[ModuleType], None]]] = {
    "paho.mqtt.client": _late_connections,
    "shoe_driver.service.port_reader": _late_line,
    "events.log.store": _late_log,
}
