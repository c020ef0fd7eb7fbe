"""The screens' web server: uvicorn on a socket of its own, with limits.

The composition root handles signals and ends the server: `WebServer.serve` runs until `stop`.

An HTTP connection with the limits that uvicorn lacks: time, unsent data, number of connections.
uvicorn waits for ever for a request's head, keeps unsent data as long as the system does, and
accepts any number of connections. Through each of these, one machine on the network could block all
screens, without a login and with hardly any traffic.
"""

import asyncio
import logging
import re
import socket
import ssl
from collections.abc import Callable, Generator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Final

import uvicorn
from h11 import RemoteProtocolError
from h11._receivebuffer import ReceiveBuffer
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from displays.auth.login_policy import client_network, is_here
from events.errors import ConfigError
from events.structured_log import structlog
from events.tls import CertificatePair, read_first_pair, read_pair

__all__ = [
    "ADDRESS_MOST",
    "CONNECTIONS_MOST",
    "HEAD_SECONDS",
    "UNTAKEN_SECONDS",
    "Certificate",
    "LimitedConnection",
    "WebServer",
]

_log: Final = structlog.get_logger()


class Certificate:
    """The server's certificate, key and TLS context.

    Args:
        cert: PEM file of the certificate chain, the server's own first.
        key: PEM file of its private key, without a passphrase.
        section: of the configuration, for messages.

    Raises:
        ConfigError: a file cannot be used; the text names its configuration key, the reason, and
            the remedy.

    Attributes:
        context: the server's TLS context, for TLS 1.2 or newer.
    """

    def __init__(self, cert: Path, key: Path, section: str) -> None:
        self._cert, self._key, self._section = cert, key, section
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
        self.context.set_alpn_protocols(["http/1.1"])
        self._refused = ""
        self._pair = self._found(read_first_pair)
        self._pair.load_into(self.context)

    def renew(self) -> None:
        """Load the files again after a change; keep the old ones while the new are unusable.

        Unusable files are logged once.
        """
        try:
            pair = self._found(read_pair)
        except ConfigError as error:
            if str(error) != self._refused:
                _log.warning("certificate.refused", reason=str(error), used="the one before")
            self._refused = str(error)
            return
        self._refused = ""
        if pair != self._pair:
            pair.load_into(self.context)
            self._pair = pair
            _log.info("certificate.renewed")

    def _found(self, read: Callable[[Path, Path, str], CertificatePair]) -> CertificatePair:
        pair = read(self._cert, self._key, self._section)
        if pair.exposed:
            raise ConfigError(
                f"{self._section}.key: {self._key} can be read by everybody: chmod 600 it, and "
                "make a new key"
            )
        return pair


# From the connection, or the answer before, to the end of a request's head. A browser sends a head
# in one go, and opens an idle connection again at no cost.
HEAD_SECONDS: Final = 10.0
# Longest time for a browser to read the data that waits for it. A slow one takes milliseconds.
UNTAKEN_SECONDS: Final = 10.0
# Most connections from all machines: well below the 1,024 open files of a process.
CONNECTIONS_MOST: Final = 512
# Most connections from one other machine. A browser opens six.
ADDRESS_MOST: Final = 32
_LONE_LF: Final = re.compile(rb"(?<!\r)\n")
# Most data that may wait here for one browser, in addition to the system's: a few states.
_WAITING_BYTES: Final = 64 * 1024


class _StrictBuffer(ReceiveBuffer):
    """The bytes of a connection, of which every line ends in CR and LF.

    h11 takes a lone LF for a line's end, and a proxy before it may not: then the two see different
    requests in the same bytes (request smuggling).
    """

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Return the lines up to the first blank one; None while they are incomplete.

        Raises:
            RemoteProtocolError: a line ends in LF alone.
        """
        end = self._data.find(b"\r\n\r\n")
        head = self._data if end < 0 else self._data[: end + 2]
        if _LONE_LF.search(head):
            raise RemoteProtocolError("a line ends in CR and LF")
        return super().maybe_extract_lines()


class LimitedConnection(H11Protocol):
    """A connection that the server cuts if it stalls, or if there are too many."""

    _head: asyncio.TimerHandle | None = None
    _untaken: asyncio.TimerHandle | None = None
    place: str = ""

    def connection_made(
        self,
        transport: asyncio.Transport,  # type: ignore[override] # as in uvicorn
    ) -> None:
        """Start the limits, or abort the connection if there are too many."""
        super().connection_made(transport)
        self.conn._receive_buffer = _StrictBuffer()  # noqa: SLF001 - h11 has no setting for it
        transport.set_write_buffer_limits(high=_WAITING_BYTES)
        host = self.client[0] if self.client else ""
        self.place = client_network(host)
        if len(self.connections) > CONNECTIONS_MOST or (
            not is_here(host) and self._connections_of_client() > ADDRESS_MOST
        ):
            transport.abort()
            return
        self._time_head()

    def _connections_of_client(self) -> int:
        return sum(
            isinstance(each, LimitedConnection) and each.place == self.place
            for each in self.connections
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._head, self._untaken = self._disarm(self._head), self._disarm(self._untaken)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle received data or the end of an answer, and update the timer."""
        self.server_state.default_headers = [(b"date", formatdate(usegmt=True).encode())]
        super().handle_events()
        self._time_head()

    def send_400_response(self, msg: str) -> None:
        """Answer data that is no HTTP, but never in the middle of another answer."""
        cycle: RequestResponseCycle | None = self.cycle  # uvicorn's type lacks the None
        if cycle is not None:
            cycle.disconnected = True  # the rest of the answer is not sent
            cycle.message_event.set()
        if cycle is not None and cycle.response_started:
            self.transport.close()
        else:
            super().send_400_response(msg)

    def _time_head(self) -> None:
        """Run the timer from when the next request may begin until its head is complete."""
        if self._is_answering():
            self._head = self._disarm(self._head)
        elif self._head is None and not self.transport.is_closing():
            self._head = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def pause_writing(self) -> None:
        """Start the timer for a browser that reads no data."""
        super().pause_writing()
        if self._untaken is None:
            self._untaken = self.loop.call_later(UNTAKEN_SECONDS, self._stuck)

    def resume_writing(self) -> None:
        """Stop the timer: the browser reads again."""
        super().resume_writing()
        self._untaken = self._disarm(self._untaken)

    def _stuck(self) -> None:
        _log.warning("screen.stuck", place=self.place, seconds=UNTAKEN_SECONDS)
        self.transport.abort()

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    @staticmethod
    def _disarm(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
        if timer is not None:
            timer.cancel()
        return None


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
        self._server.ended.set()


class _Server(uvicorn.Server):
    """uvicorn's server on an existing socket, without signal handlers.

    It also limits the time of a TLS handshake, which uvicorn does not. While no browser asks for
    anything it sleeps; uvicorn wakes ten times a second for the date and for an end.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ended = asyncio.Event()

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

    async def main_loop(self) -> None:
        """Serve until `ended` is set."""
        await self.ended.wait()


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
