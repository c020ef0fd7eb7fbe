"""Serial device servers over real sockets: refused, mute, old bytes first, gone."""

import asyncio
import socket
import time
from contextlib import closing

import pytest

from baccarat.local_brokers.nats import LOOPBACK
from events.errors import LinkError, OurBug
from shoe_driver.transports.endpoint import parse_url
from shoe_driver.transports.tcp_port import CONNECT_S, TcpPort
from tests.support.machine.waiting import until
from tests.support.shoe.device_server import serving


async def connect(url: str, *, writes: bool = False) -> TcpPort:
    return await TcpPort.connect(parse_url(url, baud=4800), writes=writes)


def option(port: TcpPort, level: int, name: int) -> int:
    with socket.socket(fileno=socket.dup(port.fileno())) as mine:
        return mine.getsockopt(level, name)


async def test_what_the_shoe_says_arrives_as_it_is() -> None:
    async with serving() as server:
        with closing(await connect(server.url)) as port:
            await until(lambda: server.connected, "it is connected")
            server.say(bytes(range(256)))
            got = b""
            while len(got) < 256:
                await asyncio.sleep(0)
                got += port.read()
    assert got == bytes(range(256))


async def test_a_peer_that_dies_is_asked_for_life() -> None:
    """Row 14: the kernel asks after 4 s of silence, three times in 6 s more."""
    async with serving() as server:
        with closing(await connect(server.url)) as port:
            assert option(port, socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            asked = [
                option(port, socket.IPPROTO_TCP, name)
                for name in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
            ]
            assert asked == [4, 2, 3]


async def test_a_server_that_hangs_up_is_a_loss() -> None:
    async with serving() as server:
        with closing(await connect(server.url)) as port:
            await until(lambda: server.connected, "it is connected")
            assert port.read() == b""
            server.hang_up()
            found: list[LinkError] = []

            def lost() -> bool:
                try:
                    port.read()
                except LinkError as error:
                    found.append(error)
                return bool(found)

            await until(lost, "the loss is seen")
            assert "the device server closed the connection; look at" in str(found[0])


async def test_a_server_that_does_not_listen_is_said_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        url = f"tcp://{LOOPBACK}:{taken.getsockname()[1]}"
        with pytest.raises(LinkError, match=rf"^{url}: Connection refused; the device server does"):
            await connect(url)


async def test_a_server_that_never_answers_is_given_up() -> None:
    """Its queue is full: the kernel drops our call, as a dead network does."""
    with socket.socket() as deaf, socket.socket() as first, socket.socket() as second:
        deaf.bind((LOOPBACK, 0))
        deaf.listen(0)
        for caller in (first, second):
            caller.setblocking(False)
            caller.connect_ex(deaf.getsockname())
        began = time.monotonic()
        with pytest.raises(LinkError, match=r"no answer within 2 s; look at the device server"):
            await connect(f"tcp://{LOOPBACK}:{deaf.getsockname()[1]}")
        assert CONNECT_S <= time.monotonic() - began < CONNECT_S + 30


async def test_a_host_that_is_no_host() -> None:
    with pytest.raises(LinkError, match=r"^tcp://no-such-host\.invalid:4001: "):
        await connect("tcp://no-such-host.invalid:4001")


async def test_it_is_written_only_where_that_was_said() -> None:
    async with serving() as server:
        with closing(await connect(server.url)) as port, pytest.raises(OurBug):
            port.write(b"x")
        with closing(await connect(server.url, writes=True)) as port:
            port.write(b"acknowledged")
            await until(lambda: server.got == b"acknowledged", "it arrives")
