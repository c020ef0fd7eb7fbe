"""Connects to the hub or to a leaf: one attempt at one server, with a login.

A connection never reconnects by itself: its user must first ask the hub again what it holds, and
therefore opens a new connection.
"""

import logging
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct
from nats.aio.client import Client
from nats.errors import Error

from events.errors import BusError, ConfigError
from events.tls import ClientTls
from property.hub.server_conf import inbox_of, login_of

__all__ = ["HubSettings", "connect"]

_CONNECT_S: Final = 3
_PING_S: Final = 5
_PINGS_MOST: Final = 2
# asyncio logs this at the end of each TLS connection of the library; it means nothing.
_EOF_SAID: Final = "returning true from eof_received() has no effect when using ssl"


def _worth_saying(record: logging.LogRecord) -> bool:
    return record.getMessage() != _EOF_SAID


logging.getLogger("asyncio").addFilter(_worth_saying)


class HubSettings(Struct, frozen=True, kw_only=True):
    """The settings of a connection to the hub.

    Args:
        servers: URLs, tried in turn: `tls://hub1.example:4222`, or a leaf's `nats://127.0.0.1:4222`.
        who: the login's role, or a table's `<site>/<table>`.
        password: the login's.
        ca: PEM file of the property's CA; None for a leaf on this machine.
        cert: PEM file of the client's certificate.
        key: PEM file of its key.
    """

    servers: tuple[str, ...]
    who: str
    password: str
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def tls(self) -> ClientTls:
        """Return the TLS settings, to be shared by successive connections."""
        return ClientTls(self.ca, self.cert, self.key)


async def connect(settings: HubSettings, attempt: int, tls: ClientTls | None = None) -> Client:
    """Make one attempt to connect to one of the servers.

    Args:
        settings: the servers and the login.
        attempt: the attempt's number; the servers take turns by it.
        tls: the result of `settings.tls()`, if the caller connects repeatedly. It keeps the last
            good certificate while a renewed one and its key do not match.

    Raises:
        BusError: no server answers, the server refuses, or a file of the settings is unusable.
    """
    server = settings.servers[attempt % len(settings.servers)]
    try:
        context = (tls or settings.tls()).context()
    except ConfigError as error:
        raise BusError(f"TLS to the hub: {error}") from error
    heard: list[Exception] = []

    async def hear(error: Exception) -> None:
        # A later error also ends the call that it concerns, which reports it.
        heard[:] = [error]

    client = Client()
    try:
        await client.connect(
            server,
            name=login_of(settings.who),
            user=login_of(settings.who),
            password=settings.password,
            tls=context,
            inbox_prefix=inbox_of(settings.who),
            allow_reconnect=False,
            # The library's default tries for two minutes before it reports a missing server.
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=_CONNECT_S,
            ping_interval=_PING_S,
            max_outstanding_pings=_PINGS_MOST,
            error_cb=hear,
        )
    except (Error, OSError, TimeoutError) as error:
        cause = heard[-1] if heard else error
        # The library leaves the sockets of a failed attempt to the garbage collector.
        with suppress(Error, OSError, TimeoutError):
            await client.close()
        raise BusError(f"{server}: {str(cause) or type(cause).__name__}") from error
    return client
