"""A serial device server: raw bytes over TCP.

*Connected* is not *alive*: the server may have no device, and a peer that loses its power sends
nothing. So the kernel probes the peer (keepalive), and the silence watch judges silence by time.
Bytes that a server buffered while nobody was connected arrive right after the connection: they are
old, and kept apart.
"""

import asyncio
import errno
import os
import socket
from typing import Final, Self

from events.errors import OurBug
from shoe_driver.transports.endpoint import Endpoint
from shoe_driver.transports.port_errors import PortError

__all__ = ["CONNECT_S", "TcpPort"]

# Long enough for a second SYN if the first was lost: the system resends after a second.
CONNECT_S: Final = 2.0
_READ_SIZE: Final = 4096
# A dead peer is noticed after IDLE + COUNT x INTERVAL seconds of silence.
_IDLE_S: Final = 4
_INTERVAL_S: Final = 2
_COUNT: Final = 3
_SILENT_S: Final = _IDLE_S + _INTERVAL_S * _COUNT

_SERVER: Final = "look at the device server: its power, its network, its address"
_NO_WAY: Final = "look at the network on the way to the device server, and at its address"
_HINTS: Final = {
    errno.EHOSTUNREACH: _NO_WAY,
    errno.ENETUNREACH: _NO_WAY,
    errno.ECONNREFUSED: "the device server does not listen there, or serves somebody else already",
    errno.ECONNRESET: "the device server ended it; another client may have taken its place",
}


class TcpPort:
    """See `Port`; use `connect`."""

    settle_s = 0.2

    def __init__(self, connection: socket.socket, name: str, *, writes: bool) -> None:
        self._socket = connection
        self._name = name
        self._writes = writes
        for level, option, value in (
            (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
            (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _IDLE_S),
            (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _INTERVAL_S),
            (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _COUNT),
            (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _SILENT_S * 1_000),
            (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        ):
            connection.setsockopt(level, option, value)

    @classmethod
    async def connect(cls, endpoint: Endpoint, *, writes: bool = False) -> Self:
        """Connect, within `CONNECT_S` seconds.

        Raises:
            PortError: nobody is there, or nobody answers.
        """
        try:
            async with asyncio.timeout(CONNECT_S):
                connection = await _connected(endpoint.path, endpoint.port)
        except TimeoutError as error:
            reason = f"{endpoint}: no answer within {CONNECT_S:g} s"
            raise PortError(reason, _SERVER) from error
        except OSError as error:  # gaierror is an OSError
            raise _lost(str(endpoint), error) from error
        return cls(connection, str(endpoint), writes=writes)

    def fileno(self) -> int:
        """See `Port.fileno`."""
        return self._socket.fileno()

    def read(self) -> bytes:
        """See `Port.read`."""
        try:
            data = self._socket.recv(_READ_SIZE)
        except BlockingIOError:
            return b""
        except TimeoutError as error:
            reason = f"{self._name}: connected, and no sign of life for {_SILENT_S} s"
            raise PortError(reason, _SERVER) from error
        except OSError as error:
            raise _lost(self._name, error) from error
        if not data:
            raise PortError(f"{self._name}: the device server closed the connection", _SERVER)
        return data

    def write(self, data: bytes) -> None:
        """See `Port.write`."""
        if not self._writes:
            raise OurBug(f"{self._name} was opened to be read only")
        try:
            sent = self._socket.send(data)
        except OSError as error:
            raise _lost(self._name, error) from error
        if sent < len(data):
            raise PortError(f"{self._name}: the device server takes nothing", _SERVER)

    def close(self) -> None:
        """See `Port.close`."""
        self._socket.close()


def _lost(name: str, error: OSError) -> PortError:
    number = error.errno or 0
    known = number in errno.errorcode and not isinstance(error, socket.gaierror)
    why = os.strerror(number) if known else error.strerror or str(error)
    return PortError(f"{name}: {why}", _HINTS.get(number, _SERVER))


async def _connected(host: str, port: int) -> socket.socket:
    """Return a connection to the first of the host's addresses that accepts one."""
    loop = asyncio.get_running_loop()
    refused: OSError | None = None
    for family, kind, protocol, _, address in await loop.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        connection = socket.socket(family, kind, protocol)
        connection.setblocking(False)
        try:
            await loop.sock_connect(connection, address)
        except OSError as error:
            connection.close()
            refused = error
        except asyncio.CancelledError:
            connection.close()
            raise
        else:
            return connection
    raise refused or OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
