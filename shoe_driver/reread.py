"""Read the raw bytes of one recorded shoe event again, without the journal that it came from. Pure.

A decoder that has read nothing else knows no numbering, no copies and no errors that stand. So one
frame may mean a little more than it meant in its place, and what a record says of it must be among
that.

The broker carries report and bytes alike, and somebody who changes a face seldom knows how the shoe
would have said it.
"""

from functools import lru_cache
from typing import Final

from events.types import (
    IN_A_FRAME,
    AnyReport,
    CopyConflict,
    ErrorCleared,
    FrameRejected,
    ModeChanged,
    ReportLost,
    ShoeBooted,
    ShoeEvent,
)
from shoe_driver.decode import STALE, Decoder
from shoe_driver.profiles.profile import Profile

__all__ = ["RawReader"]

# Findings about a device's reports, restarts and ends of errors: no single frame shows them.
_OF_SEVERAL: Final = (ReportLost, CopyConflict, ErrorCleared, ShoeBooted)
# Reasons for which bytes are rejected that would be a frame if their end had come, or in time.
_UNFINISHED: Final = frozenset({STALE, "broken_line"})
# What stands around a frame on the wire and is not among its recorded bytes, by kind of framer.
_AROUND: Final = ((b"", b""), (b"", b"\r\n"), (b"\x00", b"\x00"), (b"\xc0", b"\xc0"))
_REMEMBERED: Final = 4096


class RawReader:
    """Reads frames by one wire profile."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._meanings = lru_cache(_REMEMBERED)(self._read)

    def says(self, event: ShoeEvent) -> bool:
        """Return whether the raw bytes of a shoe event can mean its report."""
        report = event.report
        if isinstance(report, IN_A_FRAME) and report in self._meanings(event.raw, _AROUND[0]):
            return True
        if isinstance(report, _OF_SEVERAL):
            return True
        if isinstance(report, FrameRejected):
            whole = len(event.raw) == 2 * report.length and report.reason not in _UNFINISHED
            return not whole or not any(self._meanings(event.raw, around) for around in _AROUND)
        if isinstance(report, ModeChanged):
            return report.mode.encode("ascii", "replace") in bytes.fromhex(event.raw)
        # A settlement waits for this, and what stands around the frame is seldom missed.
        return any(report in self._meanings(event.raw, around) for around in _AROUND)

    def contradiction(self, event: ShoeEvent) -> str | None:
        """Return how the bytes of an event contradict its report, for a person; else None.

        Only a report of `IN_A_FRAME` is judged.
        """
        if not isinstance(event.report, IN_A_FRAME):
            return None
        kind = str(event.report.__struct_config__.tag)
        if not event.raw:
            return f"{kind}: no bytes of the shoe come with it"
        return None if self.says(event) else f"{kind}: the shoe's own bytes do not say so"

    def _read(self, raw: str, around: tuple[bytes, bytes]) -> tuple[AnyReport, ...]:
        before, after = around
        try:
            data = before + bytes.fromhex(raw) + after
        except ValueError:
            return ()
        decoder = Decoder(self._profile)
        events = [*decoder.feed_bare(data), *decoder.finish()]
        found = [each.report for each in events]
        return tuple(each for each in found if not isinstance(each, (*_OF_SEVERAL, FrameRejected)))
