"""The effect of a bad line on the sendings of a report. Pure.

A sending is one of the equal copies of profile `enq-bcc`, one of the first and the further sendings
of `ref-crc`, and the only one of a line of text.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

__all__ = ["EVERY", "GOOD", "Wire", "at_wrong_baud"]

_ANY: Final = -1
EVERY: Final = frozenset({_ANY})
"""All sendings of a report."""

_BITS: Final = 8


class Wire(Struct, frozen=True, kw_only=True):
    """The line's effect on each sending of one report, counted from 0.

    Args:
        lost: these do not arrive.
        bits: sending to its inverted bits, counted from the first (modulo the length).
        garbled: these arrive as a reader at another speed sees them.
    """

    lost: frozenset[int] = frozenset()
    bits: Mapping[int, tuple[int, ...]] = {}
    garbled: frozenset[int] = frozenset()

    def arrives(self, number: int, data: bytes) -> bytes:
        """Return the bytes that arrive of the sending of this number; none, where it is lost."""
        if self.lost & {number, _ANY}:
            return b""
        for bit in self.bits.get(number, ()):
            data = _turn(data, bit)
        return at_wrong_baud(data) if self.garbled & {number, _ANY} else data

    def worse(self, other: "Wire") -> "Wire":
        """Return the combined effect of both lines."""
        bits = {
            number: (*self.bits.get(number, ()), *other.bits.get(number, ()))
            for number in {*self.bits, *other.bits}
        }
        return Wire(lost=self.lost | other.lost, bits=bits, garbled=self.garbled | other.garbled)


GOOD: Final = Wire()
"""A line that changes nothing."""


def at_wrong_baud(data: bytes) -> bytes:
    """Return the bytes that a reader at twice the sender's speed sees, 8N1: each bit twice.

    It takes any low bit as the start of a byte. A low stop bit is a framing error, and the byte is
    delivered all the same, as most drivers do.
    """
    seen: list[int] = []
    for byte in data:
        sent = [0, *((byte >> place) & 1 for place in range(_BITS)), 1]
        seen += [bit for bit in sent for _ in range(2)]
    out = bytearray()
    at = 0
    while at < len(seen):
        if seen[at]:
            at += 1
            continue
        bits = (seen[at + 1 : at + 1 + _BITS] + [1] * _BITS)[:_BITS]
        out.append(sum(bit << place for place, bit in enumerate(bits)))
        at += _BITS + 2
    return bytes(out)


def _turn(data: bytes, bit: int) -> bytes:
    byte, place = divmod(bit % (_BITS * len(data)), _BITS)
    return data[:byte] + bytes([data[byte] ^ 1 << place]) + data[byte + 1 :]
