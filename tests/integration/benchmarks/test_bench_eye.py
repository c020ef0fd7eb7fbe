"""The bench's eye on a page: it is open once the page listens, not once it is loaded."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from benchmarks.instruments.bare_screens import PAGE
from benchmarks.instruments.browser_frames import FLOOR, PageObserver, browser

LONG_ENOUGH_TO_LOAD_S = 1.0


class SlowStreams:
    """A server of the floor's page whose streams say nothing until they may."""

    def __init__(self) -> None:
        self.asked, self.may_speak = asyncio.Event(), asyncio.Event()
        self.stream: asyncio.StreamWriter | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"GET /events"):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n")
            writer.write(PAGE)
            writer.close()
            return
        self.asked.set()
        await self.may_speak.wait()
        self.stream = writer
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        self.say(b"000000000")

    def say(self, text: bytes) -> None:
        assert self.stream is not None
        self.stream.write(b"data: %b\n\n" % text)


@asynccontextmanager
async def opening() -> AsyncIterator[tuple[SlowStreams, asyncio.Task[PageObserver]]]:
    """A page that is about to be open, behind such a server."""
    slow = SlowStreams()
    server = await asyncio.start_server(slow.serve, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with asyncio.timeout(60), server, AsyncExitStack() as stack:
        chromium = await browser(stack)
        yield slow, asyncio.create_task(PageObserver.open(chromium, address, FLOOR))
        if slow.stream is not None:
            slow.stream.close()


async def test_a_page_whose_stream_is_slow_is_not_open_before_it_listens() -> None:
    async with opening() as (slow, page):
        await slow.asked.wait()
        done, _ = await asyncio.wait({page}, timeout=LONG_ENOUGH_TO_LOAD_S)
        assert not done, "the first that is sent would be lost"
        slow.may_speak.set()
        eye = await page
        slow.say(b"000000001")
        assert await eye.at_ms("000000001") > 0


async def test_what_was_drawn_before_is_no_answer_to_what_is_asked_for_anew() -> None:
    """A coup is drawn more than once, and another shoe has the same numbers."""
    async with opening() as (slow, page):
        slow.may_speak.set()
        eye = await page
        for text in (b"000000001", b"000000002"):
            slow.say(text)
        before = await eye.at_ms("000000002")
        eye.forget()
        slow.say(b"000000001")
        assert await eye.at_ms("000000001") > before
