"""Server-sent events: one screen's stream of states and beats.

A screen costs a task and a flag. It has a queue of one, the newest document, and takes it when its
socket can: a stuck screen slows nobody, and its connection is cut by `displays.http.connection`.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Literal

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from displays.live import BEAT_SECONDS, Document, Live, encode_health

__all__ = ["HEADERS", "StateStream", "known_id", "until_gone"]

HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
"""Of every stream."""


class StateStream:
    """An ASGI response that lasts as long as its screen.

    Args:
        live: what is shown.
        form: `public`, or `full` for people who are logged in.
        known: the `id` of the newest document that the screen has; it is not sent that one again.
        epoch: tells this process's ids from those of another.
        build: of the pages; a screen with an older one loads itself anew.
        still_welcome: asked at each beat; the stream ends when it says no.
    """

    def __init__(
        self,
        live: Live,
        *,
        form: Literal["public", "full"],
        known: str,
        epoch: str,
        build: str,
        still_welcome: Callable[[], bool] = lambda: True,
    ) -> None:
        self._live = live
        self._form = form
        self._sent = known
        self._epoch = epoch
        self._build = build
        self._still_welcome = still_welcome
        self._wake = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve until the screen goes, is cut, or is not welcome any more."""
        if scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            await send({"type": "http.response.body", "body": b""})
            return
        unsubscribe = self._live.subscribe(self._wake.set)
        gone = asyncio.ensure_future(until_gone(receive))
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
        """The newest document if the screen does not have it, and a beat."""
        beat = b"event: beat\ndata: %b\n\n" % encode_health(self._live.health())
        document = self._live.document
        if document is None or (mark := self._mark(document)) == self._sent:
            return beat
        self._sent = mark
        data = document.public if self._form == "public" else document.full
        return b"event: state\nid: %b\ndata: %b\n\n%b" % (mark.encode(), data, beat)

    def _mark(self, document: Document) -> str:
        return f"{document.position}-{document.serial}-{self._epoch}"

    async def _say(self, send: Send, text: bytes) -> None:
        await send({"type": "http.response.body", "body": text, "more_body": True})


async def until_gone(receive: Receive) -> None:
    """Until the screen has hung up."""
    while (await receive())["type"] != "http.disconnect":
        pass


def known_id(request: Request) -> str:
    """The `id` of the newest document that a screen has; empty where it has none.

    A browser that reconnects by itself says it in a header; a page that opens a connection of its
    own cannot, and says it in the address.
    """
    header = request.headers.get("last-event-id", "")
    return header or request.query_params.get("known", "")
