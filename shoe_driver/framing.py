"""The first cut: a stream of bytes into frames and rejected bytes, wherever it was split.

Sans-IO: bytes in, frames out. What comes out depends on the bytes alone and never on how they
were cut into reads (a test feeds every split). Theory of the `enq` framer:

    frame    05 seq kind data* 03 h h     seq '0'-'9', kind printable ASCII, data 80-FF, h 0-9A-F
    anew     05 occurs nowhere else in a frame, so it begins one wherever it comes
    check    a whole frame whose check fails is rejected by itself, at once
    rest     all other bytes are gathered into runs, which end at the next whole frame, at
             `RUN_LIMIT` bytes, or when the stream is broken off (`flush`)

So a megabyte of garbage costs some hundred rejects and no memory. What does not fit here: when
half a frame has waited too long. That needs a clock; the driver writes such a silence into its
journal, and the decoder then calls `flush`.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

__all__ = [
    "CHECKS",
    "FRAMERS",
    "RAW_LIMIT",
    "RUN_LIMIT",
    "Check",
    "EnqFramer",
    "Frame",
    "Framer",
    "Piece",
    "Rejected",
    "make_framer",
    "xor_hex",
]

RUN_LIMIT: Final = 4096  # rejected bytes told in one report
RAW_LIMIT: Final = 64  # ... of which so many are shown; the journal has them all

_ENQ: Final = 0x05


class Frame(Struct, frozen=True, gc=False):
    """A whole frame that passed its check.

    Args:
        offset: where it begins in the stream.
        raw: all of its bytes.
        seq: the device's number, where it has one.
        body: kind and data.
    """

    offset: int
    raw: bytes
    seq: str
    body: bytes


class Rejected(Struct, frozen=True, gc=False):
    """Bytes that are no valid frame.

    Args:
        offset: where they begin in the stream.
        raw: the first `RAW_LIMIT` of them.
        length: how many there are.
        reason: `noise`, `broken_frame` or `bad_check`.
    """

    offset: int
    raw: bytes
    length: int
    reason: str


Piece: TypeAlias = Frame | Rejected
Check: TypeAlias = Callable[[bytes], bool]


class Framer(Protocol):
    """What every framer does."""

    @property
    def pending(self) -> bool:
        """Whether bytes are held back, for a frame or a run that is not finished."""
        ...

    @property
    def offset(self) -> int:
        """How many bytes have been fed."""
        ...

    def feed(self, data: bytes) -> list[Piece]:
        """Take the next bytes; what is complete comes out, in the stream's order."""
        ...

    def flush(self) -> list[Piece]:
        """The stream is broken off here: what is held back is rejected."""
        ...


def xor_hex(raw: bytes) -> bool:
    """Whether an `enq` frame's last two bytes are the XOR of seq through 03 in upper-case hex."""
    check = 0
    for byte in raw[1:-2]:
        check ^= byte
    return b"%02X" % check == raw[-2:]


class EnqFramer:
    """Cuts `05 seq kind data... 03 h h`.

    Args:
        check: what a whole frame must pass.
        data_limit: most data bytes in a frame.
    """

    def __init__(self, check: Check, data_limit: int) -> None:
        head, data = rb"[0-9]", rb"[\x80-\xff]{0,%d}" % data_limit
        self._frames = re.compile(rb"\x05" + head + rb"[ -~]" + data + rb"\x03[0-9A-F]{2}")
        self._begun = re.compile(
            rb"\x05(?:" + head + rb"(?:[ -~](?:" + data + rb"(?:\x03[0-9A-F]?)?)?)?)?"
        )
        self._check = check
        self._held = b""
        self._fed = 0
        self._run = _Run()

    @property
    def pending(self) -> bool:
        """See `Framer.pending`."""
        return bool(self._held) or self._run.length > 0

    @property
    def offset(self) -> int:
        """See `Framer.offset`."""
        return self._fed

    def feed(self, data: bytes) -> list[Piece]:
        """See `Framer.feed`."""
        buffer = self._held + data
        base = self._fed - len(self._held)
        self._fed += len(data)
        out: list[Piece] = []
        done = 0
        for match in self._frames.finditer(buffer):
            start, end = match.span()
            if start > done:
                self._run.add(base + done, buffer[done:start], out)
            self._run.end(out)
            done = end
            raw = buffer[start:end]
            if self._check(raw):
                out.append(Frame(base + start, raw, chr(raw[1]), raw[2:-3]))
            else:
                out.append(Rejected(base + start, raw, len(raw), "bad_check"))
        # Only the last 05 can still become a frame, and only if nothing has spoilt it.
        keep = buffer.rfind(_ENQ, done)
        if keep < 0 or not self._begun.fullmatch(buffer, keep):
            keep = len(buffer)
        self._run.add(base + done, buffer[done:keep], out)
        self._held = buffer[keep:]
        return out

    def flush(self) -> list[Piece]:
        """See `Framer.flush`."""
        out: list[Piece] = []
        self._run.add(self._fed - len(self._held), self._held, out)
        self._run.end(out)
        self._held = b""
        return out


class _Run:
    """A stretch of rejected bytes. Remembers its beginning and its length only."""

    def __init__(self) -> None:
        self.length = 0
        self._offset = 0
        self._raw = b""
        self._broken = False

    def add(self, offset: int, data: bytes, out: list[Piece]) -> None:
        done = 0
        while done < len(data):
            piece = data[done : done + RUN_LIMIT - self.length]
            if not self.length:
                self._offset = offset + done
            self._raw = (self._raw + piece[:RAW_LIMIT])[:RAW_LIMIT]
            self._broken = self._broken or _ENQ in piece
            self.length += len(piece)
            done += len(piece)
            if self.length == RUN_LIMIT:
                self.end(out)

    def end(self, out: list[Piece]) -> None:
        if self.length:
            reason = "broken_frame" if self._broken else "noise"
            out.append(Rejected(self._offset, self._raw, self.length, reason))
            self.length, self._raw, self._broken = 0, b"", False


CHECKS: Final[Mapping[str, Check]] = {"xor-hex": xor_hex}
FRAMERS: Final[Mapping[str, Callable[[Check, int], Framer]]] = {"enq": EnqFramer}


def make_framer(framer: str, check: str, data_limit: int) -> Framer:
    """The framer and the check of these names, which are in the tables above."""
    return FRAMERS[framer](CHECKS[check], data_limit)
