"""A connection to the hub, or to a leaf: one attempt at one server, with a login of one's own.

It never reconnects by itself: whoever uses it must then ask the hub again what it holds, and so
begins anew with a new connection.
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
# Said by asyncio at the end of each connection that the library has secured; means nothing.
_EOF_SAID: Final = "returning true from eof_received() has no effect when using ssl"


def _worth_saying(record: logging.LogRecord) -> bool:
    return record.getMessage() != _EOF_SAID


logging.getLogger("asyncio").addFilter(_worth_saying)


class HubSettings(Struct, frozen=True, kw_only=True):
    """How the hub is reached.

    Args:
        servers: URLs, tried in turn: `tls://hub1.example:4222`, or a leaf's `nats://127.0.0.1:4222`.
        who: a role, or a table's `<site>/<table>`.
        password: of its login.
        ca: PEM file of the property's CA; None for a leaf on this machine.
        cert: PEM file of a certificate of one's own.
        key: PEM file of its key.
    """

    servers: tuple[str, ...]
    who: str
    password: str
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def tls(self) -> ClientTls:
        """What connections are secured by: one for all that follow one another."""
        return ClientTls(self.ca, self.cert, self.key)


async def connect(settings: HubSettings, attempt: int, tls: ClientTls | None = None) -> Client:
    """One attempt at one of the servers.

    Args:
        settings: how the hub is reached.
        attempt: which it is: the servers take turns.
        tls: of the settings, kept by whoever connects again: it goes on by what was good where a
            renewed certificate and its key do not fit.

    Raises:
        BusError: nobody there, or they refuse, or a file of the settings cannot be used.
    """
    server = settings.servers[attempt % len(settings.servers)]
    try:
        context = (tls or settings.tls()).context()
    except ConfigError as error:
        raise BusError(f"TLS to the hub: {error}") from error
    heard: list[Exception] = []

    async def hear(error: Exception) -> None:
        # Later ones also end what they are about: they are told where that was waited for.
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
            # Else the library tries for two minutes before it says that nobody is there.
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=_CONNECT_S,
            ping_interval=_PING_S,
            max_outstanding_pings=_PINGS_MOST,
            error_cb=hear,
        )
    except (Error, OSError, TimeoutError) as error:
        cause = heard[-1] if heard else error
        # The library leaves the sockets of an attempt that failed to the garbage collector.
        with suppress(Error, OSError, TimeoutError):
            await client.close()
        raise BusError(f"{server}: {str(cause) or type(cause).__name__}") from error
    return client
