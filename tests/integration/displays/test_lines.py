"""The screens' server on real sockets: whoever drips, hangs or takes nothing is cut off.

Its bounds are made short, so that the tests are; that they are bounds is what is tested.
"""

import asyncio
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from displays.app import SCREENS_MOST
from displays.auth.accounts import save_accounts
from displays.http import security as guard
from displays.http import server as web
from displays.http.server import ADDRESS_MOST, CONNECTIONS_MOST
from displays.service import DisplayService
from tests.support.machine.waiting import PATIENCE_SECONDS, until
from tests.support.service.screen_server import Line, address_of, open_line, serving, shown

SHORT_S = 0.3
QUICK_S = 5.0  # a page takes milliseconds, a starved machine some seconds
GET = "GET {} HTTP/1.1\nhost: 127.0.0.1\n\n"
STREAM = GET.format("/events")
SCREEN_MOST_BYTES = 1_000_000


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(web, "HEAD_SECONDS", SHORT_S)
    monkeypatch.setattr(web, "UNTAKEN_SECONDS", SHORT_S)
    monkeypatch.setattr(guard, "BODY_SECONDS", SHORT_S)
    monkeypatch.setattr(web, "_UNTAKEN_MS", round(SHORT_S * 1000))
    return monkeypatch


async def ends(line: Line) -> bytes:
    """Whatever is said until the server hangs up."""
    reader, writer = line
    said = b""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while piece := await reader.read(65_536):
                said += piece
    except ConnectionError:
        pass  # what dripped into its farewell is answered by a reset
    finally:
        writer.close()
    return said


async def answers(started: DisplayService, path: str = "/") -> float:
    """How long a page takes, in seconds."""
    began = time.monotonic()
    reader, writer = await open_line(started, GET.format(path))
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert b"200" in await reader.readline()
    writer.close()
    return time.monotonic() - began


async def drip(line: Line, text: bytes) -> None:
    """A byte now and then, for as long as they are taken."""
    for byte in text:
        line[1].write(bytes([byte]))
        try:
            await line[1].drain()
        except ConnectionError:
            return
        await asyncio.sleep(SHORT_S / 5)


@pytest.mark.parametrize(
    "head",
    [
        "",
        "GET / HTTP/1.1\n",
        "GET / HTTP/1.1\nhost: 127.0.0.1\nx-filler: ",
        GET.format("/static/icon.svg"),
        GET.format("/static/icon.svg") + "GET / HTTP/1.1\nx-filler: ",
    ],
    ids=["nothing", "a line", "half a head", "nothing more", "half a second head"],
)
@pytest.mark.usefixtures("short")
async def test_a_head_that_does_not_come_is_not_waited_for(head: str) -> None:
    async with serving() as started:
        line = await open_line(started, head)
        # An answer is read before anything drips: what comes behind a close resets the connection,
        # and takes from its reader what was not read by then.
        said = await line[0].readline() if "icon.svg" in head else b""
        dripping = asyncio.ensure_future(drip(line, b"a" * 1_000)) if head.endswith(" ") else None
        said += await ends(line)
        assert said.startswith(b"HTTP/1.1 200") is ("icon.svg" in head)
        if dripping:
            await dripping
        assert await answers(started) < QUICK_S


@pytest.mark.usefixtures("short")
async def test_a_body_that_drips_is_not_waited_for(tmp_path: Path) -> None:
    users = tmp_path / "users.toml"
    save_accounts(users, {})
    head = (
        "POST /login HTTP/1.1\nhost: 127.0.0.1\ncontent-length: 1000\n"
        "content-type: application/x-www-form-urlencoded\n\n"
    )
    async with serving(users=users) as started:
        line = await open_line(started, head)
        dripping = asyncio.ensure_future(drip(line, b"a" * 1_000))
        assert (await ends(line)).startswith(b"HTTP/1.1 408")
        await dripping


@pytest.mark.usefixtures("short")
async def test_a_body_that_nobody_asked_for_holds_no_connection() -> None:
    head = "POST / HTTP/1.1\nhost: 127.0.0.1\ncontent-length: 1000000\n\n"
    async with serving() as started:
        line = await open_line(started, head)
        dripping = asyncio.ensure_future(drip(line, b"a" * 1_000))
        assert (await ends(line)).startswith(b"HTTP/1.1 405")
        await dripping


@pytest.mark.usefixtures("short")
async def test_dripping_lines_by_the_hundred_slow_nobody() -> None:
    async with serving() as started:
        lines = [await open_line(started, "GET / HTTP/1.1\nx: ") for _ in range(200)]
        dripping = [asyncio.ensure_future(drip(line, b"a" * 50)) for line in lines]
        assert median([await answers(started) for _ in range(20)]) < QUICK_S / 5
        await asyncio.gather(*map(ends, lines))
        await asyncio.gather(*dripping)


