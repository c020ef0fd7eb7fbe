"""The checks that show whether a whole frame arrived as it was sent."""

import binascii
from typing import Final

__all__ = ["crc_ccitt_false", "crc_holds", "unchecked", "xor_hex"]

_CRC_START: Final = 0xFFFF


def xor_hex(raw: bytes) -> bool:
    """Report whether an `enq` frame ends with the XOR of seq through 03 in upper-case hex."""
    check = 0
    for byte in raw[1:-2]:
        check ^= byte
    return b"%02X" % check == raw[-2:]


def crc_ccitt_false(data: bytes) -> int:
    """Return CRC-16/CCITT-FALSE: polynomial 1021, start FFFF, unreflected; 29B1 for `123456789`."""
    return binascii.crc_hqx(data, _CRC_START)


def crc_holds(data: bytes) -> bool:
    """Report whether the last two bytes are the CRC of those before, big-endian."""
    return crc_ccitt_false(data) == 0  # the CRC of any data followed by its own CRC is 0


def unchecked(_: bytes) -> bool:
    """Return True, for frames without a check."""
    return True
