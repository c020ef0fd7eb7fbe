"""What the host says to a `ref-crc` device: two frames, of the device's own form.

They are written by hand in docs/shoe-link.md. To any other device the driver says nothing.
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
    """`ACK`: everything before `due` is in the journal.

    Nothing, where nothing is known of the device that could be acknowledged.
    """
    return b"" if boot is None or due is None else _frame(RefKind.ACK, boot, due)


def resend_frame(boot: int | None, due: int | None) -> bytes:
    """`RESEND`: everything before `due` is in the journal; say again all from there on.

    Of a device that is not known yet: from the first number that was never acknowledged.
    """
    known = boot is not None and due is not None
    return _frame(RefKind.RESEND, boot or 0, due or 0) if known else _frame(RefKind.RESEND, 0, 0)


def _frame(kind: RefKind, boot: int, seq: int) -> bytes:
    body = _HEADER.pack(VERSION, kind, boot, seq, 0, 0)
    stuffed = cobs_encode(body + crc_ccitt_false(body).to_bytes(2, "big"))
    return b"\0" + stuffed + b"\0"  # the first ends whatever noise the device has taken
