"""The framers `cobs` and `slip`: stuffed bodies, with a byte between them that occurs nowhere else.

    frame    a stuffed body, then the delimiter (`00` of COBS, `C0` of SLIP)
    empty    nothing between two delimiters is no frame: a sender may begin with one
    check    a well-formed frame whose check fails is rejected by itself, at once
    rest     all other bytes are gathered into runs, with the delimiters in them: `not_cobs` or
             `not_slip`, `bad_length`, `too_long`, `broken_frame`

COBS: S. Cheshire, M. Baker, IEEE/ACM Transactions on Networking 7(2), 1999. SLIP: RFC 1055.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from cobs import cobs  # type: ignore[import-untyped] # it has no types

from shoe_driver.framing.checks import layout_of
from shoe_driver.framing.frames import Frame, Framer, Piece, Rejected
from shoe_driver.framing.grammar import FramerSpec, WireForm

__all__ = ["STUFFINGS", "ChunkFramer", "Stuffing", "cobs_encode", "slip_encode"]

_GROUP: Final = 254
_END, _ESC, _ESC_END, _ESC_ESC = b"\xc0", b"\xdb", b"\xdb\xdc", b"\xdb\xdd"

cobs_encode: Final[Callable[[bytes], bytes]] = cobs.encode
"""Encode bytes in COBS; the result has no 00 in it."""


def slip_encode(data: bytes) -> bytes:
    """Encode bytes in SLIP; the result has no C0 in it."""
    return data.replace(_ESC, _ESC_ESC).replace(_END, _ESC_END)


def _cobs_decode(chunk: bytes) -> bytes:
    try:
        decoded: bytes = cobs.decode(chunk)
    except cobs.DecodeError:
        return b""
    return decoded


def _slip_decode(chunk: bytes) -> bytes:
    if _ESC not in chunk:
        return chunk
    if chunk.count(_ESC) != chunk.count(_ESC_END) + chunk.count(_ESC_ESC):
        return b""
    return chunk.replace(_ESC_END, _END).replace(_ESC_ESC, _ESC)


class Stuffing(NamedTuple):
    """A way to keep the delimiter out of a body.

    Args:
        delimiter: one byte.
        decode: a chunk without a delimiter to its body; empty where it is none.
        reason: why such a chunk is rejected.
        stuffed: the most bytes that a body of so many becomes.
    """

    delimiter: bytes
    decode: Callable[[bytes], bytes]
    reason: str
    stuffed: Callable[[int], int]


STUFFINGS: Final[Mapping[str, Stuffing]] = {
    "cobs": Stuffing(b"\0", _cobs_decode, "not_cobs", lambda size: size + 1 + size // _GROUP),
    "slip": Stuffing(_END, _slip_decode, "not_slip", lambda size: 2 * size),
}


class ChunkFramer(Framer):
    """Splits the stream at the delimiter, and decodes each chunk.

    Args:
        form: framer `cobs` or `slip`.
    """

    def __init__(self, form: WireForm) -> None:
        super().__init__("broken_frame")
        self._stuffing = STUFFINGS[form.framer.kind]
        self._framer = form.framer
        self._limit = self._stuffing.stuffed(form.framer.most)
        self._layout = layout_of(form, 0, 0)
        self._least = max(
            self._layout.least, form.framer.at + form.framer.width if form.framer.adds else 0
        )
        self._skip = False  # the rest of this chunk is too long

    def feed(self, data: bytes) -> list[Piece]:
        """See `Framer.feed`."""
        at, buffer = self._take(data)
        out: list[Piece] = []
        delimiter = self._stuffing.delimiter
        *chunks, rest = buffer.split(delimiter)
        for chunk in chunks:
            if self._skip:
                self._run.add(at, chunk + delimiter, out, "too_long")
                self._skip = False
            elif chunk:
                self._chunk(at, chunk, out)
            elif self._run.length:
                self._run.add(at, delimiter, out)
            at += len(chunk) + 1
        self._skip = self._skip or len(rest) > self._limit
        if self._skip:
            self._run.add(at, rest, out, "too_long")
            rest = b""
        self._held = rest
        return out

    def _chunk(self, at: int, chunk: bytes, out: list[Piece]) -> None:
        if len(chunk) > self._limit:
            reason, decoded = "too_long", b""
        elif not (decoded := self._stuffing.decode(chunk)):
            reason = self._stuffing.reason
        else:
            reason = _length_fault(decoded, self._framer, self._least)
        if reason:
            self._run.add(at, chunk + self._stuffing.delimiter, out, reason)
            return
        if self._run.length:
            self._run.end(out)
        parts = self._layout.take_apart(decoded)
        if isinstance(parts, str):
            out.append(Rejected(at, chunk, len(chunk), parts))
        else:
            out.append(Frame(at, chunk, *parts))


def _length_fault(decoded: bytes, framer: FramerSpec, least: int) -> str:
    if len(decoded) < least or len(decoded) > framer.most:
        return "bad_length"
    if not framer.adds:
        return ""
    told = int.from_bytes(decoded[framer.at : framer.at + framer.width], framer.order)
    return "" if len(decoded) == told + framer.adds else "bad_length"
