"""NATS spoken by hand, over TCP or in secure websockets: what a login hears that tries it."""

import json
import os
import socket
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

__all__ = ["NatsWire"]

_PATIENCE_S: Final = 20
_UPGRADE: Final = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_WHOLE_BINARY, _MASKED = 0x82, 0x80
_TWO_BYTES, _EIGHT_BYTES = 126, 127
_CLOSE: Final = 0x8


class NatsWire:
    """A line to a server at loopback, with a login's words and subscriptions already said.

    Args:
        port: where it listens.
        login: its name.
        password: its password.
        subjects: to subscribe.
        certificate: of the login, for secure websockets; None for NATS over TCP.
        ca: of the site, with it.
    """

    def __init__(
        self, port: int, login: str, password: str, subjects: tuple[str, ...],
        certificate: Path | None = None, ca: Path | None = None,
    ) -> None:  # fmt: skip
        self._line = socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE_S)
        self._websocket = certificate is not None
        if certificate is not None:
            context = ssl.create_default_context(cafile=ca)
            context.load_cert_chain(certificate, certificate.with_suffix(".key"))
            self._line = context.wrap_socket(self._line, server_hostname="localhost")
            self._line.sendall(_UPGRADE)
            answer = b""
            while not answer.endswith(b"\r\n\r\n"):
                answer += self._exactly(1)
            assert answer.startswith(b"HTTP/1.1 101 "), answer
        words = {"user": login, "pass": password, "verbose": False, "headers": True}
        said = f"CONNECT {json.dumps(words)}\r\n"
        said += "".join(f"SUB {subject} {n}\r\n" for n, subject in enumerate(subjects, start=1))
        self._say(said.encode())

    def heard(self) -> bytes:
        """All that has come until the server answers a PING, or has hung up."""
        found = b""
        with suppress(ConnectionError, ssl.SSLError):
            self._say(b"PING\r\n")
        with suppress(ConnectionError, ssl.SSLError):
            while b"PONG\r\n" not in found:
                found += self._frame() if self._websocket else self._some()
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()

    def _say(self, text: bytes) -> None:
        if self._websocket:
            mask = os.urandom(4)
            masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(text))
            head = bytes((_WHOLE_BINARY, _MASKED | _TWO_BYTES)) + len(text).to_bytes(2, "big")
            text = head + mask + masked
        self._line.sendall(text)

    def _some(self) -> bytes:
        found = self._line.recv(65_536)
        if not found:
            raise ConnectionResetError("hung up")
        return found

    def _exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            part = self._line.recv(count - len(found))
            if not part:
                raise ConnectionResetError("hung up")
            found += part
        return found

    def _frame(self) -> bytes:
        kind, size = self._exactly(2)
        if size in {_TWO_BYTES, _EIGHT_BYTES}:
            size = int.from_bytes(self._exactly(2 if size == _TWO_BYTES else 8), "big")
        body = self._exactly(size)
        if kind & 0xF == _CLOSE:
            raise ConnectionResetError(body.decode(errors="replace"))
        return body
