"""The framer `delimited`: `start content [check] end [check]`, by the bytes that may stand there.

frame    start, the content's shape, the check and end in their order
begin    where no byte of the shape can be a `start`, a start begins a frame wherever it comes
check    a whole frame whose check fails is rejected by itself, at once
rest     all other bytes are gathered into runs: `noise`, or `broken_frame` with a start in it

Where content may hold any byte, an `end` in it is told from the last one by the check alone:
`loose.LooseFramer`.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from shoe_driver.framing.checks import layout_of
from shoe_driver.framing.frames import Frame, Framer, Piece, Rejected, half_start
from shoe_driver.framing.grammar import WireForm

__all__ = ["DelimitedFramer", "byte_classes", "is_self_marking"]

_ANY_NUMBER: Final = "*"
_REMEMBERED: Final = 64  # forms whose expressions are kept; a driver has one, a log few
_HEX_UPPER: Final = rb"[0-9A-F]"
_HEX_LOWER: Final = rb"[0-9a-f]"
_ANY_BYTE: Final = rb"[\x00-\xff]"


class DelimitedFramer(Framer):
    """Cuts frames between their delimiters.

    Args:
        form: framer `delimited`.
    """

    def __init__(self, form: WireForm) -> None:
        start = bytes.fromhex(form.framer.start)
        super().__init__("noise", mark=start)
        self._frames, self._begun = _patterns(form)
        self._start = start
        self._longest = form.framer.most
        trail = len(bytes.fromhex(form.framer.end))
        self._layout = layout_of(form, len(start), trail)

    def feed(self, data: bytes) -> list[Piece]:
        """See `Framer.feed`."""
        base, buffer = self._take(data)
        out: list[Piece] = []
        done = 0
        opened = self._layout.take_apart
        for match in self._frames.finditer(buffer):
            start, end = match.span()
            if start > done:
                self._run.add(base + done, buffer[done:start], out)
            if self._run.length:
                self._run.end(out)
            done = end
            raw = match[0]
            parts = opened(raw)
            if isinstance(parts, str):
                out.append(Rejected(base + start, raw, len(raw), parts))
            else:
                out.append(Frame(base + start, raw, *parts))
        # Only the last start can still become a frame, and only if no byte after it is illegal.
        keep = self._unfinished(buffer, max(done, len(buffer) - self._longest))
        self._run.add(base + done, buffer[done:keep], out)
        self._held = buffer[keep:]
        return out

    def _unfinished(self, buffer: bytes, at: int) -> int:
        """Return where bytes begin that may become a frame."""
        keep = buffer.rfind(self._start, at)
        if keep >= 0 and self._begun.fullmatch(buffer, keep):
            return keep
        return half_start(buffer, self._start, at)


def byte_classes(shape: Sequence[str]) -> list[tuple[frozenset[int], bool]]:
    """Parse a shape: the bytes of each position, and whether there is any number of them.

    Raises:
        ValueError: it is no shape; says which part.
    """
    parsed = []
    for number, part in enumerate(shape):
        text = part.removesuffix(_ANY_NUMBER)
        if text != part and number != len(shape) - 1:
            raise ValueError(f"{part!r}: only the last part may end with *")
        found: set[int] = set()
        for piece in text.split(","):
            low, _, high = piece.partition("-")
            try:
                (first,), (last,) = bytes.fromhex(low), bytes.fromhex(high or low)
            except ValueError as error:
                raise ValueError(f"{part!r}: write ranges of bytes such as 30-39,41-46") from error
            if first > last:
                raise ValueError(f"{part!r}: {piece} goes backwards")
            found |= set(range(first, last + 1))
        parsed.append((frozenset(found), text != part))
    return parsed


@lru_cache(_REMEMBERED)
def is_self_marking(form: WireForm) -> bool:
    """Report whether no byte of a frame's content or check can be a delimiter of one byte."""
    delimiters = {bytes.fromhex(form.framer.start)[0], bytes.fromhex(form.framer.end)[0]}
    if form.check_bytes and not form.check.hex:
        return False
    return not any(classes & delimiters for classes, _ in byte_classes(form.framer.shape))


@lru_cache(_REMEMBERED)
def _patterns(form: WireForm) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Return the expressions of a frame and of the beginning of one."""
    parts = _parts(form)
    return re.compile(b"".join(parts)), re.compile(_prefix_of(parts))


def _parts(form: WireForm) -> list[bytes]:
    """Return the regular expression of each position of a frame."""
    start, end = bytes.fromhex(form.framer.start), bytes.fromhex(form.framer.end)
    check = [_check_byte(form)] * form.check_bytes
    classes = byte_classes(form.framer.shape)
    if not classes:
        classes = [(frozenset(range(256)) - {start[0], end[0]}, True)]
    fixed = len(start) + len(end) + len(check) + sum(not several for _, several in classes)
    shape = [
        _class(found) + (b"{0,%d}" % max(0, form.framer.most - fixed) if several else b"")
        for found, several in classes
    ]
    begins, ends = [[re.escape(bytes([byte])) for byte in text] for text in (start, end)]
    tail = [*ends, *check] if form.check.after_end else [*check, *ends]
    return [*begins, *shape, *tail]


def _check_byte(form: WireForm) -> bytes:
    if not form.check.hex:
        return _ANY_BYTE
    return _HEX_LOWER if form.check.lower else _HEX_UPPER


def _class(found: frozenset[int]) -> bytes:
    return b"[" + b"".join(rb"\x%02x" % byte for byte in sorted(found)) + b"]"


def _prefix_of(parts: Sequence[bytes]) -> bytes:
    """Return the regular expression of every beginning of a frame."""
    pattern = b""
    for part in reversed(parts[1:]):
        pattern = b"(?:" + part + pattern + b")?"
    return parts[0] + pattern
