"""A serial port, or a pseudo-terminal that replaces one.

The port is exclusive by pyserial's own lock (flock), which binds every program that asks for it. On
a serial line TIOCEXCL is set too, by which the kernel refuses everybody except root. A
pseudo-terminal gets no TIOCEXCL: it would outlive a killed driver and shut out its successor for as
long as the shoe holds its end (measured). Opening discards what the kernel had buffered, so the
first bytes may begin in mid-frame.
"""

import contextlib
import errno
import fcntl
import grp
import os
import stat
import termios
from collections.abc import Mapping
from glob import glob
from pathlib import Path
from typing import Final

import serial

from events.errors import OurBug
from shoe_driver.transports.endpoint import Endpoint
from shoe_driver.transports.port_errors import PortError

__all__ = ["SerialPort", "holder"]

_READ_SIZE: Final = 4096
_PLUG: Final = "look at cable, power and adapter; `baccarat shoe list` names the ports there are"
_ONE_READER: Final = "end the other program: a live port has one reader"
_GONE: Final = "does not exist (its device is gone)"
_NO_PORT: Final = ("is no serial port", "name the shoe's port in the link's URL")
_WHY: Final[Mapping[int, tuple[str, str]]] = {
    errno.ENOENT: ("does not exist", _PLUG),
    errno.ENXIO: (_GONE, _PLUG),
    errno.ENODEV: (_GONE, _PLUG),
    errno.EIO: (_GONE, _PLUG),
    errno.ENOTTY: _NO_PORT,
    errno.EISDIR: _NO_PORT,
}
_GROUP_MAY: Final = stat.S_IRGRP | stat.S_IWGRP
_DENIED: Final = frozenset({errno.EACCES, errno.EPERM})
_BUSY: Final = frozenset({errno.EBUSY, errno.EAGAIN})


class SerialPort:
    """See `Port`.

    Args:
        endpoint: where; `serial` or `pty`.
        writes: whether it may be written.

    Raises:
        PortError: it does not exist, is in use, may not be used, or is ambiguous.
    """

    settle_s = 0.0  # opening discards what had waited

    def __init__(self, endpoint: Endpoint, *, writes: bool = False) -> None:
        self._path = _only_match(endpoint.path)
        self._writes = writes
        self._tty_exclusive = endpoint.scheme == "serial"
        try:
            self._serial = _opened(self._path, endpoint)
        except (OSError, ValueError) as error:
            # SerialException is an OSError; ValueError is a baud rate that the line does not
            # support.
            raise _explained(self._path, error) from error
        self._keep_input_at_a_break()
        if self._tty_exclusive:
            self._set_exclusive(termios.TIOCEXCL)

    def fileno(self) -> int:
        """See `Port.fileno`."""
        return self._serial.fileno()

    def read(self) -> bytes:
        """See `Port.read`."""
        try:
            data = os.read(self._serial.fileno(), _READ_SIZE)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise PortError(f"port {self._path}: {error.strerror}", _PLUG) from error
        if not data:
            raise PortError(
                f"port {self._path}: ready but empty: "
                "the device was unplugged, or another program reads from the port",
                _PLUG,
            )
        return data

    def write(self, data: bytes) -> None:
        """See `Port.write`."""
        if not self._writes:
            raise OurBug(f"port {self._path} was opened to be read only")
        try:
            sent = os.write(self._serial.fileno(), data)
        except OSError as error:
            raise PortError(f"port {self._path}: {error.strerror}", _PLUG) from error
        if sent < len(data):
            raise PortError(f"port {self._path}: the device takes nothing", _PLUG)

    def close(self) -> None:
        """See `Port.close`."""
        if self._serial.is_open:
            if self._tty_exclusive:
                self._set_exclusive(termios.TIOCNXCL)
            self._serial.close()

    def _keep_input_at_a_break(self) -> None:
        """Clear a mode that another program may have set, and that pyserial leaves as it is.

        With `BRKINT`, a break on the line discards all that has come and was not yet read.
        """
        with contextlib.suppress(termios.error):  # a device that is gone is seen when it is read
            modes = termios.tcgetattr(self._serial.fileno())
            modes[0] &= ~termios.BRKINT
            termios.tcsetattr(self._serial.fileno(), termios.TCSANOW, modes)

    def _set_exclusive(self, request: int) -> None:
        # A device that is gone, or that has no exclusive mode, still has the flock.
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._serial.fileno(), request)


def _opened(path: str, endpoint: Endpoint) -> serial.Serial:
    """Open a port with the profile's settings; a pseudo-terminal has none."""
    opened = serial.Serial(None, endpoint.baud, timeout=0, exclusive=True)
    opened.port = path
    line = endpoint.line
    if line is not None and endpoint.scheme == "serial":
        opened.bytesize, opened.parity, opened.stopbits = (
            line.data_bits,
            line.parity,
            line.stop_bits,
        )
        opened.xonxoff, opened.rtscts = line.flow == "xonxoff", line.flow == "rtscts"
        opened.dtr, opened.rts = line.dtr, line.rts
    opened.open()
    if line is not None and line.latency_ms <= 1:
        with contextlib.suppress(OSError, ValueError, NotImplementedError):  # an adapter may not
            opened.set_low_latency_mode(True)
    return opened


def holder(path: str) -> str | None:
    """Return which process has the device open, as far as we may see: `process 12 (minicom)`."""
    real = os.path.realpath(path)
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if str(link.readlink()) == real and link.parts[2] != str(os.getpid()):
                name = Path("/proc", link.parts[2], "comm").read_text("utf-8").strip()
                return f"process {link.parts[2]} ({name})"
    return None


def _only_match(path: str) -> str:
    """Return the one device that matches a pattern; a plain path is returned unchanged."""
    if not any(mark in path for mark in "*?["):
        return path
    matches = sorted(glob(path))  # noqa: PTH207 - an absolute pattern, which Path.glob refuses
    if len(matches) > 1:
        reason = f"port {path}: {len(matches)} devices match: {', '.join(matches)}"
        raise PortError(reason, "name one of them in the link's URL")
    return matches[0] if matches else path


def _explained(path: str, error: Exception) -> PortError:
    number = getattr(error, "errno", None) or 0
    if number in _BUSY:
        return PortError(f"port {path}: in use by {holder(path) or 'another program'}", _ONE_READER)
    if number in _DENIED:
        return _denied(path)
    # pyserial's own text repeats the path.
    text = os.strerror(number) if number else " ".join(str(error).split())
    why, hint = _WHY.get(number, (text, _PLUG))
    return PortError(f"port {path}: {why}", hint)


def _denied(path: str) -> PortError:
    """Explain a denied permission by the group that the port belongs to."""
    try:
        status = Path(path).stat()
    except OSError:
        return PortError(f"port {path}: permission denied", "let this user into the port's folder")
    try:
        group = grp.getgrgid(status.st_gid).gr_name
    except KeyError:
        group = str(status.st_gid)
    reason = f"port {path}: permission denied; it belongs to group {group}"
    if (status.st_mode & _GROUP_MAY) != _GROUP_MAY:
        return PortError(reason, "which may not either: give the port's group read and write")
    return PortError(reason, f"add this user to the group {group}, and start the driver again")
