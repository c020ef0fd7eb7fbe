"""The world's line and clock keep what the real ones keep: one suite, run against both."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import pytest

from events.clock import Clock, SystemClock, rfc3339
from events.errors import LinkError
from simulators.device.pty_port import PtyPort
from simulators.world.parts.clock import WorldClock
from simulators.world.parts.port import WorldPort

LIMIT_S = 10.0


class RealLine:
    def __init__(self, folder: Path) -> None:
        self.port = PtyPort(folder / "shoe")
        self._fd = -1

    async def write(self, data: bytes) -> None:
        await self.port.write(data)

    async def release(self) -> None:
        await self.port.release()

    def open(self) -> None:
        self._fd = os.open(self.port.link, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    async def read(self, size: int) -> bytes:
        taken = b""
        async with asyncio.timeout(LIMIT_S):
            while len(taken) < size:
                with suppress(BlockingIOError):
                    taken += os.read(self._fd, size - len(taken))
                await asyncio.sleep(0.001)
        return taken

    async def is_lost(self) -> bool:
        try:
            return os.read(self._fd, 1) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def say(self, data: bytes) -> None:
        os.write(self._fd, data)


class WorldLine:
    def __init__(self) -> None:
        self.port = WorldPort()

    async def write(self, data: bytes) -> None:
        self.port.write(data)

    async def release(self) -> None:
        self.port.release()

    def open(self) -> None:
        self.port.open()

    def close(self) -> None:
        self.port.close()

    async def read(self, size: int) -> bytes:
        return self.port.read(size)

    async def is_lost(self) -> bool:
        try:
            self.port.read(1)
        except LinkError:
            return True
        return False

    def say(self, data: bytes) -> None:
        self.port.say(data)


Line: TypeAlias = RealLine | WorldLine


@pytest.fixture(params=["real", "world"])
async def line(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Line]:
    made = RealLine(tmp_path) if request.param == "real" else WorldLine()
    made.port.plug_in()
    yield made
    made.close()
    made.port.unplug()


async def test_what_is_sent_with_nobody_there_is_lost_and_what_comes_then_is_not(
    line: Line,
) -> None:
    await line.write(b"lost")
    assert line.port.unheard == b"lost"
    line.open()
    assert line.port.reader_is_there
    await line.write(b"heard")
    assert await line.read(5) == b"heard"


async def test_what_is_held_comes_in_one_burst(line: Line) -> None:
    line.open()
    line.port.hold()
    await line.write(b"one")
    await line.write(b"two")
    await line.release()
    assert await line.read(6) == b"onetwo"


async def test_the_reader_loses_an_unplugged_line_and_must_open_the_next(line: Line) -> None:
    line.open()
    line.port.unplug()
    assert await line.is_lost()
    line.port.plug_in()
    assert not line.port.reader_is_there
    assert await line.is_lost()
    line.close()
    line.open()
    await line.write(b"new")
    assert await line.read(3) == b"new"


async def test_there_is_nothing_to_open_where_nothing_is_plugged_in(line: Line) -> None:
    line.port.unplug()
    with pytest.raises((LinkError, OSError)):
        line.open()


async def test_what_the_driver_says_comes_to_the_shoe_once(line: Line) -> None:
    line.open()
    line.say(b"\x00ack\x00")
    assert line.port.received() == b"\x00ack\x00"
    assert line.port.received() == b""


def test_another_program_keeps_the_driver_out_and_a_second_reader_takes_bytes() -> None:
    port = WorldPort()
    port.plug_in()
    port.occupied = True
    with pytest.raises(LinkError, match="another program"):
        port.open()
    port.occupied = False
    port.open()
    port.steals = True
    port.write(b"123456")
    assert port.read(9) == b"456"


@pytest.mark.parametrize("clock", [SystemClock(), WorldClock()], ids=["real", "world"])
def test_a_clock_never_steps_back_and_writes_what_the_table_reads(clock: Clock) -> None:
    first = clock.mono_us()
    if isinstance(clock, WorldClock):
        clock.go_on(5)
        clock.until(3)
    assert clock.mono_us() >= first
    assert clock.mono_us() < 2**53
    assert rfc3339(clock.utc_ns()).startswith("20")
