"""The resend window: the host's half of `ref-crc`, which puts every report in order, once.

    due        the next number; all before it were accepted, and that is what is acknowledged
    gap        a later number came, or a beat names one: the later ones are held, and the device is
               asked to resend from `due`: at once, and again at each beat that does not merely
               answer the last request
    lost       reported only if no resend can bring it any more: the device reports that it does
               not keep it any longer (or must not, by `KEPT`), it was powered up again, or its
               beats show that `repair_ms` of its own clock have passed
    duplicate  a number already accepted: dropped if the body is the same; else a conflict
    power-up   another boot_id, or kind POWER_UP as number 0: what was due before is lost or done,
               and the numbers begin at 0
    contact    before anything is known, reports are held until a beat names the first number that
               was never acknowledged. A power-up is the first by itself

Numbers are 16 bits wide and wrap around. The device's clock decides, never ours. So the output is a
function of the bytes, and a stalled host loses nothing.
"""

from typing import Final, TypeAlias

from msgspec import Struct

from events.types import CopyConflict, ReportLost, ShoeBooted
from shoe_driver.codes.ref import RefKind
from shoe_driver.framing.frames import Frame

__all__ = [
    "KEPT",
    "VERSION",
    "Finding",
    "FrameHeader",
    "ResendWindow",
    "SequencedFrame",
    "parse_frame_header",
]

VERSION: Final = 1
KEPT: Final = 64  # frames that a device keeps for a resend; a later number means that it is gone
_ASK_AGAIN_MS: Final = 500  # between the beat that answers a resend and the next periodic one
_SEQS: Final = 1 << 16
_HALF: Final = _SEQS // 2
_CLOCK: Final = 1 << 32

Finding: TypeAlias = ReportLost | CopyConflict | ShoeBooted


class FrameHeader(Struct, frozen=True, gc=False):
    """The fields before a payload."""

    version: int
    kind: int
    boot: int
    seq: int
    device_ms: int
    payload: bytes


class SequencedFrame(Struct, frozen=True, gc=False):
    """A report in its turn, or a finding, with the frame that revealed it."""

    frame: Frame
    header: FrameHeader
    finding: Finding | None = None


def parse_frame_header(body: bytes) -> FrameHeader:
    """Parse the header of a body; the framer has checked the body's length."""
    number = int.from_bytes
    return FrameHeader(
        body[0],
        body[1],
        number(body[2:4], "big"),
        number(body[4:6], "big"),
        number(body[6:10], "big"),
        body[11:],
    )


