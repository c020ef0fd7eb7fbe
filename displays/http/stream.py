"""Server-sent events: one screen's stream of states and beats.

A screen costs a task and a flag. Its queue holds one document, the newest, and the stream sends it
when the socket is ready. A stuck screen therefore delays nobody, and `displays.http.server`
cuts its connection.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Literal

import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from displays.auth.sessions import SecondsLeft
from displays.live import BEAT_SECONDS, LiveState, StateDocument

__all__ = ["HEADERS", "WARNED_SECONDS", "StateStream", "last_event_id", "wait_for_disconnect"]

WARNED_SECONDS: Final = 120
"""A login's end is told so long before; WCAG 2.2.1 asks for 20 seconds at least."""
HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
"""The response headers of every stream."""


class StateStream:
    """An ASGI response that streams until its screen disconnects.

    Args:
        live: the table's live state.
        form: `public`, or `full` for people who are logged in.
        known: the `id` of the screen's newest document, which the stream does not send again.
        epoch: tells this process's ids from another's.
        build: of the pages; a screen with another build reloads itself.
        still_welcome: called at each beat; the stream ends when it returns False.
        left: called at each beat; says how long the login lasts.
    """

    def __init__(
        self,
        live: LiveState,
        *,
        form: Literal["public", "full"],
        known: str,
        epoch: str,
        build: str,
        still_welcome: Callable[[], bool] = lambda: True,
        left: Callable[[], SecondsLeft | None] = lambda: None,
    ) -> None:
        self._live = live
        self._form = form
        self._sent = known
        self._epoch = epoch
        self._build = build
        self._still_welcome = still_welcome
        self._left = left
        self._warned = False
        self._wake = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until the screen disconnects, is cut, or is no longer welcome."""
        if scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            await send({"type": "http.response.body", "body": b""})
            return
        unsubscribe = self._live.subscribe(self._wake.set)
        gone = asyncio.ensure_future(wait_for_disconnect(receive))
        serving = asyncio.ensure_future(self._serve(send))
        try:
            await asyncio.wait({gone, serving}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
        finally:
            unsubscribe()
            for task in (gone, serving):
                task.cancel()
            await asyncio.gather(gone, serving, return_exceptions=True)

    async def _serve(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await self._say(send, b"retry: 500\nevent: build\ndata: %b\n\n" % self._build.encode())
        while not self._live.closed:
            if not self._still_welcome():
                await self._say(send, b"event: bye\ndata: {}\n\n")
                break
            self._wake.clear()
            await self._say(send, self._news())
            try:
                async with asyncio.timeout(BEAT_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                continue
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _news(self) -> bytes:
        """Return the newest document, if the screen lacks it, and a beat."""
        beat = b"event: beat\ndata: %b\n\n" % msgspec.json.encode(self._live.health())
        beat += self._warning()
        document = self._live.document
        if document is None or (mark := self._mark(document)) == self._sent:
            return beat
        self._sent = mark
        data = document.public if self._form == "public" else document.full
        return b"event: state\nid: %b\ndata: %b\n\n%b" % (mark.encode(), data, beat)

    def _warning(self) -> bytes:
        """Return what is left of a login that is about to end, or that it goes on after all."""
        left = self._left()
        soon = left is not None and left.seconds <= WARNED_SECONDS
        if not soon and not self._warned:
            return b""
        self._warned = soon
        said = {"left_s": left.seconds, "renewable": left.renewable} if soon and left else None
        return b"event: login\ndata: %b\n\n" % msgspec.json.encode(said)

    def _mark(self, document: StateDocument) -> str:
        return f"{document.position}-{document.serial}-{self._epoch}"

    async def _say(self, send: Send, text: bytes) -> None:
        await send({"type": "http.response.body", "body": text, "more_body": True})


async def wait_for_disconnect(receive: Receive) -> None:
    """Wait until the screen disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass


def last_event_id(request: Request) -> str:
    """Return the `id` of the newest document that a screen has; empty if it has none.

    A browser that reconnects by itself sends it in a header. A page that opens a connection cannot
    set headers, and sends it in the URL.
    """
    header = request.headers.get("last-event-id", "")
    return header or request.query_params.get("known", "")
