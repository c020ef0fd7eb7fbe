"""Where a shoe is connected, by URL.

serial:///dev/serial/by-id/...?baud=4800   a serial port; a pattern must mean one device
tcp://host:port                            a serial device server, raw bytes
pty:/path/of/the/link                      a pseudo-terminal: the simulator
file:capture.raw?speed=1                   a capture or a driver's journal, once from its start
"""

import math
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from msgspec import Struct

from events.errors import InputError
from shoe_driver.profiles.profile import SerialOptions

__all__ = ["Endpoint", "parse_url"]

_SCHEMES: Final = (
    "serial:///dev/serial/by-id/...?baud=4800, tcp://host:port, pty:/path/of/the/link "
    "or file:capture.raw?speed=1"
)
_BAUD: Final = re.compile(r"[0-9]{1,9}")
_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "serial": frozenset({"baud"}),
    "tcp": frozenset(),
    "pty": frozenset(),
    "file": frozenset({"speed"}),
}


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where a shoe is connected.

    Args:
        scheme: `serial`, `tcp`, `pty` or `file`.
        path: the device, or a pattern that one device matches; for `tcp` the host.
        baud: bits a second; meaningless on a pty and through a device server.
        port: for `tcp`.
        speed: for `file`: how many times the original speed; 0 is all at once.
        line: the profile's settings of a serial line; None is 8N1 without flow control.
    """

    scheme: str
    path: str
    baud: int
    port: int = 0
    speed: float = 1.0
    line: SerialOptions | None = None

    def __str__(self) -> str:
        if self.scheme == "tcp":
            host = f"[{self.path}]" if ":" in self.path else self.path
            return f"tcp://{host}:{self.port}"
        return f"{self.scheme}:{self.path}"


def parse_url(url: str, *, baud: int, line: SerialOptions | None = None) -> Endpoint:
    """Parse a transport's URL.

    Args:
        url: as in the module's first lines.
        baud: the profile's, for a URL that names none.
        line: the profile's other settings of the line.

    Raises:
        InputError: an unknown scheme or option, or an impossible place.
    """
    try:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        if not _placed(parts):
            raise InputError(f"shoe link {url!r}: use {_SCHEMES}")
        port = parts.port or 0
    except ValueError as error:  # brackets without an end, a port that is not a number
        raise InputError(f"shoe link {url!r}: {error}; use {_SCHEMES}") from error
    speed = _speed(options.get("speed", "1"))
    if (
        not set(options) <= _OPTIONS[parts.scheme]
        or not _BAUD.fullmatch(options.get("baud", "1"))
        or speed is None
    ):
        raise InputError(
            f"shoe link {url!r}: the only option is ?baud=NUMBER, of serial:, and ?speed=NUMBER "
            "(0 is all at once), of file:"
        )
    return Endpoint(
        scheme=parts.scheme,
        path=parts.hostname or "" if parts.scheme == "tcp" else parts.path,
        baud=int(options.get("baud", baud)) or baud,
        port=port,
        speed=speed,
        line=line,
    )


def _placed(parts: SplitResult) -> bool:
    """Report whether the URL has what its scheme needs, and no more."""
    if parts.fragment:
        return False
    if parts.scheme == "tcp":
        return bool(parts.hostname and parts.port) and parts.path in ("", "/") and not parts.query
    if parts.scheme == "file":
        return not parts.netloc and bool(parts.path)
    return parts.scheme in _OPTIONS and not parts.netloc and parts.path.startswith("/")


def _speed(text: str) -> float | None:
    try:
        speed = float(text)
    except ValueError:
        return None
    return speed if speed >= 0 and math.isfinite(speed) else None