class ResendWindow:
    """Puts frames in order.

    Args:
        repair_ms: how long, by the device's clock, a resend may take.
        boot: the device's boot_id, if known.
        due: the next number, if known.

    Attributes:
        boot: the device's boot_id, or None before it is known.
        due: the next number, or None before it is known.
        resends: duplicates that came.
        wants_ack: a report was accepted, or the device does not know that it was.
        wants_resend: a report is missing.
    """

    def __init__(self, repair_ms: int, boot: int | None = None, due: int | None = None) -> None:
        self.boot = boot
        self.due = due
        self.resends = 0
        self.wants_ack = False
        self.wants_resend = False
        self._repair_ms = repair_ms
        self._held: dict[int, SequencedFrame] = {}
        self._recent: dict[int, bytes] = {}  # number: body, of the last accepted reports
        self._gap: tuple[int, int] | None = None  # due, and the first beat that shows it missing
        self._asked: int | None = None  # due, at the last request for it
        self._asked_ms: int | None = None  # when a beat last caused a request, if one has
        self._end: int | None = None  # after the newest number that a beat has named
        self._boot_told = False

    @property
    def settled(self) -> bool:
        """Whether nothing is held back, and boot_id and due number are both known or neither is."""
        return not self._held and (self.boot is None) == (self.due is None)

    @property
    def awaited(self) -> int:
        """The least number of reports and findings to come from what is held or missing now.

        A missing report comes, or is reported as lost. But a power-up that was already reported is
        not reported again.
        """
        if self.due is None:
            return 0
        named = self._end is not None and self._ahead(self._end) > 0
        gap = bool(self._held) or named
        return len(self._held) + (gap and not self._boot_told)

    def reopened(self) -> None:
        """Restart the patience for a gap: the link is a new one."""
        self._gap = self._asked_ms = None

    def take(self, frame: Frame, header: FrameHeader) -> list[SequencedFrame]:
        """Return what this frame brings, in order: reports in their turn, and findings."""
        out: list[SequencedFrame] = []
        shown = SequencedFrame(frame, header)
        self._greet(shown, out)
        if header.kind == RefKind.BEAT:
            self._beat(shown, out)
        elif self.due is None:
            self._hold(shown, out)
        else:
            self._report(shown, out)
        self._look_at_gap(shown, out)
        return out

    def finish(self) -> list[SequencedFrame]:
        """Return what is held, and findings about what is missing before it: nothing more comes."""
        out: list[SequencedFrame] = []
        if self._held:
            self._begin_with_held()
            end = self._after_held()
            self._advance(end, self._held[(end - 1) % _SEQS], out)
        return out

    def _ahead(self, seq: int) -> int:
        """Return the distance of a number from the due one; negative for those before it."""
        assert self.due is not None  # noqa: S101 - asked only once it is known
        return (seq - self.due + _HALF) % _SEQS - _HALF

    def _greet(self, shown: SequencedFrame, out: list[SequencedFrame]) -> None:
        """Handle a device that is not known yet, or is not the one it was."""
        header = shown.header
        powered = header.kind == RefKind.POWER_UP and header.seq == 0
        if header.boot == self.boot:
            if powered and self.due is None:
                self.due = 0
            if not powered or not self._is_another(shown.frame.body):
                return
        known = self.boot is not None
        if known:
            out += self.finish()
            if self._end is not None:
                self._advance(self._end, shown, out)
            if not powered:
                out.append(SequencedFrame(shown.frame, header, ShoeBooted()))
        self._held.clear()
        self._recent.clear()
        self._gap = self._asked = self._asked_ms = self._end = None
        self.boot = header.boot
        self.due = 0 if known or powered else None
        self._boot_told = known and not powered
        self.wants_resend = self.due is None

    def _is_another(self, body: bytes) -> bool:
        """Report whether a power-up differs from the one that this boot_id began with."""
        if self.due == 0:
            return False
        known = self._recent.get(0, body)
        return known != body or self._ahead(0) < -KEPT

    def _beat(self, shown: SequencedFrame, out: list[SequencedFrame]) -> None:
        following = (shown.header.seq + 1) % _SEQS
        kept, unacked = (int.from_bytes(shown.header.payload[at : at + 2], "big") for at in (0, 2))
        self.wants_ack = True
        if self.due is None:
            self.due = unacked
            self._held = {seq: held for seq, held in self._held.items() if self._ahead(seq) >= 0}
            self._release(out)
        if self._ahead(following) < 0:  # it knows of fewer than we have: no number can be trusted
            self._advance(self._after_held(), shown, out)
            self._lost(following, shown, out)
            self.due = following
        else:
            self._advance(min(kept, following, key=self._ahead), shown, out)
        self._end = following

    def _report(self, shown: SequencedFrame, out: list[SequencedFrame]) -> None:
        seq = shown.header.seq
        ahead = self._ahead(seq)
        if -KEPT <= ahead < 0:
            self.wants_ack = True
            self._duplicate(shown, self._recent.get(seq), out)
        elif ahead < 0:  # no resend goes so far back: no number can be trusted
            self._advance(self._after_held(), shown, out)
            self._lost(seq, shown, out)
            self.due = seq
            self._hold(shown, out)
        elif seq in self._held:
            self._duplicate(shown, self._held[seq].frame.body, out)
        else:
            if ahead >= KEPT:
                self._advance(seq - KEPT + 1, shown, out)
            self._hold(shown, out)

    def _duplicate(
        self, shown: SequencedFrame, known: bytes | None, out: list[SequencedFrame]
    ) -> None:
        body = shown.frame.body
        if known is None or known == body:
            self.resends += 1
            return
        bodies = (known.hex().upper(), body.hex().upper())
        finding = CopyConflict(device_seq=str(shown.header.seq), bodies=bodies)
        out.append(SequencedFrame(shown.frame, shown.header, finding))

    def _hold(self, shown: SequencedFrame, out: list[SequencedFrame]) -> None:
        """Keep a report until its turn, which may be now."""
        self._held[shown.header.seq] = shown
        if self.due is None and len(self._held) > KEPT:
            self._begin_with_held()
        if self.due is not None:
            self._release(out)

    def _begin_with_held(self) -> None:
        """Choose the first due number without a beat: the first report's, or an earlier one."""
        if self.due is None:
            self.due = next(iter(self._held))
            self.due = min(self._held, key=self._ahead)

    def _release(self, out: list[SequencedFrame]) -> None:
        """Append the reports whose turn it is."""
        assert self.due is not None  # noqa: S101 - asked only once it is known
        while (taken := self._held.pop(self.due, None)) is not None:
            if len(self._recent) >= KEPT:
                del self._recent[next(iter(self._recent))]
            self._recent[self.due] = taken.frame.body
            self.due = (self.due + 1) % _SEQS
            self.wants_ack = True
            if not (self._boot_told and taken.header.kind == RefKind.POWER_UP):
                out.append(taken)
            self._boot_told = False

    def _advance(self, to: int, shown: SequencedFrame, out: list[SequencedFrame]) -> None:
        """Move `due` to `to`: append what is held before it, and report what is missing as lost."""
        self._release(out)
        while self._ahead(to % _SEQS) > 0:
            there = [seq for seq in self._held if self._ahead(seq) < self._ahead(to % _SEQS)]
            following = min(there, key=self._ahead) if there else to % _SEQS
            self._lost(following, shown, out)
            self.due = following
            self._release(out)

    def _after_held(self) -> int:
        assert self.due is not None  # noqa: S101 - asked only once it is known
        return max(self._held, key=self._ahead) + 1 if self._held else self.due

    def _lost(self, got: int, shown: SequencedFrame, out: list[SequencedFrame]) -> None:
        finding = ReportLost(expected=str(self.due), got=str(got))
        out.append(SequencedFrame(shown.frame, shown.header, finding))

    def _look_at_gap(self, shown: SequencedFrame, out: list[SequencedFrame]) -> None:
        """Ask for what is missing, once and at the periodic beats; finally give it up."""
        header = shown.header
        beat = header.kind == RefKind.BEAT
        if self.due is None or not (self._held or (beat and self._ahead(header.seq) >= 0)):
            return
        if self._asked != self.due:
            self.wants_resend, self._asked, self._asked_ms = True, self.due, None
        if not beat:  # only a beat shows the time: a resent report has that of its first sending
            return
        # A beat follows each resend. If that beat caused another request, the two would never
        # pause.
        asked_ms, now_ms = self._asked_ms, header.device_ms
        if asked_ms is None or (now_ms - asked_ms) % _CLOCK >= _ASK_AGAIN_MS:
            self.wants_resend, self._asked_ms = True, now_ms
        if self._gap is None or self._gap[0] != self.due:
            self._gap = self.due, header.device_ms
        elif (header.device_ms - self._gap[1]) % _CLOCK >= self._repair_ms:
            self._advance(header.seq + 1, shown, out)
