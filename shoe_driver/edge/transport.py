"""Ports by URL: `serial:///dev/serial/by-id/...?baud=4800` and `pty:/path/of/the/link`.

Receive-only and exclusive: pyserial's own lock (flock), which binds whoever asks for it, and on a
serial line TIOCEXCL, by which the kernel refuses everybody else but root. A pseudo-terminal gets no
TIOCEXCL: there it would outlive a killed driver and shut its successor out for as long as the shoe
holds its end (measured). No `readline`, no `read_until`, no blocking read: whoever owns the port
waits for it to be ready. Opening discards what the kernel had buffered, so what comes first may
begin in mid-frame.
"""

import contextlib
import errno
import fcntl
import os
import termios
from collections.abc import Mapping
from glob import glob
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import serial
from msgspec import Struct

from events.errors import InputError, LinkError

__all__ = ["READ_SIZE", "Endpoint", "Port", "parse_url"]

READ_SIZE: Final = 4096
_SCHEMES: Final = "serial:///dev/serial/by-id/...?baud=4800 or pty:/path/of/the/link"
_LOST: Final = "ready but empty: the device was unplugged, or another program reads from the port"
_WHY: Final[Mapping[int, str]] = {
    errno.ENOENT: "does not exist",
    errno.ENXIO: "does not exist (its device is gone)",
    errno.ENODEV: "does not exist (its device is gone)",
    errno.EIO: "does not exist (its device is gone)",
    errno.EACCES: "permission denied; this user must be in the port's group (often dialout)",
    errno.EPERM: "permission denied; this user must be in the port's group (often dialout)",
    errno.ENOTTY: "is no serial port",
}


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where a shoe is connected.

    Args:
        scheme: `serial` or `pty`.
        path: the device, or a pattern that one device matches.
        baud: bits a second; meaningless on a pty.
    """

    scheme: str
    path: str
    baud: int

    def __str__(self) -> str:
        return f"{self.scheme}:{self.path}"


def parse_url(url: str, *, baud: int) -> Endpoint:
    """Read a transport's URL.

    Args:
        url: as in the module's first line.
        baud: the profile's, where the URL names none.

    Raises:
        InputError: an unknown scheme or option, or no absolute path.
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    known = {"baud"} if parts.scheme == "serial" else set()
    if parts.scheme not in ("serial", "pty") or parts.netloc or not parts.path.startswith("/"):
        raise InputError(f"shoe link {url!r}: use {_SCHEMES}")
    if not set(options) <= known or not options.get("baud", "1").isdecimal():
        raise InputError(f"shoe link {url!r}: the only option is ?baud=NUMBER, of serial:")
    return Endpoint(
        scheme=parts.scheme, path=parts.path, baud=int(options.get("baud", baud)) or baud
    )


class Port:
    """An open port. `read` it when it is ready, and `close` it before it is opened again.

    Args:
        endpoint: where.

    Raises:
        LinkError: it does not exist, is in use, may not be used, or is ambiguous: one line.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._path = _only_match(endpoint.path)
        self._tty_exclusive = endpoint.scheme == "serial"
        try:
            self._serial = serial.Serial(self._path, endpoint.baud, timeout=0, exclusive=True)
        except (OSError, ValueError) as error:
            # SerialException is an OSError; ValueError is a baud rate the line cannot do.
            raise LinkError(_explain(self._path, error)) from error
        if self._tty_exclusive:
            self._set_exclusive(termios.TIOCEXCL)

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return self._serial.fileno()

    def read(self) -> bytes:
        """What has arrived; call it when the port is ready.

        Raises:
            LinkError: the link is lost.
        """
        try:
            data = os.read(self._serial.fileno(), READ_SIZE)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise LinkError(f"port {self._path}: {error.strerror}") from error
        if not data:
            raise LinkError(f"port {self._path}: {_LOST}")
        return data

    def close(self) -> None:
        """Let go of the port: when this returns, the descriptor is closed. May be repeated."""
        if self._serial.is_open:
            if self._tty_exclusive:
                self._set_exclusive(termios.TIOCNXCL)
            self._serial.close()

    def _set_exclusive(self, request: int) -> None:
        # A device that is gone, or that knows no exclusive mode, still has the flock.
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._serial.fileno(), request)


def _only_match(path: str) -> str:
    """The one device that a pattern means; a plain path means itself."""
    if not any(mark in path for mark in "*?["):
        return path
    matches = sorted(glob(path))  # noqa: PTH207 - an absolute pattern, which Path.glob refuses
    if len(matches) > 1:
        raise LinkError(f"port {path}: {len(matches)} devices match: {', '.join(matches)}")
    return matches[0] if matches else path


def _explain(path: str, error: Exception) -> str:
    number = getattr(error, "errno", None)
    if number in (errno.EBUSY, errno.EAGAIN):
        return f"port {path}: in use by {_holder(path) or 'another program'}"
    why = _WHY.get(number) if number is not None else None
    return f"port {path}: {why or ' '.join(str(error).split())}"


def _holder(path: str) -> str | None:
    """Which process has the device open, as far as we may see."""
    real = os.path.realpath(path)
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if str(link.readlink()) == real and link.parts[2] != str(os.getpid()):
                name = Path("/proc", link.parts[2], "comm").read_text("utf-8").strip()
                return f"process {link.parts[2]} ({name})"
    return None
