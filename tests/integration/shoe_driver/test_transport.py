"""Ports on real pseudo-terminals, real sockets and files: exclusive, lost once, then closed.

A device server refuses, is mute, brings old bytes first, or is gone; captures and journals are
played in place of a shoe: all bytes, once, at the pace that was asked for.
"""

import asyncio
import fcntl
import grp
import os
import select
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from baccarat.local_brokers.nats import LOOPBACK
from events.clock import SystemClock
from events.errors import InputError, LinkError, OurBug
from shoe_driver.journal.files import Journal
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.profiles.catalogue import profile_text
from shoe_driver.transports.endpoint import Endpoint, parse_url
from shoe_driver.transports.file_port import ReplayPort
from shoe_driver.transports.port_errors import LinkEnded
from shoe_driver.transports.serial_port import SerialPort
from shoe_driver.transports.tcp_port import CONNECT_S, TcpPort
from tests.support.machine.processes import environment
from tests.support.machine.waiting import until, until_blocking
from tests.support.shoe.device_server import serving
from tests.support.shoe.shoe_line import ShoePort

NOBODY = 65534


def endpoint(path: Path | str, scheme: str = "pty") -> Endpoint:
    return Endpoint(scheme=scheme, path=str(path), baud=4800)


@contextmanager
def opened(path: Path | str, scheme: str = "pty") -> Iterator[SerialPort]:
    port = SerialPort(endpoint(path, scheme))
    try:
        yield port
    finally:
        port.close()


def read_ready(port: SerialPort) -> bytes:
    """Wait until the port is ready, then read once."""
    ready, _, _ = select.select([port.fileno()], [], [], 10)
    assert ready, "the port never became ready"
    return port.read()


def test_a_break_discards_nothing_whatever_another_program_has_set() -> None:
    master, slave = os.openpty()
    try:
        modes = termios.tcgetattr(slave)
        modes[0] |= termios.BRKINT
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        with opened(os.ttyname(slave)):
            assert not termios.tcgetattr(slave)[0] & termios.BRKINT
    finally:
        os.close(master)
        os.close(slave)


