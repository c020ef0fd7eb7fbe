"""The framers whose frames the check alone can tell from other bytes.

They are `length`, `fixed`, and `delimited` around content that may hold any byte.

A frame may begin at each `start`, or at any byte where there is none. One candidate at a time is
tried, from the front: the first that is whole and passes its check is a frame. What fails is not
skipped over, since a byte that was damaged may have been the length: the search goes on one byte
further, and all bytes before the next frame are one run of rejected bytes. Without a check such a
search is a guess, and the profile's loss detection says so.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from shoe_driver.framing.checks import layout_of
from shoe_driver.framing.frames import Frame, Framer, Piece, half_start
from shoe_driver.framing.grammar import WireForm

__all__ = ["LooseFramer"]

_NONE: Final = -1
_WAIT: Final = 0
_Try: TypeAlias = tuple[int, tuple[str, bytes] | str]
"""Where a candidate ends, and its parts; why it is none; or `_WAIT` for more bytes."""


class LooseFramer(Framer):
    """Finds frames by their length, their size, or both of their delimiters and the check.

    Args:
        form: framer `length`, `fixed` or `delimited`.
    """

    def __init__(self, form: WireForm) -> None:
        super().__init__("broken_frame")
        framer = form.framer
        self._form = framer
        self._start = bytes.fromhex(framer.start)
        self._end = bytes.fromhex(framer.end) if framer.kind == "delimited" else b""
        self._layout = layout_of(form, len(self._start), len(self._end))
        self._tail = form.check_bytes if form.check.after_end else 0
        self._length_at = len(self._start) + framer.at
        self._body_at = self._length_at + framer.width
        self._least = max(self._layout.least, self._body_at if framer.kind == "length" else 0)
        self._try_at: Callable[[bytes, int], _Try] = {
            "length": self._by_length,
            "fixed": self._by_size,
        }.get(framer.kind, self._by_end)

    def feed(self, data: bytes) -> list[Piece]:
        """See `Framer.feed`."""
        base, buffer = self._take(data)
        out: list[Piece] = []
        done = self._scan(base, buffer, out)
        self._held = buffer[done:]
        return out

    def flush(self) -> list[Piece]:
        """See `Framer.flush`. What waited for its rest may hold whole frames further on."""
        out: list[Piece] = []
        while self._held:
            base = self.offset - len(self._held)
            self._run.add(base, self._held[:1], out, "broken_frame")
            self._held = self._held[1:]
            done = self._scan(base + 1, self._held, out)
            self._held = self._held[done:]
        self._run.end(out)
        return out

    def _scan(self, base: int, buffer: bytes, out: list[Piece]) -> int:
        """Append what is certain; return how many bytes that took."""
        at = done = 0
        size = len(buffer)
        try_at = self._try_at
        while at < size:
            if self._start:
                found = buffer.find(self._start, at)
                at = found if found >= 0 else half_start(buffer, self._start, at)
            if at > done:
                self._run.add(base + done, buffer[done:at], out)
                done = at
            end, parts = try_at(buffer, at) if at < size else (_WAIT, "")
            if end == _WAIT:
                break
            if isinstance(parts, str):
                at += 1
                self._run.add(base + done, buffer[done:at], out, parts)
            else:
                if self._run.length:
                    self._run.end(out)
                out.append(Frame(base + at, buffer[at:end], *parts))
                at = end
            done = at
        return done

    def _judged(self, buffer: bytes, at: int, end: int) -> _Try:
        if end > len(buffer):
            return _WAIT, ""
        return end, self._layout.take_apart(buffer[at:end])

    def _by_length(self, buffer: bytes, at: int) -> _Try:
        if len(buffer) < at + self._body_at:
            return _WAIT, ""
        framer = self._form
        field = buffer[at + self._length_at : at + self._body_at]
        size = int.from_bytes(field, framer.order) + framer.adds
        if not self._least <= size <= framer.most:
            return _NONE, "bad_length"
        return self._judged(buffer, at, at + size)

    def _by_size(self, buffer: bytes, at: int) -> _Try:
        return self._judged(buffer, at, at + self._form.size)

    def _by_end(self, buffer: bytes, at: int) -> _Try:
        limit = at + self._form.most - self._tail
        failed: tuple[str, bytes] | str = "broken_frame"
        search = at + self._least - self._tail - len(self._end)
        while True:
            found = buffer.find(self._end, search, limit)
            if found < 0:
                return (_NONE, failed) if len(buffer) >= limit else (_WAIT, "")
            end, parts = self._judged(buffer, at, found + len(self._end) + self._tail)
            if end == _WAIT or not isinstance(parts, str):
                return end, parts
            failed, search = parts, found + 1
