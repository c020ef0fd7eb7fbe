"""The bench's eye on a page: it is open once the page listens, not once it is loaded."""

import asyncio
from contextlib import AsyncExitStack

from benchmarks.bare_screens import PAGE
from benchmarks.eye import FLOOR, Eye, browser

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
        writer.write(b"data: 000000000\n\n")


async def test_a_page_whose_stream_is_slow_is_not_open_before_it_listens() -> None:
    slow = SlowStreams()
    server = await asyncio.start_server(slow.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with asyncio.timeout(60), server, AsyncExitStack() as stack:
        chromium = await browser(stack)
        opening = asyncio.create_task(Eye.open(chromium, f"http://127.0.0.1:{port}/", FLOOR))
        await slow.asked.wait()
        done, _ = await asyncio.wait({opening}, timeout=LONG_ENOUGH_TO_LOAD_S)
        assert not done, "the first that is sent would be lost"

        slow.may_speak.set()
        eye = await opening
        assert slow.stream is not None
        slow.stream.write(b"data: 000000001\n\n")
        assert await eye.at_ms("000000001") > 0
        slow.stream.close()
