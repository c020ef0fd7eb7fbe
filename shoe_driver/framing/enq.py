"""The framer `enq`: `05 seq kind data... 03 h h`.

frame    05 seq kind data* 03 h h     seq '0'-'9', kind printable ASCII, data 80-FF, h 0-9A-F
begin    05 occurs nowhere else in a frame, so it begins one wherever it comes
check    a whole frame whose check fails is rejected by itself, at once
rest     all other bytes are gathered into runs: `noise`, or `broken_frame` with a 05 in it
"""

import re
from typing import Final

from shoe_driver.framing.frames import BufferingFramer, Check, Frame, Piece, Rejected

__all__ = ["EnqFramer"]

_ENQ: Final = 0x05
_REMEMBERED: Final = 4096  # frames whose check is cached; a shoe repeats some hundred


class EnqFramer(BufferingFramer):
    """Cuts `05 seq kind data... 03 h h`.

    Args:
        check: the check that a whole frame must pass.
        data_limit: most data bytes in a frame.
    """

    def __init__(self, check: Check, data_limit: int) -> None:
        super().__init__("noise", mark=bytes([_ENQ]))
        head, data = rb"[0-9]", rb"[\x80-\xff]{0,%d}" % data_limit
        self._frames = re.compile(rb"\x05" + head + rb"[ -~]" + data + rb"\x03[0-9A-F]{2}")
        self._begun = re.compile(
            rb"\x05(?:" + head + rb"(?:[ -~](?:" + data + rb"(?:\x03[0-9A-F]?)?)?)?)?"
        )
        self._check = check
        self._known: dict[bytes, bool] = {}

    def feed(self, data: bytes) -> list[Piece]:
        """See `Framer.feed`."""
        base, buffer = self._take(data)
        out: list[Piece] = []
        done = 0
        for match in self._frames.finditer(buffer):
            start, end = match.span()
            if start > done:
                self._run.add(base + done, buffer[done:start], out)
            if self._run.length:
                self._run.end(out)
            done = end
            raw = match[0]
            valid = self._known.get(raw)
            if valid is None:
                valid = self._check(raw)
                if len(self._known) < _REMEMBERED:
                    self._known[raw] = valid
            if valid:
                out.append(Frame(base + start, raw, chr(raw[1]), raw[2:-3]))
            else:
                out.append(Rejected(base + start, raw, len(raw), "bad_check"))
        # Only the last 05 can still become a frame, and only if no byte after it is illegal.
        keep = buffer.rfind(_ENQ, done)
        if keep < 0 or not self._begun.fullmatch(buffer, keep):
            keep = len(buffer)
        self._run.add(base + done, buffer[done:keep], out)
        self._held = buffer[keep:]
        return out
