"""What the times of a journal say of a device: how it repeats, and how long a frame takes. Pure."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import groupby, pairwise
from statistics import median
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from shoe_driver.framing.frames import Frame
from shoe_driver.framing.grammar import WireForm
from shoe_driver.framing.registry import make_framer

__all__ = ["ReadTimes", "Timing", "timing_of"]

ReadTimes: TypeAlias = Sequence[tuple[int, int]]
"""The offset of the first byte of each read, and its time in microseconds."""
_FEWEST: Final = 8
_STEP_MS: Final = 50
_WAITS_MS: Final = 100
_STEADY: Final = 0.3


class Timing(Struct, frozen=True, kw_only=True):
    """Times of a capture, as they were read.

    Args:
        copies_ms: the longest time from a report's first copy to its last; None without copies.
        every_ms: the usual time from one copy to the next; None without copies.
        waits: the copies come so slowly and so evenly that the device may wait to be acknowledged.
        frame_ms: the longest time from a frame's first byte to its last.
    """

    copies_ms: int | None
    every_ms: int | None
    waits: bool
    frame_ms: int

    @property
    def window_ms(self) -> int | None:
        """The longest time and half of it, in steps."""
        return None if self.copies_ms is None else _stepped(self.copies_ms * 1.5)

    @property
    def partial_ms(self) -> int:
        """Three times the slowest frame, in steps."""
        return max(2 * _STEP_MS, _stepped(self.frame_ms * 3))


def timing_of(data: bytes, times: ReadTimes, wire: WireForm, copies: int) -> Timing | None:
    """Return what the times say, or None of too few frames.

    Args:
        data: the capture.
        times: of its reads, in order.
        wire: its form.
        copies: how often the device sends each report.
    """
    framer = make_framer(replace(wire, number=None))
    pieces = (*framer.feed(data), *framer.flush())
    frames = [piece for piece in pieces if isinstance(piece, Frame)]
    if len(frames) < _FEWEST or not times:
        return None
    offsets = [offset for offset, _ in times]

    def read_ms(offset: int) -> float:
        return times[bisect_right(offsets, offset) - 1][1] / 1_000

    took = [read_ms(each.offset + len(each.raw) - 1) - read_ms(each.offset) for each in frames]
    runs = [
        [read_ms(each.offset) for each in run]
        for _, run in groupby(frames, key=lambda frame: frame.raw)
    ]
    whole = [run for run in runs if len(run) == copies] if copies > 1 else []
    steps = [after - at for run in whole for at, after in pairwise(run)]
    every = median(steps) if steps else None
    even = every is not None and all(abs(step - every) <= _STEADY * every for step in steps)
    return Timing(
        copies_ms=round(max(run[-1] - run[0] for run in whole)) if whole else None,
        every_ms=None if every is None else round(every),
        waits=even and every is not None and every >= _WAITS_MS,
        frame_ms=round(max(took)),
    )


def _stepped(time_ms: float) -> int:
    """Return a time rounded up to steps."""
    return -int(-time_ms // _STEP_MS) * _STEP_MS
