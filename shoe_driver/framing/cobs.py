"""The framer `cobs`: bodies in Consistent Overhead Byte Stuffing, with 00 between them.

    frame    COBS(body, CRC-16), then 00; 00 occurs nowhere else, so it ends whatever came before it
    body     version u8, kind u8, boot_id u16, seq u16, device_ms u32, len u8, payload of len bytes
    empty    nothing between two 00 is no frame: a sender may begin with one, to cut off noise
    check    a well-formed frame whose check fails is rejected by itself, at once
    rest     all other bytes are gathered into runs, with the 00 in them: `not_cobs`, `bad_length`,
             `too_long`, `broken_frame`

COBS: S. Cheshire, M. Baker, IEEE/ACM Transactions on Networking 7(2), 1999.
"""

from typing import Final

from shoe_driver.framing.frames import BufferingFramer, Check, Frame, Piece, Rejected

__all__ = ["HEADER_BYTES", "CobsFramer", "cobs_decode", "cobs_encode"]

HEADER_BYTES: Final = 11
_CHECK_BYTES: Final = 2
_LEN_AT: Final = 10
_SEQ: Final = slice(4, 6)
_FULL: Final = 0xFF  # a code for 254 bytes without a 00 after them
_GROUP: Final = 254


class CobsFramer(BufferingFramer):
    """Splits the stream at 00 and decodes COBS.

    Args:
        check: the check that body and CRC must pass.
        data_limit: most bytes of payload.
    """

    def __init__(self, check: Check, data_limit: int) -> None:
        super().__init__("broken_frame")
        longest = HEADER_BYTES + data_limit + _CHECK_BYTES
        self._limit = longest + 1 + longest // _GROUP
        self._check = check
        self._skip = False  # the rest of this chunk is too long

    def feed(self, data: bytes) -> list[Piece]:
        """See `Framer.feed`."""
        at, buffer = self._take(data)
        out: list[Piece] = []
        *chunks, rest = buffer.split(b"\0")
        for chunk in chunks:
            if self._skip:
                self._run.add(at, chunk + b"\0", out, "too_long")
                self._skip = False
            elif chunk:
                self._chunk(at, chunk, out)
            elif self._run.length:
                self._run.add(at, b"\0", out)
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
        elif (decoded := cobs_decode(chunk) or b"") == b"":
            reason = "not_cobs"
        else:
            size = len(decoded) - HEADER_BYTES - _CHECK_BYTES
            reason = "" if size >= 0 and decoded[_LEN_AT] == size else "bad_length"
        if reason:
            self._run.add(at, chunk + b"\0", out, reason)
            return
        self._run.end(out)
        if self._check(decoded):
            seq = str(int.from_bytes(decoded[_SEQ], "big"))
            out.append(Frame(at, chunk, seq, decoded[:-_CHECK_BYTES]))
        else:
            out.append(Rejected(at, chunk, len(chunk), "bad_check"))


def cobs_decode(chunk: bytes) -> bytes | None:
    """Decode a chunk without 00 in it; None if it is not COBS."""
    parts: list[bytes] = []
    at, size = 0, len(chunk)
    while at < size:
        code = chunk[at]
        end = at + code
        if end > size:
            return None
        parts.append(chunk[at + 1 : end])
        if code < _FULL and end < size:
            parts.append(b"\0")
        at = end
    return b"".join(parts)


def cobs_encode(data: bytes) -> bytes:
    """Encode `data` in COBS; the result has no 00 in it."""
    out: list[bytes] = []
    parts = data.split(b"\0")
    for part in parts:
        rest = part
        while len(rest) >= _GROUP:
            out.append(bytes([_FULL]) + rest[:_GROUP])
            rest = rest[_GROUP:]
        out.append(bytes([len(rest) + 1]) + rest)
    return b"".join(out)
