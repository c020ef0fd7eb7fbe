"""The web server beneath the screens: uvicorn on our own socket, within limits.

Signals are the composition root's, and so is the end: `WebServer.serve` runs until it is told.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

import uvicorn

from displays.http.certificate import Certificate
from displays.http.connection import Connection
from events.errors import ConfigError

__all__ = ["WebServer"]

# A screen that does not take what we sent for so long is gone, whatever its network says.
_UNTAKEN_MS: Final = 10_000
# What the system may hold for one screen: some states, not megabytes.
_SEND_BUFFER: Final = 64 * 1024
_BACKLOG: Final = 128
# Between TCP's handshake and the end of that of TLS.
_HANDSHAKE_S: Final = 5.0
# Streams are cut when the service ends; what is left then are answers of milliseconds.
_GRACE_S: Final = 1


class WebServer:
    """A server that listens, and serves when it is told to.

    Args:
        app: the application.
        section: of the configuration, for what is said.
        host: to listen at.
        port: the same; 0 takes a free one.
        certificate: to serve TLS with; None serves plain HTTP.

    Raises:
        ConfigError: the address cannot be had.

    Attributes:
        address: its URL.
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
        """Serve until `stop` was called."""
        await self._server.serve(sockets=[self._socket])

    def stop(self) -> None:
        """Let `serve` return."""
        self._server.should_exit = True


class _Server(uvicorn.Server):
    """uvicorn's, on our socket and without a hold on the process.

    Signals are the composition root's, and a handshake of TLS has a bound, which uvicorn does not
    set.
    """

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """None."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await self.lifespan.startup()
        loop, config = asyncio.get_running_loop(), self.config

        def connection() -> Connection:
            return Connection(config, self.server_state, self.lifespan.state, loop)

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
        http=Connection,
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        # What a browser sends in error is no matter of ours, and may come by the thousand.
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
    """The listening socket; what it accepts inherits its bounds.

    Raises:
        ConfigError: the address cannot be had.
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
