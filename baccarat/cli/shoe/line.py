"""Open a shoe's line for a command: by URL or plain path, exclusively."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from events.clock import Clock
from shoe_driver.decode import Decoder
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.profiles.profile import SerialOptions
from shoe_driver.service.port_reader import PortReader
from shoe_driver.transports.endpoint import Endpoint, parse_url
from shoe_driver.transports.port import open_port
from shoe_driver.transports.port_errors import LinkEnded

__all__ = ["endpoint_of", "line_records", "stop_event"]

_POLL_S: Final = 0.2
_ANSWER_S: Final = 0.02


def endpoint_of(port: str, line: SerialOptions) -> Endpoint:
    """Return the endpoint that a PORT argument names.

    Args:
        port: a transport's URL, or the plain path of a serial port.
        line: the profile's settings.

    Raises:
        InputError: it is neither.
    """
    plain = port.startswith("/") or Path(port).exists()
    url = f"serial://{Path(port).absolute()}" if plain else port
    return parse_url(url, baud=line.baud, line=line)


async def line_records(
    endpoint: Endpoint, clock: Clock, stop: asyncio.Event, host: Decoder | None = None
) -> AsyncIterator[list[Record]]:
    """Yield records of the line as a driver would store them; the first says that it is open.

    The generator yields often, also when nothing came. It ends when `stop` is set or a replay is
    over. It only reads the line, unless there is a `host`, which the caller feeds with the records:
    what it says to the device is sent each time that the caller comes back for more, so after the
    caller has stored what came.

    Raises:
        LinkError: the line cannot be opened, or was lost.
    """
    port = await open_port(endpoint, writes=host is not None)
    with contextlib.closing(port):
        arrived = asyncio.Event()
        inflow = PortReader(port, clock, arrived.set)
        try:
            if port.settle_s:
                await asyncio.sleep(port.settle_s)
                yield [replace(record, kind=RecordKind.STALE) for record in inflow.take()]
            name = str(endpoint).encode()
            yield [Record(RecordKind.OPEN, clock.mono_us(), clock.utc_ns(), name)]
            if host is not None and (said := host.greeting()):
                port.write(said)
            while not stop.is_set():
                if host is not None and (said := host.replies() + host.question(clock.mono_us())):
                    port.write(said)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_POLL_S if host is None else _ANSWER_S):
                        await arrived.wait()
                arrived.clear()
                try:
                    records = inflow.take()
                except LinkEnded:
                    return
                yield records
        finally:
            inflow.close()


@contextlib.contextmanager
def stop_event(seconds: float | None = None) -> Iterator[asyncio.Event]:
    """Yield an event that Ctrl-C, SIGTERM or this number of seconds sets."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    timer = loop.call_later(seconds, stop.set) if seconds is not None else None
    try:
        yield stop
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
        if timer is not None:
            timer.cancel()
