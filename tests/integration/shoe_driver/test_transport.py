"""Ports on real pseudo-terminals, with real second openers: exclusive, lost once, then closed."""

import fcntl
import grp
import os
import select
import struct
import subprocess
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from events.errors import InputError, LinkError, OurBug
from shoe_driver.transports.endpoint import Endpoint, parse_url
from shoe_driver.transports.serial_port import SerialPort
from tests.support.machine.waiting import until_blocking

NOBODY = 65534
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


class Shoe:
    """The other end of the line, under a link that stays the same."""

    def __init__(self, link: Path) -> None:
        self.link = link
        self.master = -1
        self.plug_in()

    def plug_in(self) -> None:
        self.master, slave = os.openpty()
        tty.setraw(slave)
        self.link.unlink(missing_ok=True)
        self.link.symlink_to(os.ttyname(slave))
        os.close(slave)

    def unplug(self) -> None:
        # First the name: the system gives the number to the next pseudo-terminal that is opened.
        self.link.unlink(missing_ok=True)
        os.close(self.master)
        self.master = -1

    def say(self, data: bytes) -> None:
        os.write(self.master, data)


@pytest.fixture
def shoe(tmp_path: Path) -> Iterator[Shoe]:
    made = Shoe(tmp_path / "shoe")
    yield made
    with suppress(OSError):
        os.close(made.master)


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


@contextmanager
def another(program: str, path: Path | str) -> Iterator[str]:
    """Another process runs `program` on the port; yields its first line, ends it afterwards."""
    with subprocess.Popen(
        [sys.executable, "-c", program, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=ENVIRONMENT,
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
def test_what_the_shoe_says_arrives_as_it_is(shoe: Shoe, scheme: str) -> None:
    every_byte = bytes(range(256))
    with opened(shoe.link, scheme) as port:
        shoe.say(every_byte)
        got = b""
        while len(got) < len(every_byte):
            got += read_ready(port)
    assert got == every_byte


def test_we_never_write_to_the_shoe(shoe: Shoe) -> None:
    with opened(shoe.link) as port:
        shoe.say(b"\x05\x30\x53")
        read_ready(port)
        assert select.select([shoe.master], [], [], 0)[0] == []


def waiting(terminal: int) -> int:
    """How many bytes a reader of this terminal would find."""
    (found,) = struct.unpack("i", fcntl.ioctl(terminal, termios.FIONREAD, b"\0" * 4))
    return int(found)


def test_what_waited_before_the_port_was_opened_is_discarded(shoe: Shoe) -> None:
    slave = os.open(shoe.link, os.O_RDWR | os.O_NOCTTY)
    shoe.say(b"stale")
    until_blocking(lambda: waiting(slave) == len(b"stale"), "the kernel hands it over")
    with opened(shoe.link) as port:
        shoe.say(b"fresh")
        assert read_ready(port) == b"fresh"
    os.close(slave)


def test_a_port_that_is_only_read_cannot_be_written(shoe: Shoe) -> None:
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


def test_a_port_in_use_says_by_whom(shoe: Shoe) -> None:
    """Rows 2 to 4 and 15: two readers would each get half of the bytes."""
    with another(HOLD_LOCKED, shoe.link) as said:
        assert said == "held"
        with pytest.raises(LinkError, match=r"in use by process \d+ \(python[^)]*\); end the"):
            SerialPort(endpoint(shoe.link))
    with opened(shoe.link) as port:  # the dead hold nothing
        assert port.fileno() >= 0


@pytest.mark.parametrize("scheme", ["pty", "serial"])
def test_while_we_hold_the_port_a_locking_program_is_refused(shoe: Shoe, scheme: str) -> None:
    with opened(shoe.link, scheme), another(HOLD_LOCKED, shoe.link) as said:
        assert said == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="the kernel lets only root become another user")
def test_on_a_serial_line_the_kernel_refuses_every_other_user(shoe: Shoe) -> None:
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
def test_permission_denied_names_the_group_that_may(shoe: Shoe, mode: int, hint: str) -> None:
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


def test_an_unplugged_port_is_lost_and_can_be_opened_again(shoe: Shoe) -> None:
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


def test_a_closed_port_is_really_closed(shoe: Shoe) -> None:
    port = SerialPort(endpoint(shoe.link))
    descriptor = port.fileno()
    port.close()
    port.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_an_empty_read_is_a_loss_and_never_a_wait(shoe: Shoe) -> None:
    """Row 1: named in the words of both causes, the plug and the second reader."""
    with opened(shoe.link) as port, pytest.raises(LinkError, match="another program reads"):
        port.read()


def test_a_pattern_must_mean_one_device(shoe: Shoe, tmp_path: Path) -> None:
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


def test_the_descriptor_count_stays_the_same(shoe: Shoe) -> None:
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
