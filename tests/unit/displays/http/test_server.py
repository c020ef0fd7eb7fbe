"""The web server sleeps while nobody asks for anything, and ends when it is told to."""

import asyncio
import time
from email.utils import parsedate_to_datetime
from typing import Any

from displays.http.server import WebServer

A_MINUTE_S = 60


async def hello(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


async def ask(port: int) -> list[str]:
    """The lines of the answer to a request, after which the connection is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer.decode().split("\r\n")


async def test_no_timer_wakes_a_server_that_nobody_asks() -> None:
    server = WebServer(hello, section="page", host="127.0.0.1", port=0)
    serving = asyncio.ensure_future(server.serve())
    lines = await ask(int(server.address.rstrip("/").rpartition(":")[2]))
    loop: Any = asyncio.get_running_loop()
    assert [timer for timer in loop._scheduled if not timer.cancelled()] == []
    server.stop()
    await serving
    assert lines[0] == "HTTP/1.1 200 OK"
    (date,) = (line.removeprefix("date: ") for line in lines if line.startswith("date: "))
    assert abs(parsedate_to_datetime(date).timestamp() - time.time()) < A_MINUTE_S
