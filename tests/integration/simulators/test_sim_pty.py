"""The simulated shoe on its serial port, against real readers: what happened, byte for byte."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import serial

from events.errors import LinkError
from simulators.device.pty_port import INSTANT, SERIAL_4800, Pace, PtyPort
from simulators.device.reports import Disclosure
from simulators.shoe.dealing import DealingShoe, ReportStep
from simulators.shoe.player import DealtCoup, ShoeSimulator

LIMIT_S = 60.0
ALL_BYTES = bytes(range(256))


@pytest.fixture
async def port(tmp_path: Path) -> AsyncIterator[PtyPort]:
    made = PtyPort(tmp_path / "shoe")
    made.plug_in()
    yield made
    made.unplug()


@contextmanager
def _reader(port: PtyPort) -> Iterator[int]:
    fd = os.open(port.link, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        yield fd
    finally:
        os.close(fd)


async def _read(fd: int, size: int) -> bytes:
    """Read until `size` bytes have come; the deadline is the test's."""
    taken = b""
    async with asyncio.timeout(LIMIT_S):
        while len(taken) < size:
            try:
                taken += os.read(fd, size - len(taken))
            except BlockingIOError:
                await asyncio.sleep(0.001)
    return taken


async def test_every_byte_value_passes_unchanged(port: PtyPort) -> None:
    with _reader(port) as fd:
        await port.write(ALL_BYTES)
        assert await _read(fd, 256) == ALL_BYTES
    assert port.lost_bytes == 0


async def test_a_reading_process_gets_what_was_written(port: PtyPort) -> None:
    program = (
        "import os, sys\n"
        "fd = os.open(sys.argv[1], os.O_RDONLY | os.O_NOCTTY)\n"
        "data = b''\n"
        "while len(data) < 256: data += os.read(fd, 256)\n"
        "print(data.hex())\n"
    )
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(port.link), stdout=subprocess.PIPE
    )
    assert await port.reader(LIMIT_S)
    await port.write(ALL_BYTES)
    said, _ = await asyncio.wait_for(child.communicate(), LIMIT_S)
    assert bytes.fromhex(said.decode()) == ALL_BYTES


async def test_pyserial_opens_it_as_it_would_a_shoe(port: PtyPort) -> None:
    with serial.Serial(str(port.link), 4800, timeout=LIMIT_S, exclusive=True) as line:
        await port.write(ALL_BYTES)
        assert await asyncio.to_thread(line.read, 256) == ALL_BYTES


async def test_it_knows_whether_a_reader_is_there(port: PtyPort) -> None:
    seen = [port.reader_is_there, await port.reader(0.05)]
    with _reader(port):
        seen += [port.reader_is_there, await port.reader(0.05)]
    assert [*seen, port.reader_is_there] == [False, False, True, True, False]


async def test_bytes_sent_to_nobody_are_lost_and_counted_and_never_come_late(port: PtyPort) -> None:
    await port.write(b"before anybody came")
    with _reader(port):
        pass
    await port.write(b"after he left")
    with _reader(port) as fd:
        await port.write(b"now")
        assert await _read(fd, 3) == b"now"
        with pytest.raises(BlockingIOError):
            os.read(fd, 1)
    assert port.lost_bytes == len(b"before anybody came" + b"after he left")


async def test_the_reader_hears_no_echo_and_what_he_writes_is_told(port: PtyPort) -> None:
    with _reader(port) as fd:
        assert port.received() == b""
        os.write(fd, b"hello shoe")
        await port.write(b"x")
        assert await _read(fd, 1) == b"x"
        assert port.received() == b"hello shoe"
    assert port.received() == b""


async def test_pulling_the_plug_ends_the_reader_and_takes_the_link_away(port: PtyPort) -> None:
    with _reader(port) as fd:
        await port.write(b"not taken in time")
        port.unplug()
        try:
            left = os.read(fd, 100)
        except OSError:
            left = b""
        assert left == b"", "the line is gone with what was on it"
    assert not port.link.is_symlink()
    assert not port.plugged_in
    await port.write(b"into the air")
    assert port.lost_bytes == len(b"into the air")
    assert port.received() == b""


async def test_it_comes_back_under_the_same_path_with_another_terminal(port: PtyPort) -> None:
    with _reader(port):
        before = port.link.readlink()
        port.plug_in()
        assert port.link.readlink() != before
        with _reader(port) as fd:
            await port.write(b"again")
            assert await _read(fd, 5) == b"again"
        assert not port.reader_is_there, "the old reader holds a dead line, not the new one"


