"""The duplicate filter for devices that send every report in copies: is a frame new or a copy?

The rule of docs/shoe/profiles.md for devices that repeat without being acknowledged:

    first valid copy             a new report, at once: nothing waits for the others
    same number, same body       a copy, while it may be one, up to `copies` in all
    same number, another body    a conflict: neither can be trusted
    same number otherwise        a new report (two power-ups in a row look alike and are two)
    another number than due      reports between were lost; reported before the new report
    number of a power-up         due at any time on a power-up, and never on anything else

A device sends its copies within the profile's window, and the transport may delay them by `LATE_MS`
more. The bytes of a line come in order, so a frame that follows a report under its number is its
copy. For a power-up, and after the port was opened again, only the window counts: two power-ups
look alike, and reports sent while the port was closed are unknown. In bare captures frames have no
times, and every frame counts as within the window. The filter cannot see nine reports lost in a
row; so the profile's loss detection is `weak`.
"""

from typing import Final

from msgspec import Struct

from events.types import CopyConflict, ReportLost
from shoe_driver.link.numbering import Numbering
from shoe_driver.profiles.profile import LATE_MS, RepeatPolicy

__all__ = ["DuplicateFilter", "FrameClassification"]


class FrameClassification(Struct, frozen=True):
    """The classification of a valid frame.

    Args:
        new: it is a new report.
        finding: what must be reported before it.
    """

    new: bool
    finding: ReportLost | CopyConflict | None = None


_COPY: Final = FrameClassification(new=False)
_NEW: Final = FrameClassification(new=True)


class DuplicateFilter:
    """Remembers the newest report and its copies.

    Args:
        policy: how the device repeats.
        numbering: how it numbers.

    Attributes:
        copies: finished reports with one copy, two, and so on.
        late_us: how long after the window a copy may come.
        memory: the state once no copy can come any more: the newest report's number.
    """

    def __init__(self, policy: RepeatPolicy, numbering: Numbering) -> None:
        self._copies = policy.copies
        self._window_us = policy.window_ms * 1_000
        self._numbering = numbering
        self._boot = numbering.boot
        self.memory: str | None = None
        self._bodies: tuple[bytes, ...] = ()
        self._count = 0
        self._first_us: int | None = None
        self._patience_us = 0  # ... of the newest report
        self._open = False  # the newest report is not counted in `copies` yet
        self.copies = [0] * policy.copies
        self.late_us = LATE_MS * 1_000

    @property
    def short_copies(self) -> int:
        """The number of finished reports with fewer copies than the device sends."""
        return sum(self.copies[:-1])

    def accept(
        self, seq: str, body: bytes, mono_us: int | None, *, booted: bool
    ) -> FrameClassification:
        """Classify a valid frame.

        Args:
            seq: the device's number.
            body: kind and data.
            mono_us: arrival by a clock that never steps, or None if there are no times.
            booted: the frame reports a power-up.
        """
        if seq == self.memory and self._count < self._copies and self._within(mono_us):
            self._count += 1
            if body in self._bodies:
                return _COPY
            self._bodies += (body,)
            told = tuple(known.hex().upper() for known in self._bodies)
            return FrameClassification(new=False, finding=CopyConflict(device_seq=seq, bodies=told))
        due = self._numbering.after(self.memory) if self.memory is not None else None
        self._finish()
        self._open = True
        self.memory, self._bodies, self._count, self._first_us = seq, (body,), 1, mono_us
        self._patience_us = 0 if booted or seq == self._boot else self.late_us
        if booted if seq == self._boot else due in (None, seq):
            return _NEW
        # Before the first report any number of the cycle is due; its first represents them.
        return FrameClassification(
            new=True, finding=ReportLost(expected=due or self._numbering.first, got=seq)
        )

    def reopened(self) -> None:
        """Accept no late copies: the port was opened again, and reports may have been missed."""
        self._patience_us = 0

    def close_window(self) -> None:
        """Accept no more copies of the newest report: the clock has restarted since."""
        self._finish()
        self._count = self._copies

    def recall(self, memory: str | None) -> None:
        """Restore the state that `memory` returned."""
        self._open = False
        self.memory, self._bodies, self._first_us = memory, (), None
        self._count = self._copies

    def settled(self, mono_us: int) -> bool:
        """Report whether no copy of the newest report can come any more."""
        full = self._count >= self._copies
        return self.memory is None or full or not self._within(mono_us)

    def _finish(self) -> None:
        if self._open:
            self.copies[self._count - 1] += 1
            self._open = False

    def _within(self, mono_us: int | None) -> bool:
        if mono_us is None or self._first_us is None:
            return True
        return mono_us - self._first_us <= self._window_us + self._patience_us
