"""Ports: the interface of every transport, and opening one by its endpoint.

No `readline`, no `read_until`, no blocking read: the owner of a port waits until its descriptor is
ready. A port to a receive-only device is opened so that it cannot be written at all.
"""

import asyncio
from typing import Protocol

from shoe_driver.transports.endpoint import Endpoint
from shoe_driver.transports.file_port import ReplayPort
from shoe_driver.transports.serial_port import SerialPort
from shoe_driver.transports.tcp_port import TcpPort

__all__ = ["Port", "open_port", "try_port"]


class Port(Protocol):
    """An open port. `read` it when it is ready; `close` it before it is opened again.

    Attributes:
        settle_s: bytes that come within this many seconds of opening are old: they waited
            somewhere.
    """

    settle_s: float

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        ...

    def read(self) -> bytes:
        """Return what has arrived; call it when the port is ready.

        Raises:
            LinkError: the link is lost; LinkEnded: for good.
        """
        ...

    def write(self, data: bytes) -> None:
        """Send all of `data` to the device.

        Raises:
            LinkError: the link is lost, or accepts nothing.
            OurBug: the port was opened read-only.
        """
        ...

    def close(self) -> None:
        """Close the port; on return the descriptor is closed. Safe to call twice."""
        ...


async def open_port(endpoint: Endpoint, *, writes: bool = False) -> Port:
    """Open a port within seconds, exclusively if the transport supports that.

    Args:
        endpoint: where the shoe is connected.
        writes: whether it may be written; a vendor's shoe is only ever read.

    Raises:
        LinkError: it does not exist, is in use, may not be used, or is ambiguous: one line.
    """
    if endpoint.scheme == "tcp":
        return await TcpPort.connect(endpoint, writes=writes)
    if endpoint.scheme == "file":
        return ReplayPort(endpoint)
    return SerialPort(endpoint, writes=writes)


def try_port(endpoint: Endpoint) -> None:
    """Open a port once, and close it again. Do not call it from within a loop.

    Raises:
        LinkError: as `open_port`.
    """

    async def once() -> None:
        (await open_port(endpoint)).close()

    asyncio.run(once())
