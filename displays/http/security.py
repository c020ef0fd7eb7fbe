"""HTTP security for every page: host names, strict headers, limited request bodies, same origin.

**Host names.** Another site can let its own name point at this machine. The browser then treats
this server as that site (DNS rebinding). The server therefore answers only to addresses,
`localhost` and the configured names.
"""

import asyncio
import ipaddress
from collections.abc import Collection
from typing import Final
from urllib.parse import parse_qsl

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from events.errors import MalformedJson
from events.free_text import whole_number
from events.json_form import decode_json_once

__all__ = [
    "BODY_MOST",
    "BODY_SECONDS",
    "BadBody",
    "OneLength",
    "SecurityHeaders",
    "TrustedHosts",
    "read_form",
    "read_json",
    "same_origin",
]

# The largest command, a `place_wager` with all spots of a layout, is a tenth of this.
BODY_MOST: Final = 64 * 1024
# A body fills a few packets. No browser sends one slowly.
BODY_SECONDS: Final = 10.0

# A page may load, run or frame only files of this server, and has no inline script or style.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_ALWAYS: Final = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    # Not `no-referrer`: with it a browser sends `Origin: null` for this server's own forms.
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_YEAR: Final = "max-age=31536000"


class BadBody(ValueError):  # noqa: N818 - named for what it is
    """A refused request body.

    Args:
        status: the response's HTTP status.
        text: one line.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class SecurityHeaders:
    """Middleware that adds the strict headers to every response that does not bring its own.

    Args:
        app: the application.
        secure: whether the server uses TLS.
    """

    def __init__(self, app: ASGIApp, *, secure: bool) -> None:
        self._app = app
        self._headers = _ALWAYS | ({"strict-transport-security": _YEAR} if secure else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application, and add the headers to its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
                # The browser revalidates every time, and loads a file only if it has changed.
                headers.setdefault("cache-control", "no-cache")
            await send(message)

        await self._app(scope, receive, add)


class OneLength:
    """Middleware that refuses a request which says its length in two ways.

    A proxy before the server may believe the other one, and take the rest for another request.

    Args:
        app: the application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application, or refuse and end the connection."""
        names = {name for name, _ in scope["headers"]} if scope["type"] == "http" else set()
        if {b"content-length", b"transfer-encoding"} <= names:
            text = "a request says its length once: Content-Length or Transfer-Encoding\n"
            refused = PlainTextResponse(text, 400, {"connection": "close"})
            await refused(scope, receive, send)
            return
        await self._app(scope, receive, send)


class TrustedHosts:
    """Middleware that refuses requests for other host names.

    Args:
        app: the application.
        names: the server's host names, in addition to every address and `localhost`.
    """

    def __init__(self, app: ASGIApp, *, names: Collection[str]) -> None:
        self._app = app
        self._names = {"localhost", *(name.lower().rstrip(".") for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application, or answer that the host name is wrong."""
        if scope["type"] == "http" and not self._is_ours(scope):
            text = "not a name of this server: give it as `names` in its configuration\n"
            await PlainTextResponse(text, 421)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_ours(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"host"]
        if len(given) != 1:
            return False
        name, colon, port = given[0].decode("latin-1").lower().rpartition(":")
        if not colon or not port.isdigit():
            name = given[0].decode("latin-1").lower()
        name = name.rstrip(".")
        return name in self._names or _is_address(name)


def _is_address(name: str) -> bool:
    bare = name[1:-1] if name.startswith("[") and name.endswith("]") else name
    try:
        return ipaddress.ip_address(bare).version == (4 if bare is name else 6)
    except ValueError:
        return False


async def _read(request: Request) -> bytes:
    """Read the body, within the limits."""
    if whole_number(request.headers.get("content-length", "0"), BODY_MOST) is None:
        raise BadBody(413, f"a body has at most {BODY_MOST} bytes")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > BODY_MOST:
                    raise BadBody(413, f"a body has at most {BODY_MOST} bytes")
    except TimeoutError as error:
        raise BadBody(408, f"a body comes within {BODY_SECONDS:g} s") from error
    except ClientDisconnect as error:
        raise BadBody(400, "the body ended early") from error
    return bytes(body)


def _kind(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_json(request: Request) -> dict[str, object]:
    """Read the body as a JSON object.

    Raises:
        BadBody: it is none, or too large.
    """
    if _kind(request) != "application/json":
        raise BadBody(415, "send application/json")
    try:
        body = await _read(request)
        return decode_json_once(body, dict[str, object])
    except MalformedJson as error:
        raise BadBody(400, f"no JSON object: {str(error)[:120]}") from error


async def read_form(request: Request) -> dict[str, str]:
    """Read the fields of an HTML form.

    Raises:
        BadBody: it is none, or too large.
    """
    if _kind(request) != "application/x-www-form-urlencoded":
        raise BadBody(415, "send application/x-www-form-urlencoded")
    try:
        text = (await _read(request)).decode("utf-8")
        fields = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=20)
    except ValueError as error:
        if isinstance(error, BadBody):
            raise
        raise BadBody(400, "no form") from error
    if len(dict(fields)) < len(fields):
        raise BadBody(400, "a field is there twice; write it once")
    return dict(fields)


def same_origin(request: Request) -> bool:
    """Return whether a page of this server sent the request, as the browser reports it."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    origin = request.headers.get("origin")
    return origin is None or origin == f"{request.url.scheme}://{request.url.netloc}"
