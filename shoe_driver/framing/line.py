"""The framer `line`: text that ends with CR, LF or CR LF.

frame    text without its line end, of which a prefix and a suffix are stripped
empty    an empty line is no line: so LF after CR means nothing, wherever it is split off
reject   `not_text` (a byte outside 20-7E), `no_prefix`, `no_suffix`, `too_long`
run      rejected lines are gathered with their line ends
partial  a line that breaks off before its end is `broken_line` and never emitted. The bytes
         that follow may be its rest, and the rest of a line can look like another line (`52`
         of `0052`), so they are rejected up to the line end. There are two exceptions: the
         part broken off is not text (noise), or a prefix marks the beginning of a line
check    a line whose check fails is rejected like the others (`bad_check`). Without a check a
         flipped bit that leaves a line legible goes unnoticed
"""

import re
from typing import Final

from shoe_driver.framing.checks import layout_of
from shoe_driver.framing.frames import Frame, Framer, Piece
from shoe_driver.framing.grammar import WireForm

__all__ = ["LineFramer"]

_TEXT: Final = re.compile(rb"[ -~]+")
_BROKEN: Final = "broken_line"
_TOO_LONG: Final = "too_long"


class LineFramer(Framer):
    """Cuts lines.

    Args:
        form: framer `line`.
    """

    def __init__(self, form: WireForm) -> None:
        super().__init__(_BROKEN)
        self._limit = form.framer.most
        self._prefix = form.framer.prefix.encode()
        self._suffix = form.framer.suffix.encode()
        self._layout = layout_of(form, len(self._prefix), len(self._suffix))
        self._skip = ""  # why the rest of this line is rejected

    def feed(self, data: bytes) -> list[Piece]:
        """See `Framer.feed`."""
        base, buffer = self._take(data)
        out: list[Piece] = []
        at = base
        *lines, rest = buffer.replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            end = at + len(line) + 1
            reason = self._skip or (self._fault(line) if line else "")
            parts = self._layout.take_apart(line) if line and not reason else ("", b"")
            if isinstance(parts, str):
                reason = parts
            if reason or (self._run.length and not line):
                self._run.add(at, buffer[at - base : end - base], out, reason)
                self._skip = ""
            elif line:
                self._run.end(out)
                out.append(Frame(at, line, *parts))
            at = end
        if not self._skip and len(rest) > self._limit:
            self._skip = _TOO_LONG
        if self._skip:
            self._run.add(at, rest, out, self._skip)
            rest = b""
        self._held = rest
        return out

    def flush(self) -> list[Piece]:
        """See `Framer.flush`."""
        if not self._prefix and _TEXT.fullmatch(self._held):
            self._skip = _BROKEN
        return super().flush()

    def _fault(self, line: bytes) -> str:
        """Return why this is not a line; empty if it is one."""
        if len(line) > self._limit:
            return _TOO_LONG
        if not line.startswith(self._prefix):
            return "no_prefix"
        if not line.endswith(self._suffix):
            return "no_suffix"
        within = len(line) - len(self._suffix)
        return "" if _TEXT.fullmatch(line, len(self._prefix), within) else "not_text"