async def test_4800_baud_take_their_time_and_the_loop_stays_free(tmp_path: Path) -> None:
    port = PtyPort(tmp_path / "shoe", pace=SERIAL_4800)
    port.plug_in()
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.001)

    counting = asyncio.create_task(count())
    with _reader(port) as fd:
        began = time.monotonic()
        handed_over = await port.write(bytes(96))
        took = time.monotonic() - began
        assert len(await _read(fd, 96)) == 96
    counting.cancel()
    port.unplug()
    assert took >= 96 * 10 / 4800
    assert turns > 1
    assert 0.19e9 < handed_over - began * 1e9 < took * 1e9 + 1e6


async def test_chunks_can_be_single_bytes_without_any_wait(tmp_path: Path) -> None:
    port = PtyPort(tmp_path / "shoe", pace=Pace(chunk=1))
    port.plug_in()
    with _reader(port) as fd:
        await port.write(ALL_BYTES)
        assert await _read(fd, 256) == ALL_BYTES
    port.unplug()


async def test_a_reader_who_takes_nothing_overruns_and_blocks_nobody(port: PtyPort) -> None:
    with _reader(port) as fd:
        await asyncio.wait_for(port.write(bytes(300_000)), LIMIT_S)
        assert port.lost_bytes > 0
        left = 300_000 - port.lost_bytes
        assert len(await _read(fd, left)) == left
        assert await _read_some(fd) == b""


async def _read_some(fd: int) -> bytes:
    """What comes within a tenth of a second; the kernel hands bytes over in the background."""
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        try:
            return os.read(fd, 65536)
        except BlockingIOError:
            await asyncio.sleep(0.001)
    return b""


async def test_a_slow_reader_loses_nothing(port: PtyPort) -> None:
    data = bytes(i % 251 for i in range(100_000))
    with _reader(port) as fd:
        writing = asyncio.create_task(port.write(data))
        assert await _read(fd, len(data)) == data
        await writing
    assert port.lost_bytes == 0


async def test_drain_waits_for_the_reader_and_is_honest_when_it_cannot_see(port: PtyPort) -> None:
    assert not await port.drain(0.05), "nobody is there"
    with _reader(port) as fd:
        await port.write(b"abc")
        assert not await port.drain(0.05), "nobody has read"
        draining = asyncio.create_task(port.drain(LIMIT_S))
        assert await _read(fd, 3) == b"abc"
        assert await draining
    port.unplug()
    assert not await port.drain(0.05)


# As another user than root, whom TIOCEXCL does not stop.
EXCLUSIVE = """
import asyncio, fcntl, os, sys, tempfile, termios
from pathlib import Path
from simulators.device.pty_port import PtyPort
async def main():
    port = PtyPort(Path(tempfile.mkdtemp()) / "shoe")
    port.plug_in()
    fd = os.open(port.link, os.O_RDONLY | os.O_NOCTTY)
    fcntl.ioctl(fd, termios.TIOCEXCL)
    await port.write(b"abc")
    print(port.reader_is_there, await port.drain(0.05), os.read(fd, 3), port.lost_bytes)
if os.getuid() == 0:
    os.setuid(65534)  # only now: the interpreter may lie where nobody else can read
asyncio.run(main())
"""


def test_an_exclusive_reader_is_seen_and_served_but_not_looked_into() -> None:
    said = subprocess.run(
        [sys.executable, "-c", EXCLUSIVE],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert said.stdout == "True False b'abc' 0\n", said.stderr


async def test_a_path_that_holds_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("data")
    with pytest.raises(LinkError, match="exists and is no link"):
        PtyPort(path).plug_in()
    assert path.read_text() == "data"


async def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LinkError, match="cannot offer a terminal"):
        PtyPort(tmp_path / "file" / "shoe").plug_in()


async def test_unplugging_leaves_a_link_that_is_not_its_own(port: PtyPort) -> None:
    other = PtyPort(port.link)
    other.plug_in()
    port.unplug()
    assert other.link.is_symlink()
    other.unplug()
    assert not other.link.is_symlink()


async def test_plugging_in_and_out_leaks_no_descriptors(port: PtyPort) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = descriptors()
    for _ in range(50):
        port.plug_in()
        with _reader(port):
            await port.write(b"x")
            await port.drain(0.0)
    assert descriptors() == before


SHOE = "20261127-01"
SEED = 20261127
COUPS = 12


