"""The page with the shoe's button: a card at each press, and the coach's lines."""

import asyncio
import secrets
from collections import deque
from importlib.resources import files
from typing import Final

import msgspec

from simulators.shoe.cue import Cue

__all__ = ["ButtonPage"]

_LINES_MOST: Final = 60
_HEAD_MOST: Final = 8192
_PATIENCE_S: Final = 5.0
_PAGE: Final = files("baccarat.practice").joinpath("button.html")
_HOST: Final = "127.0.0.1"


class ButtonPage:
    """Serves one page on loopback; a press needs the page's own secret.

    Args:
        cue: given at each press.

    Attributes:
        address: the page's URL, once `serve` has begun.
    """

    def __init__(self, cue: Cue) -> None:
        self._cue = cue
        self._secret = secrets.token_urlsafe(16)
        self._lines: deque[str] = deque(maxlen=_LINES_MOST)
        self.address = ""

    def say(self, line: str) -> None:
        """Show a line of the coach."""
        self._lines.append(line)

    async def start(self) -> asyncio.Server:
        """Listen at a free port."""
        server = await asyncio.start_server(self._serve, _HOST, 0)
        port = server.sockets[0].getsockname()[1]
        self._own = f"{_HOST}:{port}".encode()
        self.address = f"http://{_HOST}:{port}/"
        return server

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head[:_HEAD_MOST]))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass  # a browser that went away asks again
        finally:
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        request, *fields = head.split(b"\r\n")
        named = {
            name.strip().lower(): value.strip()
            for name, _, value in (field.partition(b":") for field in fields)
        }
        if named.get(b"host") != self._own:
            return _response(421, b"text/plain", b"not the address of this page\n")
        if request.startswith(b"GET / "):
            page = _PAGE.read_bytes().replace(b"{{ secret }}", self._secret.encode())
            return _response(200, b"text/html; charset=utf-8", page)
        if request.startswith(b"GET /lines "):
            return _response(200, b"application/json", msgspec.json.encode(list(self._lines)))
        if request.startswith(b"POST /draw ") and secrets.compare_digest(
            named.get(b"x-secret", b""), self._secret.encode()
        ):
            self._cue.give()
            return _response(200, b"text/plain", b"drawn\n")
        return _response(404, b"text/plain", b"no such page\n")


def _response(status: int, kind: bytes, body: bytes) -> bytes:
    lines = [
        b"HTTP/1.1 %d " % status,
        b"Content-Type: " + kind,
        b"Content-Length: %d" % len(body),
        b"Cache-Control: no-store",
        b"X-Frame-Options: DENY",
        b"Connection: close",
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body