@contextmanager
def another(program: str, path: Path | str) -> Iterator[str]:
    """Another process runs `program` on the port; yields its first line, ends it afterwards."""
    with subprocess.Popen(
        [sys.executable, "-c", program, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()
        process.kill()


HOLD_LOCKED = (
    "import serial, sys; port = serial.Serial(sys.argv[1], exclusive=True)\n"
    "print('held', flush=True); sys.stdin.read()"
)
OPEN_PLAINLY = (
    f"import os, sys; os.setuid({NOBODY})\n"
    "try: os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY); print('opened', flush=True)\n"
    "except OSError as error: print(error.strerror, flush=True)"
)


@pytest.mark.parametrize("scheme", ["pty", "serial"])
def test_what_the_shoe_says_arrives_as_it_is(shoe: ShoePort, scheme: str) -> None:
    every_byte = bytes(range(256))
    with opened(shoe.link, scheme) as port:
        shoe.say(every_byte)
        got = b""
        while len(got) < len(every_byte):
            got += read_ready(port)
    assert got == every_byte


def test_we_never_write_to_the_shoe(shoe: ShoePort) -> None:
    with opened(shoe.link) as port:
        shoe.say(b"\x05\x30\x53")
        read_ready(port)
        assert select.select([shoe.master], [], [], 0)[0] == []


def waiting(terminal: int) -> int:
    """How many bytes a reader of this terminal would find."""
    (found,) = struct.unpack("i", fcntl.ioctl(terminal, termios.FIONREAD, b"\0" * 4))
    return int(found)


def test_what_waited_before_the_port_was_opened_is_discarded(shoe: ShoePort) -> None:
    slave = os.open(shoe.link, os.O_RDWR | os.O_NOCTTY)
    shoe.say(b"stale")
    until_blocking(lambda: waiting(slave) == len(b"stale"), "the kernel hands it over")
    with opened(shoe.link) as port:
        shoe.say(b"fresh")
        assert read_ready(port) == b"fresh"
    os.close(slave)


def test_a_port_that_is_only_read_cannot_be_written(shoe: ShoePort) -> None:
    with opened(shoe.link) as port:
        with pytest.raises(OurBug, match="to be read only"):
            port.write(b"x")
        assert select.select([shoe.master], [], [], 0)[0] == []
    with closing(SerialPort(endpoint(shoe.link), writes=True)) as port:
        port.write(b"acknowledged")
        assert os.read(shoe.master, 99) == b"acknowledged"


def test_a_port_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(LinkError, match=r"^port .*/shoe: does not exist; look at cable, power"):
        SerialPort(endpoint(tmp_path / "shoe"))


def test_what_is_no_serial_port(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(LinkError, match=r"^port .*/file: [^\n]+$"):
        SerialPort(endpoint(tmp_path / "file"))


def test_a_port_in_use_says_by_whom(shoe: ShoePort) -> None:
    """Rows 2 to 4 and 15: two readers would each get half of the bytes."""
    with another(HOLD_LOCKED, shoe.link) as said:
        assert said == "held"
        with pytest.raises(LinkError, match=r"in use by process \d+ \(python[^)]*\); end the"):
            SerialPort(endpoint(shoe.link))
    with opened(shoe.link) as port:  # the dead hold nothing
        assert port.fileno() >= 0


@pytest.mark.parametrize("scheme", ["pty", "serial"])
def test_while_we_hold_the_port_a_locking_program_is_refused(shoe: ShoePort, scheme: str) -> None:
    with opened(shoe.link, scheme), another(HOLD_LOCKED, shoe.link) as said:
        assert said == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="the kernel lets only root become another user")
def test_on_a_serial_line_the_kernel_refuses_every_other_user(shoe: ShoePort) -> None:
    path = os.path.realpath(shoe.link)  # nobody may not walk to the link
    Path(path).chmod(0o666)
    with opened(shoe.link, "serial"), another(OPEN_PLAINLY, path) as said:
        assert said == "Device or resource busy"
    with another(OPEN_PLAINLY, path) as said:
        assert said == "opened"


@pytest.mark.skipif(os.geteuid() != 0, reason="the kernel lets only root become another user")
@pytest.mark.parametrize(
    ("mode", "hint"),
    [(0o660, "add this user to the group tty"), (0o600, "which may not either")],
)
def test_permission_denied_names_the_group_that_may(shoe: ShoePort, mode: int, hint: str) -> None:
    path = os.path.realpath(shoe.link)
    os.chown(path, -1, grp.getgrnam("tty").gr_gid)
    Path(path).chmod(mode)
    program = (
        "import os, sys\n"
        "from events.errors import LinkError\n"
        "from shoe_driver.transports.endpoint import Endpoint\n"
        "from shoe_driver.transports.serial_port import SerialPort\n"
        f"os.setuid({NOBODY})\n"
        "try: SerialPort(Endpoint(scheme='serial', path=sys.argv[1], baud=4800))\n"
        "except LinkError as error: print(error, flush=True)"
    )
    with another(program, path) as said:
        wanted = f"port {path}: permission denied; it belongs to group tty; {hint}"
        assert said.startswith(wanted)


def test_an_unplugged_port_is_lost_and_can_be_opened_again(shoe: ShoePort) -> None:
    """Rows 1, 6, 7, 19: a hang-up is a loss; the same path works again when it is back."""
    with opened(shoe.link) as port:
        shoe.say(b"one")
        assert read_ready(port) == b"one"
        shoe.unplug()
        with pytest.raises(LinkError, match="port "):
            read_ready(port)
    with pytest.raises(LinkError, match="does not exist"):
        SerialPort(endpoint(shoe.link))
    shoe.plug_in()
    with opened(shoe.link) as port:
        shoe.say(b"two")
        assert read_ready(port) == b"two"


def test_a_closed_port_is_really_closed(shoe: ShoePort) -> None:
    port = SerialPort(endpoint(shoe.link))
    descriptor = port.fileno()
    port.close()
    port.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_an_empty_read_is_a_loss_and_never_a_wait(shoe: ShoePort) -> None:
    """Row 1: named in the words of both causes, the plug and the second reader."""
    with opened(shoe.link) as port, pytest.raises(LinkError, match="another program reads"):
        port.read()


def test_a_pattern_must_mean_one_device(shoe: ShoePort, tmp_path: Path) -> None:
    """Row 20: a device that comes back under another name is found, and never guessed."""
    pattern = str(tmp_path / "sh[o]e*")
    with opened(pattern) as port:
        assert port.fileno() >= 0
    (tmp_path / "shoe-2").symlink_to(shoe.link.readlink())
    with pytest.raises(LinkError, match=r"2 devices match: .*/shoe, .*/shoe-2; name one"):
        SerialPort(endpoint(pattern))
    with pytest.raises(LinkError, match="does not exist"):
        SerialPort(endpoint(tmp_path / "none*"))


URLS = {
    "serial:///dev/serial/by-id/usb-x?baud=9600": ("serial", "/dev/serial/by-id/usb-x", 9600),
    "serial:///dev/ttyUSB0": ("serial", "/dev/ttyUSB0", 4800),
    "pty:/tmp/shoe": ("pty", "/tmp/shoe", 4800),  # noqa: S108 - a text, no file
    "tcp://reader-7.lan:4001": ("tcp", "reader-7.lan", 4800),
    "file:capture.raw?speed=0": ("file", "capture.raw", 4800),
}
WRONG_URLS = (
    "",
    "/dev/ttyUSB0",
    "tcp://127.0.0.1",
    "tcp://127.0.0.1:70000",
    "tcp://127.0.0.1:4001?baud=9600",
    "tcp://[::1",
    "file:",
    "file:capture.raw?speed=fast",
    "file:capture.raw?speed=-1",
    "file:capture.raw?speed=inf",
    "serial://dev/ttyUSB0",
    "serial:",
    "pty:shoe",
    "serial:///dev/ttyUSB0?parity=even",
    "serial:///dev/ttyUSB0?baud=fast",
    "pty:/x?baud=4800",
)


@pytest.mark.parametrize("url", URLS)
def test_url(url: str) -> None:
    found = parse_url(url, baud=4800)
    assert (found.scheme, found.path, found.baud) == URLS[url]


@pytest.mark.parametrize("url", WRONG_URLS)
def test_a_wrong_url_says_what_would_be_right(url: str) -> None:
    with pytest.raises(InputError, match=r"use serial:///dev|the only option is \?baud"):
        parse_url(url, baud=4800)


def test_the_descriptor_count_stays_the_same(shoe: ShoePort) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - the kernel's table

    before = count()
    for _ in range(5):
        with opened(shoe.link):
            pass
    with another(HOLD_LOCKED, shoe.link) as said:
        assert said == "held"
        for _ in range(5):
            with pytest.raises(LinkError):
                SerialPort(endpoint(shoe.link))
    until_blocking(lambda: count() == before, "no descriptor is left behind")
    assert count() == before


async def connect(url: str, *, writes: bool = False) -> TcpPort:
    return await TcpPort.connect(parse_url(url, baud=4800), writes=writes)


def option(port: TcpPort, level: int, name: int) -> int:
    with socket.socket(fileno=socket.dup(port.fileno())) as mine:
        return mine.getsockopt(level, name)


async def test_what_a_shoe_behind_a_server_says_arrives_as_it_is() -> None:
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


async def played(path: Path, speed: float, baud: int = 4800) -> tuple[bytes, float, str]:
    """What comes, how long it takes, and what is said at the end."""
    endpoint = Endpoint(scheme="file", path=str(path), baud=baud, speed=speed)
    got, began = b"", time.monotonic()
    with closing(ReplayPort(endpoint)) as port:
        while True:
            try:
                got += port.read()
            except LinkEnded as ended:
                return got, time.monotonic() - began, str(ended)
            await asyncio.sleep(0.001)


def journal_at(folder: Path, *at_us: int) -> Path:
    """Ten bytes at each of these times."""
    made = Journal.create(folder, "j20261127t000000-1", profile_text("enq-bcc"), SystemClock())
    made.append([Record(RecordKind.OPEN, 0, 0, b"pty:/x")])
    made.append([Record(RecordKind.DATA, at, 0, b"%010d" % at) for at in at_us])
    made.append([Record(RecordKind.CLOSE, at_us[-1], 0, b"unplugged")])
    made.close()
    return made.path


async def test_a_bare_capture_comes_at_the_lines_baud(tmp_path: Path) -> None:
    path = tmp_path / "capture.raw"
    path.write_bytes(bytes(range(240)))
    got, took, ended = await played(path, speed=1)
    assert got == bytes(range(240))
    assert took >= 0.5  # 240 bytes of ten bits at 4800 baud
    assert ended.startswith(f"file {path}: the capture has ended, 240 bytes; it is not played")


async def test_speed_quickens_and_nought_is_at_once(tmp_path: Path) -> None:
    path = tmp_path / "capture.raw"
    path.write_bytes(bytes(200_000))
    got, took, _ = await played(path, speed=0)
    assert (len(got), took < 60) == (200_000, True)  # the line's baud takes seven minutes
    got, took, _ = await played(path, speed=1000)
    assert len(got) == 200_000
    assert 0.4 <= took < 60


async def test_a_journal_comes_at_the_distances_of_its_times(tmp_path: Path) -> None:
    """Only the shoe's bytes; a clock that begins anew is no distance."""
    path = journal_at(tmp_path, 900_000_000, 900_300_000, 5, 200_005)
    got, took, _ = await played(path, speed=1)
    assert got == b"0900000000090030000000000000050000200005"
    assert 0.5 <= took < 60
    (tmp_path / "long").mkdir()
    _, quickly, _ = await played(journal_at(tmp_path / "long", 0, 60_000_000), speed=0)
    assert quickly < 30


async def test_a_damaged_journal_is_played_up_to_the_damage_and_says_so(tmp_path: Path) -> None:
    path = journal_at(tmp_path, 1, 2, 3)
    whole = bytearray(path.read_bytes())
    whole[-60] ^= 1  # within the third
    path.write_bytes(whole)
    got, _, ended = await played(path, speed=0)
    assert got == b"00000000010000000002"
    assert "the journal is damaged" in ended


async def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    endpoint = Endpoint(scheme="file", path=str(tmp_path / "none"), baud=4800)
    with pytest.raises(LinkError, match=r"none: No such file or directory; name a capture"):
        ReplayPort(endpoint)
