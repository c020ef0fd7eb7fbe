"""What holds things back, now and then: a relay, a line, a disk. Nothing is lost.

The order stays, but that messages of one subscription may overtake those of another.

Tests wait for a condition and not for a time. Whether they wait for the right one shows only where
one connection is slower than another, which on a quiet machine it never is.
"""

import os
import random
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from types import ModuleType
from typing import Any, Final

from tests.tools.late.packets import Subscriptions

SEED: Final = "LATE_SEED"
# Of what goes over a connection or a line, or to the disk, and for how many seconds. The people at
# a simulated table wait until it is quiet for 0.6 s, and take what is later for lost.
_SHARE: Final = float(os.environ.get("LATE_SHARE", "0.02"))
_SECONDS: Final = (0.1, float(os.environ.get("LATE_MOST", "0.5")))
_USUAL_S: Final = 0.004  # what a relay takes when it is not late, at most
_PIECE: Final = 65_536
_WAITING: Final = 1_000  # pieces in a relay; then it takes no more

_rng: Final = random.Random(f"{os.environ.get(SEED)} {os.getpid()}")


def _late() -> float:
    """Seconds to hold back what comes next; mostly none."""
    return _rng.uniform(*_SECONDS) if _rng.random() < _SHARE else 0.0


@dataclass
class _Way:
    """One direction of a connection: pieces, each with the time at which it may go on.

    Args:
        read: splits what came into pieces, each with what it must not overtake its like of.
    """

    source: socket.socket
    sink: socket.socket
    read: Callable[[bytes], Iterator[tuple[object, bytes]]]
    pieces: list[tuple[float, int, bytes]] = field(default_factory=list)
    last: dict[object, float] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)
    ended: bool = False

    def take(self) -> None:
        with suppress(OSError):
            if came := self.source.recv(_PIECE):
                now, late = time.monotonic(), _late()
                usual = _rng.uniform(0, _USUAL_S)
                for kind, piece in self.read(came):
                    due = self.last[kind] = max(self.last.get(kind, 0.0), now + (late or usual))
                    heappush(self.pieces, (due, next(self.numbers), piece))
                    late = 0.0  # the first of what came, and its like: others may overtake it
                return
        self.ended = True

    def pass_on(self) -> None:
        while self.pieces and self.pieces[0][0] <= time.monotonic():
            self.sink.sendall(heappop(self.pieces)[2])


def _relay(one: socket.socket, other: socket.socket, asked: Subscriptions) -> None:
    """Carry both ways until one end has closed and all that it said is told."""
    ways = (_Way(one, other, asked.up), _Way(other, one, asked.down))
    with one, other, suppress(OSError):
        while not any(way.ended and not way.pieces for way in ways):
            due = [way.pieces[0][0] for way in ways if way.pieces]
            open_ = {w.source: w for w in ways if not w.ended and len(w.pieces) < _WAITING}
            wait = max(0.0, min(due) - time.monotonic()) if due else None
            for source in select.select(list(open_), [], [], wait)[0]:
                open_[source].take()
            for way in ways:
                way.pass_on()


def _relayed(broker: socket.socket, asked: Subscriptions) -> socket.socket:
    """A connection to the same broker, by way of a relay."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    for each in (broker, near, far):
        each.settimeout(None)
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=_relay, args=(far, broker, asked), daemon=True).start()
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
