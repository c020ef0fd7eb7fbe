"""What a bad line makes of the sendings of a report. Pure.

A sending is one of the equal copies of profile `enq-bcc`, one of the first and the further sendings
of `ref-crc`, and the only one of a line of text.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

__all__ = ["EVERY", "GOOD", "Wire", "at_wrong_baud"]

_ANY: Final = -1
EVERY: Final = frozenset({_ANY})
"""Every sending there will be."""

_BITS: Final = 8


class Wire(Struct, frozen=True, kw_only=True):
    """What happens on the way to each sending of one report, counted from 0.

    Args:
        lost: these do not arrive.
        bits: of these, which bits arrive turned over, counted from the first (modulo the length).
        garbled: these arrive as a reader at another speed sees them.
    """

    lost: frozenset[int] = frozenset()
    bits: Mapping[int, tuple[int, ...]] = {}
    garbled: frozenset[int] = frozenset()

    def arrives(self, number: int, data: bytes) -> bytes:
        """What arrives of the sending of this number; nothing, where it is lost."""
        if self.lost & {number, _ANY}:
            return b""
        for bit in self.bits.get(number, ()):
            data = _turn(data, bit)
        return at_wrong_baud(data) if self.garbled & {number, _ANY} else data

    def worse(self, other: "Wire") -> "Wire":
        """Both of these lines, one behind the other."""
        bits = {
            number: (*self.bits.get(number, ()), *other.bits.get(number, ()))
            for number in {*self.bits, *other.bits}
        }
        return Wire(lost=self.lost | other.lost, bits=bits, garbled=self.garbled | other.garbled)


GOOD: Final = Wire()
"""A line that changes nothing."""


def at_wrong_baud(data: bytes) -> bytes:
    """What a reader at twice the sender's speed makes of `data`, 8N1: each bit is seen twice.

    It takes a low bit for the start of a byte, wherever it is; a stop bit that is low is a framing
    error, and the byte is delivered all the same, as most drivers do.
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
