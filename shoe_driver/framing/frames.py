"""The output of every framer: frames, and runs of bytes that are not frames.

Sans-IO: bytes in, pieces out. The pieces depend on the bytes alone, never on how reads split them;
a test feeds every split. Rejected bytes are gathered into runs. A run ends at the next whole frame,
at `RUN_LIMIT` bytes, or when the stream breaks off (`flush`). So a megabyte of garbage costs some
hundred rejects and no memory.

Framers do not decide when half a frame has waited too long. That needs a clock: the driver writes
such a silence into its journal, and the decoder then calls `flush`.
"""

from abc import ABC, abstractmethod
from typing import Final, TypeAlias

from msgspec import Struct

__all__ = [
    "RAW_LIMIT",
    "RUN_LIMIT",
    "Frame",
    "Framer",
    "Piece",
    "Rejected",
    "RejectedRun",
    "half_start",
]

RUN_LIMIT: Final = 4096  # rejected bytes in one report
RAW_LIMIT: Final = 64  # ... of which a report shows these; the journal has them all


class Frame(Struct, frozen=True, gc=False):
    """A whole frame that passed its check.

    Args:
        offset: where it begins in the stream.
        raw: all of its bytes, without its delimiters.
        seq: the device's number, or empty if it has none.
        body: the part to decode: kind and data, a line's text, or a whole body.
    """

    offset: int
    raw: bytes
    seq: str
    body: bytes


class Rejected(Struct, frozen=True, gc=False):
    """Bytes that are not a valid frame.

    Args:
        offset: where they begin in the stream.
        raw: the first `RAW_LIMIT` of them.
        length: how many there are.
        reason: the framer's word for the fault; of a run, that of its first bytes.
    """

    offset: int
    raw: bytes
    length: int
    reason: str


Piece: TypeAlias = Frame | Rejected


class RejectedRun:
    """A run of rejected bytes; it keeps the first bytes and the length only.

    Args:
        mark: bytes that noise never contains: a run with one of them is a `broken_frame`.

    Attributes:
        length: bytes in the run that has not ended.
    """

    def __init__(self, mark: bytes | None = None) -> None:
        self.length = 0
        self._mark = mark
        self._offset = 0
        self._raw = b""
        self._reason = ""

    def add(self, offset: int, data: bytes, out: list[Piece], reason: str = "noise") -> None:
        """Add the bytes that follow; append full runs to `out`."""
        done = 0
        while done < len(data):
            piece = data[done : done + RUN_LIMIT - self.length]
            if not self.length:
                self._offset, self._reason = offset + done, reason
            if self._mark is not None and self._mark in piece:
                self._reason = "broken_frame"
            self._raw = (self._raw + piece[:RAW_LIMIT])[:RAW_LIMIT]
            self.length += len(piece)
            done += len(piece)
            if self.length == RUN_LIMIT:
                self.end(out)

    def end(self, out: list[Piece]) -> None:
        """End the run, if there is one, and append it to `out`."""
        if self.length:
            out.append(Rejected(self._offset, self._raw, self.length, self._reason))
            self.length, self._raw = 0, b""


class Framer(ABC):
    """The base of the framers: it holds back the bytes of an incomplete frame.

    Args:
        broken: the reason for rejecting held bytes when the stream breaks off.
        mark: see `RejectedRun`.

    Attributes:
        offset: how many bytes have been fed.
    """

    def __init__(self, broken: str, mark: bytes | None = None) -> None:
        self._broken = broken
        self._held = b""
        self.offset = 0
        self._run = RejectedRun(mark)

    @property
    def pending(self) -> bool:
        """Whether bytes of an unfinished frame or run are held back."""
        return bool(self._held) or self._run.length > 0

    @abstractmethod
    def feed(self, data: bytes) -> list[Piece]:
        """Take the next bytes; return the completed pieces, in the stream's order."""

    def flush(self) -> list[Piece]:
        """End the stream here: reject the bytes held back."""
        out: list[Piece] = []
        self._run.add(self.offset - len(self._held), self._held, out, self._broken)
        self._run.end(out)
        self._held = b""
        return out

    def _take(self, data: bytes) -> tuple[int, bytes]:
        """Return where the bytes to cut now begin, and those bytes with the held ones first."""
        at, buffer = self.offset - len(self._held), self._held + data
        self.offset += len(data)
        return at, buffer


def half_start(buffer: bytes, start: bytes, at: int) -> int:
    """Return where bytes end with a part of `start`, not before `at`; else their length."""
    for size in range(len(start) - 1, 0, -1):
        if len(buffer) - size >= at and buffer.endswith(start[:size]):
            return len(buffer) - size
    return len(buffer)