@pytest.fixture
def files() -> Iterator[None]:
    """Both ends of every connection are this process's."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4_096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("files")
async def test_beyond_the_most_a_connection_is_cut_and_the_others_go_on() -> None:
    async with serving() as started:
        watching = await open_line(started, STREAM)
        lines = [await open_line(started) for _ in range(CONNECTIONS_MOST - 1)]
        assert await ends(await open_line(started, GET.format("/"))) == b""
        started.live.on_state(shown("BPB", 7), retain=False)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await watching[0].readuntil(b"id: 7-")
        for _, writer in (*lines, watching):
            writer.close()


async def test_one_machine_takes_no_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "is_here", lambda _: False)
    async with serving() as started:
        lines = [await open_line(started, STREAM) for _ in range(ADDRESS_MOST)]
        await until(lambda: started.live.screens == ADDRESS_MOST, "all watch")
        assert await ends(await open_line(started, STREAM)) == b""
        elsewhere = await open_line(started, STREAM, local_addr=("127.0.0.2", 0))
        await until(lambda: started.live.screens == ADDRESS_MOST + 1, "another machine watches")
        for _, writer in (*lines, elsewhere):
            writer.close()


async def test_screens_beyond_the_most_are_told_so() -> None:
    async with serving() as started:
        lines = [await open_line(started, STREAM) for _ in range(SCREENS_MOST)]
        await until(lambda: started.live.screens == SCREENS_MOST, "all watch")
        line = await open_line(started, STREAM)
        assert b"503" in await line[0].readline()
        for _, writer in (*lines, line):
            writer.close()
        await until(lambda: started.live.screens == 0, "nobody watches")


def stuck_line(started: DisplayService) -> socket.socket:
    """A screen whose window is shut: it reads nothing, and its own buffer is small."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    line.connect(address_of(started))
    line.sendall(STREAM.replace("\n", "\r\n").encode())
    return line


def resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    return int(pages) * resource.getpagesize()


async def test_a_stuck_screen_is_dropped_and_slows_nobody(short: pytest.MonkeyPatch) -> None:
    patience_s = 8.0
    short.setattr(web, "UNTAKEN_SECONDS", patience_s)
    short.setattr(web, "_UNTAKEN_MS", round(patience_s * 1_000))
    async with serving() as started:
        before = resident_bytes()
        stuck = [stuck_line(started) for _ in range(50)]
        reader, writer = await open_line(started, STREAM)
        await until(lambda: started.live.screens == len(stuck) + 1, "all watch")
        late, position = [], 0
        while started.live.screens > 1:
            position += 1
            began = time.monotonic()
            started.live.on_state(shown("BPTBBP" * 12, position), retain=False)
            async with asyncio.timeout(PATIENCE_SECONDS):
                await reader.readuntil(b"id: %d-" % position)
            late.append(time.monotonic() - began)
        # More was said than all buffers between us and them hold.
        assert position * len(shown("BPTBBP" * 12, 1)) > 300_000
        assert max(late) < 0.8 * patience_s  # whoever waited for one of them would wait for so long
        assert (resident_bytes() - before) / len(stuck) < SCREEN_MOST_BYTES
        writer.close()
        for each in stuck:
            each.close()


@pytest.mark.usefixtures("short")
async def test_a_stuck_screen_is_dropped_when_next_to_nothing_is_said() -> None:
    """What waits then lies with the system alone, which has a bound of its own."""
    async with serving() as started:
        stuck = stuck_line(started)
        await until(lambda: started.live.screens == 1, "it watches")
        started.live.on_state(shown("BPTBBP" * 12, 1, table="t" * 30_000), retain=False)
        await until(lambda: started.live.screens == 0, "it is dropped")
        stuck.close()


@pytest.mark.parametrize("path", ["/", "/events", "/health", "/static/icon.svg"])
async def test_junk_behind_a_request_ends_it_and_is_no_matter_for_the_log(
    caplog: pytest.LogCaptureFixture, path: str
) -> None:
    """A log that anybody can fill is one that hides what matters."""
    head = f"POST {path} HTTP/1.1\nhost: 127.0.0.1\ntransfer-encoding: chunked\n\n"
    async with serving() as started:
        for junk in (b"ZZ\r\n", b"5\r\nhello\r\nZZ\r\n"):
            for start in (head, head.replace("POST", "GET")):
                line = await open_line(started, start + junk.decode().replace("\r\n", "\n"))
                assert b" 200" not in (await ends(line)).partition(b"\r\n")[0]
        reader, writer = await open_line(started, head.replace("POST", "GET"))
        await reader.readuntil(b"\r\n\r\n")  # it has begun to answer
        writer.write(b"ZZ\r\n")
        await ends((reader, writer))
        await until(lambda: started.live.screens == 0, "nobody watches")
        assert await answers(started) < QUICK_S
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_junk_is_answered_in_one_line_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    junk = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),  # TLS where there is none
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\r\n\r\n",
        b"\0" * 1_000,
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
        b"GET / HTTP/1.1\r\n" + b"x: " + b"a" * 100_000,
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n" + b"a: b\r\n" * 20_000,
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]
    monkeypatch.setattr(web, "HEAD_SECONDS", SHORT_S)
    async with serving() as started:
        for each in junk:
            reader, writer = await open_line(started)
            writer.write(each)
            said = await ends((reader, writer))
            assert len(said) == 0 or said.startswith(b"HTTP/1.1 4") or b"websocket" in each, each
        assert await answers(started) < QUICK_S
