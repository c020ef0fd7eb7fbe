"""The screens' web server: uvicorn on a socket of its own, with limits.

The composition root handles signals and ends the server: `WebServer.serve` runs until `stop`.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

import uvicorn

from displays.http.certificate import Certificate
from displays.http.connection import LimitedConnection
from events.errors import ConfigError

__all__ = ["WebServer"]

# Milliseconds after which TCP drops a screen that acknowledges no data.
_UNTAKEN_MS: Final = 10_000
# The system's send buffer for one screen: a few states, not megabytes.
_SEND_BUFFER: Final = 64 * 1024
_BACKLOG: Final = 128
# Longest time from the TCP handshake to the end of the TLS handshake.
_HANDSHAKE_S: Final = 5.0
# Time for answers at the end of the service; they take milliseconds, and streams are cut.
_GRACE_S: Final = 1


class WebServer:
    """A web server that listens at once, and serves while `serve` runs.

    Args:
        app: the application.
        section: of the configuration, for messages.
        host: the address to listen at.
        port: the port to listen at; 0 takes a free one.
        certificate: for TLS; None serves plain HTTP.

    Raises:
        ConfigError: the address is not available.

    Attributes:
        address: the server's URL.
    """

    def __init__(
        self,
        app: Callable[..., object],
        *,
        section: str,
        host: str,
        port: int,
        certificate: Certificate | None = None,
    ) -> None:
        self._server = _Server(_config(app, certificate))
        self._socket = _listen(section, host, port)
        scheme = "https" if certificate else "http"
        named = f"[{host}]" if ":" in host else host
        self.address = f"{scheme}://{named}:{self._socket.getsockname()[1]}/"

    async def serve(self) -> None:
        """Serve until `stop` is called."""
        await self._server.serve(sockets=[self._socket])

    def stop(self) -> None:
        """Make `serve` return."""
        self._server.should_exit = True


class _Server(uvicorn.Server):
    """uvicorn's server on an existing socket, without signal handlers.

    It also limits the time of a TLS handshake, which uvicorn does not.
    """

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Capture no signals."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections on the socket."""
        await self.lifespan.startup()
        loop, config = asyncio.get_running_loop(), self.config

        def connection() -> LimitedConnection:
            return LimitedConnection(config, self.server_state, self.lifespan.state, loop)

        self.servers = [
            await loop.create_server(
                connection,
                sock=each,
                ssl=config.ssl,
                backlog=_BACKLOG,
                ssl_handshake_timeout=_HANDSHAKE_S if config.ssl else None,
            )
            for each in sockets or []
        ]
        self.started = True


def _config(app: Callable[..., object], certificate: Certificate | None) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        http=LimitedConnection,
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        # Errors of browsers are not the server's, and can come by the thousand.
        log_level=logging.ERROR,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=_GRACE_S,
    )
    config.load()
    if certificate is not None:
        config.ssl = certificate.context
    return config


def _listen(section: str, host: str, port: int) -> socket.socket:
    """Return the listening socket; accepted connections inherit its limits.

    Raises:
        ConfigError: the address is not available.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNTAKEN_MS)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise ConfigError(
            f"{section}.host, {section}.port: {host}:{port} cannot be listened "
            f"at: {error.strerror}; give an address of this machine and a free port, such as "
            '`host = "127.0.0.1"` and `port = 8080`'
        ) from error
    return listening
