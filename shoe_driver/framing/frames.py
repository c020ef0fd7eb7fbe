"""What every framer brings forth: frames, and runs of bytes that are none.

Sans-IO: bytes in, pieces out. What comes out depends on the bytes alone and never on how they were
cut into reads (a test feeds every split). Rejected bytes are gathered into runs, which end at the
next whole frame, at `RUN_LIMIT` bytes, or when the stream is broken off (`flush`): a megabyte of
garbage costs some hundred rejects and no memory.

What does not fit here: when half a frame has waited too long. That needs a clock; the driver writes
such a silence into its journal, and the decoder then calls `flush`.
"""

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

__all__ = [
    "RAW_LIMIT",
    "RUN_LIMIT",
    "Check",
    "Frame",
    "Framer",
    "HoldingFramer",
    "Piece",
    "Rejected",
    "RejectedRun",
]

RUN_LIMIT: Final = 4096  # rejected bytes told in one report
RAW_LIMIT: Final = 64  # ... of which so many are shown; the journal has them all


class Frame(Struct, frozen=True, gc=False):
    """A whole frame that passed its check.

    Args:
        offset: where it begins in the stream.
        raw: all of its bytes, without what delimits it.
        seq: the device's number, or empty where it has none.
        body: what is read further: kind and data, a line's text, or a whole body.
    """

    offset: int
    raw: bytes
    seq: str
    body: bytes


class Rejected(Struct, frozen=True, gc=False):
    """Bytes that are no valid frame.

    Args:
        offset: where they begin in the stream.
        raw: the first `RAW_LIMIT` of them.
        length: how many there are.
        reason: why, in the framer's words; of a run, why its first bytes are none.
    """

    offset: int
    raw: bytes
    length: int
    reason: str


Piece: TypeAlias = Frame | Rejected
Check: TypeAlias = Callable[[bytes], bool]


class Framer(Protocol):
    """What every framer does."""

    @property
    def pending(self) -> bool:
        """Whether bytes are held back, for a frame or a run that is not finished."""
        ...

    @property
    def offset(self) -> int:
        """How many bytes have been fed."""
        ...

    def feed(self, data: bytes) -> list[Piece]:
        """Take the next bytes; what is complete comes out, in the stream's order."""
        ...

    def flush(self) -> list[Piece]:
        """The stream is broken off here: what is held back is rejected."""
        ...


class RejectedRun:
    """A stretch of rejected bytes. Remembers its beginning and its length only.

    Args:
        mark: bytes that no noise has: a run with one of them is a `broken_frame`.

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
        """More bytes, which follow those before; full runs go to `out`."""
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
        """The run, if there is one, goes to `out`."""
        if self.length:
            out.append(Rejected(self._offset, self._raw, self.length, self._reason))
            self.length, self._raw = 0, b""


class HoldingFramer:
    """What the framers have in common: they hold back what is no whole frame yet.

    Args:
        broken: what is said of bytes that were held back when the stream is broken off.
        mark: see `RejectedRun`.
    """

    def __init__(self, broken: str, mark: bytes | None = None) -> None:
        self._broken = broken
        self._held = b""
        self._fed = 0
        self._run = RejectedRun(mark)

    @property
    def pending(self) -> bool:
        """See `Framer.pending`."""
        return bool(self._held) or self._run.length > 0

    @property
    def offset(self) -> int:
        """See `Framer.offset`."""
        return self._fed

    def flush(self) -> list[Piece]:
        """See `Framer.flush`."""
        out: list[Piece] = []
        self._run.add(self._fed - len(self._held), self._held, out, self._broken)
        self._run.end(out)
        self._held = b""
        return out

    def _take(self, data: bytes) -> tuple[int, bytes]:
        """The bytes to be cut now, those held back before them, and where they begin."""
        at, buffer = self._fed - len(self._held), self._held + data
        self._fed += len(data)
        return at, buffer
