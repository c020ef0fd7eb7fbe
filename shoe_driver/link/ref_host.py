"""The host's two frames to a `ref-crc` device, in the device's own format.

docs/shoe-link.md shows them written out by hand. The driver sends nothing to any other device.
"""

import struct
from typing import Final

from shoe_driver.codes.ref import RefKind
from shoe_driver.framing.checks import crc_ccitt_false
from shoe_driver.framing.cobs import cobs_encode
from shoe_driver.link.resend_window import VERSION

__all__ = ["ack_frame", "resend_frame"]

_HEADER: Final = struct.Struct(">BBHHIB")


def ack_frame(boot: int | None, due: int | None) -> bytes:
    """Return `ACK`: everything before `due` is in the journal.

    Empty if nothing is known of the device that could be acknowledged.
    """
    return b"" if boot is None or due is None else _frame(RefKind.ACK, boot, due)


def resend_frame(boot: int | None, due: int | None) -> bytes:
    """Return `RESEND`: everything before `due` is in the journal; send the rest again.

    To an unknown device it means: from the first number that was never acknowledged.
    """
    known = boot is not None and due is not None
    return _frame(RefKind.RESEND, boot or 0, due or 0) if known else _frame(RefKind.RESEND, 0, 0)


def _frame(kind: RefKind, boot: int, seq: int) -> bytes:
    body = _HEADER.pack(VERSION, kind, boot, seq, 0, 0)
    stuffed = cobs_encode(body + crc_ccitt_false(body).to_bytes(2, "big"))
    return b"\0" + stuffed + b"\0"  # the first 00 ends any noise that the device has received
