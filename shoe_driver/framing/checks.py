"""The checks: whether a whole frame is as it was sent."""

import binascii
from typing import Final

__all__ = ["crc_ccitt_false", "crc_holds", "unchecked", "xor_hex"]

_CRC_START: Final = 0xFFFF


def xor_hex(raw: bytes) -> bool:
    """Whether an `enq` frame's last two bytes are the XOR of seq through 03 in upper-case hex."""
    check = 0
    for byte in raw[1:-2]:
        check ^= byte
    return b"%02X" % check == raw[-2:]


def crc_ccitt_false(data: bytes) -> int:
    """CRC-16/CCITT-FALSE: polynomial 1021, start FFFF, not reflected; 29B1 for `123456789`."""
    return binascii.crc_hqx(data, _CRC_START)


def crc_holds(data: bytes) -> bool:
    """Whether the last two bytes are the CRC of those before, big-endian."""
    return crc_ccitt_false(data) == 0  # the CRC of anything with its own CRC behind it is nought


def unchecked(_: bytes) -> bool:
    """For frames without a check: always."""
    return True