def _expected(disclosure: Disclosure) -> bytes:
    """The bytes by the pure shoe alone, which the unit tests hold against the profile's page."""
    dealing = DealingShoe(seed=SEED, disclosure=disclosure)
    steps = dealing.new_shoe(SHOE)[0]
    for _ in range(COUPS):
        steps += [step for step in dealing.coup()[0] if isinstance(step, ReportStep)]
    return b"".join(step.noise + b"".join(step.copies) for step in steps)


async def _deal(shoe: ShoeSimulator) -> list[DealtCoup]:
    await shoe.new_shoe()
    return [await shoe.deal_coup() for _ in range(COUPS)]


@pytest.mark.parametrize("pace", [INSTANT, Pace(chunk=1), Pace(chunk=5)], ids=repr)
@pytest.mark.parametrize("disclosure", ["immediate", "deferred"])
async def test_a_reader_gets_every_byte_of_shoe_and_coups(
    tmp_path: Path, disclosure: Disclosure, pace: Pace
) -> None:
    port = PtyPort(tmp_path / "shoe", pace=pace)
    port.plug_in()
    dealing = DealingShoe(seed=SEED, disclosure=disclosure)
    shoe = ShoeSimulator(port, dealing, first_shoe=SHOE, speed=0)
    expected = _expected(disclosure)
    with serial.Serial(str(port.link), 4800, timeout=LIMIT_S, exclusive=True) as line:
        reading = asyncio.create_task(asyncio.to_thread(line.read, len(expected)))
        await _deal(shoe)
        assert await reading == expected
    port.unplug()
    assert port.lost_bytes == 0


async def test_the_deciding_moment_is_the_end_of_the_results_first_copy(tmp_path: Path) -> None:
    port = PtyPort(tmp_path / "shoe", pace=Pace(chunk=1, seconds_per_byte=0.001))
    port.plug_in()
    dealing = DealingShoe(seed=SEED)
    dealing.new_shoe(SHOE)
    steps = [step for step in dealing.coup()[0] if isinstance(step, ReportStep)]
    result = next(index for index, step in enumerate(steps) if step.deciding)
    copy = len(steps[result].copies[0])
    after = sum(len(frame) for step in steps[result + 1 :] for frame in step.copies)
    shoe = ShoeSimulator(port, DealingShoe(seed=SEED), first_shoe=SHOE, speed=0)
    fd = os.open(port.link, os.O_RDONLY | os.O_NOCTTY)
    try:
        await shoe.new_shoe()
        began = time.monotonic_ns()
        dealt = await shoe.deal_coup()
        left = time.monotonic_ns() - dealt.decided_ns
    finally:
        os.close(fd)
        port.unplug()
    assert copy == 7
    assert left >= (2 * copy + after) * 1_000_000  # two copies, and the standby where it came
    cards = sum(len(frame) for step in steps[:result] for frame in step.copies)
    assert dealt.decided_ns - began >= (cards + copy - 1) * 1_000_000


async def test_speed_makes_the_pauses_shorter_and_zero_makes_none(tmp_path: Path) -> None:
    port = PtyPort(tmp_path / "shoe")
    port.plug_in()
    took: dict[float, list[float]] = {0.0: [], 20.0: []}
    for speed in (0.0, 0.0, 0.0, 20.0):
        shoe = ShoeSimulator(port, DealingShoe(seed=SEED), first_shoe=SHOE, speed=speed)
        await shoe.new_shoe()
        began = time.monotonic()
        dealt = await shoe.deal_coup()
        took[speed].append(time.monotonic() - began)
    port.unplug()
    # At speed 20 each card takes 100 ms and the result 50 ms.
    pauses = len(dealt.cards) * 0.1 + 0.05
    assert took[20.0][0] >= pauses
    assert min(took[0.0]) < pauses


async def test_shoes_follow_one_another_by_id(tmp_path: Path) -> None:
    port = PtyPort(tmp_path / "shoe")
    port.plug_in()
    shoe = ShoeSimulator(port, DealingShoe(seed=SEED), first_shoe="20261127-99", speed=0)
    begun: list[str] = []
    while len(begun) < 3:
        begun.append((await shoe.new_shoe()).shoe)
        coups = [await shoe.deal_coup()]
        while not shoe.over:
            coups.append(await shoe.deal_coup())
        assert [coup.number for coup in coups] == list(range(1, len(coups) + 1))
        assert {coup.shoe for coup in coups} == {begun[-1]}
        assert [coup.last for coup in coups] == [False] * (len(coups) - 1) + [True]
    port.unplug()
    assert begun == ["20261127-99", "20261128-01", "20261128-02"]
    assert shoe.next_shoe == "20261128-03"
