"""Link protocols: from a framer's valid frames to reports, with numbering, copies and codes.

Numbered reports go through the duplicate filter, whether the device repeats them, is acknowledged,
or sends each once. Of reports without numbers every one is new. `ref-crc` has its own, the resend
window. A protocol object keeps the state it needs to interpret the next frame. It can export that
state as one line of text, from which another one continues.

The host's two frames to a `ref-crc` device, in the device's own format. docs/shoe/ref-crc.md shows
them written out by hand. To other devices the driver
sends only what their profile says: an acknowledgement, or a question.
"""

import struct
from abc import ABC, abstractmethod
from typing import Final

from msgspec import Struct

from events.errors import OurBug
from events.types import AnyReport, ReportLost, ShoeBooted, UnknownReport
from shoe_driver.codes.bracket import BracketCodes, BracketTable
from shoe_driver.codes.enq import EnqCodes, EnqTable
from shoe_driver.codes.fields import FieldCodes, FieldTable
from shoe_driver.codes.ref import RefCodes, RefKind, RefTable
from shoe_driver.codes.scan import ScanCodes, ScanTable
from shoe_driver.framing.checks import check_function
from shoe_driver.framing.chunks import cobs_encode
from shoe_driver.framing.frames import Frame, Rejected
from shoe_driver.link.duplicate_filter import DuplicateFilter
from shoe_driver.link.numbering import numbering_of
from shoe_driver.link.resend_window import VERSION, ResendWindow, SequencedFrame, parse_frame_header
from shoe_driver.profiles.profile import Profile, RepeatPolicy

__all__ = ["DecodedReport", "LinkProtocol", "ack_frame", "make_link_protocol", "resend_frame"]

_crc: Final = check_function("crc16-ccitt-false")
_HEADER: Final = struct.Struct(">BBHHIB")


def ack_frame(boot: int | None, due: int | None) -> bytes:
    """Return `ACK`: everything before `due` is in the journal.

    Empty if nothing is known of the device that could be acknowledged.
    """
    return b"" if boot is None or due is None else _frame(RefKind.ACK, boot, due)


def resend_frame(boot: int | None, due: int | None) -> bytes:
    """Return `RESEND`: everything before `due` is in the journal; send the rest again.

    To an unknown device it means: from the first number that was never acknowledged.
    """
    known = boot is not None and due is not None
    return _frame(RefKind.RESEND, boot or 0, due or 0) if known else _frame(RefKind.RESEND, 0, 0)


def _frame(kind: RefKind, boot: int, seq: int) -> bytes:
    body = _HEADER.pack(VERSION, kind, boot, seq, 0, 0)
    stuffed = cobs_encode(body + _crc(body).to_bytes(2, "big"))
    return b"\0" + stuffed + b"\0"  # the first 00 ends any noise that the device has received


_BEAT_BYTES: Final = 4


class DecodedReport(Struct, frozen=True, gc=False):
    """One decoded report.

    Args:
        report: its meaning.
        frame: the frame that carries or reveals it.
        new: the device sent it; False for a finding about the device's reports.
    """

    report: AnyReport
    frame: Frame
    new: bool = True


class LinkProtocol(ABC):
    """The base of every link protocol: it writes what the profile's sections say.

    By itself it counts nothing, keeps no state, and has no rule that depends on time or link.
    """

    def __init__(self, profile: Profile) -> None:
        acknowledge, poll = profile.acknowledge, profile.poll
        self._ack = bytes.fromhex(acknowledge.ack) if acknowledge else b""
        self._nak = bytes.fromhex(acknowledge.nak) if acknowledge else b""
        self._request = bytes.fromhex(poll.request) if poll else b""
        self._every_us = poll.every_ms * 1_000 if poll else 0
        self._due_us = 0
        self._replies = b""

    @property
    def copies(self) -> tuple[int, ...]:
        """Finished reports with one copy, two, and so on; empty if the device sends none."""
        return ()

    @property
    def resends(self) -> int:
        """The number of reports that came again after they were accepted."""
        return 0

    @property
    def awaited(self) -> int:
        """The least number of reports still to come from what arrived or is known to be missing."""
        return 0

    @property
    def memory(self) -> str | None:
        """The state for the next frame, once `settled`; None before the first frame."""
        return None

    def recall(self, memory: str | None) -> None:
        """Restore the state that `memory` returned."""

    def settled(self, mono_us: int) -> bool:  # noqa: ARG002 - the protocol's signature
        """Report whether `memory` is the whole state."""
        return True

    @abstractmethod
    def decode(self, frame: Frame, mono_us: int | None) -> list[DecodedReport]:
        """Return the reports of a valid frame, in order."""

    def rejected(self, piece: Rejected) -> list[AnyReport]:  # noqa: ARG002 - the same
        """Return the reports that rejected bytes imply, besides the rejection itself."""
        self._replies += self._nak
        return []

    def accept_no_late_copies(self) -> None:
        """Accept no late copies: an older build began the journal, and its rules apply."""

    def restarted(self) -> None:
        """Note a start of the driver: earlier times cannot be compared."""

    def reopened(self) -> None:
        """Note that the port was opened."""

    def finish(self) -> list[DecodedReport]:
        """Return the last reports: nothing more comes."""
        return []

    def greeting(self) -> bytes:
        """Return the bytes to send when the port is open."""
        self._replies, self._due_us = b"", 0
        return b""

    def replies(self) -> bytes:
        """Return the bytes to send now that everything received is stored."""
        replies, self._replies = self._replies, b""
        return replies

    def question(self, mono_us: int) -> bytes:
        """Return the bytes to send because time has passed; empty if none are due."""
        if not self._request or mono_us < self._due_us:
            return b""
        self._due_us = mono_us + self._every_us
        return self._request

    def _accepted(self) -> None:
        """Note a valid frame, which is acknowledged, or answers the last question."""
        self._replies += self._ack


class _FramesProtocol(LinkProtocol):
    """The protocol of reports that are frames of binary codes or fields."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        number = profile.wire.number
        taken = number.width if number and number.field is None and number.at == 0 else 0
        if isinstance(profile.codes, FieldTable):
            self._codes: EnqCodes | FieldCodes = FieldCodes(profile.codes, taken)
        elif isinstance(profile.codes, EnqTable):
            self._codes = profile.codes.decoder
        else:
            raise OurBug("a profile of frames was let through without its codes")

    def _meaning(self, frame: Frame) -> AnyReport:
        return self._codes.meaning(frame.body) or UnknownReport(raw=frame.raw.hex().upper())

    def _is_idle(self, frame: Frame) -> bool:
        return isinstance(self._codes, FieldCodes) and self._codes.is_idle(frame.body)


class _NumberedProtocol(_FramesProtocol):
    """The protocol of numbered reports: each may come several times, and none may be missing."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        if profile.wire.number is None:
            raise OurBug("a numbered profile was let through without its numbers")
        acknowledge = profile.acknowledge
        once = RepeatPolicy(copies=1, window_ms=1)
        resent = acknowledge and RepeatPolicy(
            copies=1 + acknowledge.resends, window_ms=acknowledge.window_ms
        )
        self._counted = profile.repeat is not None
        self._numbering = numbering_of(profile.wire.number)
        self._repeat = DuplicateFilter(profile.repeat or resent or once, self._numbering)

    @property
    def copies(self) -> tuple[int, ...]:
        return tuple(self._repeat.copies) if self._counted else ()

    @property
    def memory(self) -> str | None:
        return self._repeat.memory

    def recall(self, memory: str | None) -> None:
        self._repeat.close_window()
        self._repeat.recall(memory)

    def settled(self, mono_us: int) -> bool:
        return self._repeat.settled(mono_us)

    def decode(self, frame: Frame, mono_us: int | None) -> list[DecodedReport]:
        self._accepted()
        if self._is_idle(frame):
            return []
        meaning = self._meaning(frame)
        booted = isinstance(meaning, ShoeBooted)
        verdict = self._repeat.accept(frame.seq, frame.body, mono_us, booted=booted)
        heard = []
        if verdict.finding is not None:
            heard.append(DecodedReport(verdict.finding, frame, new=False))
        if verdict.new:
            heard.append(DecodedReport(meaning, frame))
        return heard

    def rejected(self, piece: Rejected) -> list[AnyReport]:
        super().rejected(piece)
        # Before the first number nothing else shows that a report is missing; a power-up with a
        # number of its own does.
        unknown = self._repeat.memory is None and self._numbering.boot is None
        return [ReportLost(expected="first", got=piece.reason)] if unknown else []

    def accept_no_late_copies(self) -> None:
        self._repeat.late_us = 0

    def restarted(self) -> None:
        self._repeat.close_window()

    def reopened(self) -> None:
        self._repeat.reopened()

    def finish(self) -> list[DecodedReport]:
        self._repeat.close_window()
        return []


class _UnnumberedProtocol(_FramesProtocol):
    """The protocol of frames without numbers. Rejected bytes may have been a card."""

    def decode(self, frame: Frame, mono_us: int | None) -> list[DecodedReport]:  # noqa: ARG002 - the protocol's signature
        self._accepted()
        return [] if self._is_idle(frame) else [DecodedReport(self._meaning(frame), frame)]

    def rejected(self, piece: Rejected) -> list[AnyReport]:
        super().rejected(piece)
        return [ReportLost(expected="frame", got=piece.reason)]


class _LineProtocol(LinkProtocol):
    """The protocol of `line`: every line is new. A rejected line is gone, perhaps with a card."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        if isinstance(profile.codes, BracketTable):
            self._codes: BracketCodes | ScanCodes = BracketCodes(profile.codes)
        elif isinstance(profile.codes, ScanTable):
            self._codes = ScanCodes(profile.codes)
        else:
            raise OurBug("a line profile was let through without its codes")

    @property
    def memory(self) -> str | None:
        return self._codes.memory

    def recall(self, memory: str | None) -> None:
        self._codes.recall(memory or "")

    def settled(self, mono_us: int) -> bool:
        return self._codes.settled(mono_us)

    def decode(self, frame: Frame, mono_us: int | None) -> list[DecodedReport]:
        self._accepted()
        said = self._codes.meaning(frame.body, mono_us)
        return [
            DecodedReport(
                UnknownReport(raw=frame.raw.hex().upper()) if report is None else report, frame
            )
            for report in said
        ]

    def rejected(self, piece: Rejected) -> list[AnyReport]:
        super().rejected(piece)
        return [ReportLost(expected="line", got=piece.reason)]


class _RefProtocol(LinkProtocol):
    """The protocol of `cobs`: reports are numbered, acknowledged and resent."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        if profile.resend is None or not isinstance(profile.codes, RefTable):
            raise OurBug("a cobs profile was let through without its sections")
        self._repair_ms = profile.resend.repair_ms
        self._window = ResendWindow(self._repair_ms)
        self._codes = RefCodes(profile.codes)

    @property
    def resends(self) -> int:
        return self._window.resends

    @property
    def awaited(self) -> int:
        return self._window.awaited

    @property
    def memory(self) -> str | None:
        window = self._window
        known = window.boot is not None and window.due is not None
        return f"{window.boot}:{window.due}" if known else None

    def recall(self, memory: str | None) -> None:
        boot, due = map(int, memory.split(":")) if memory is not None else (None, None)
        resends = self._window.resends
        self._window = ResendWindow(self._repair_ms, boot, due)
        self._window.resends = resends

    def settled(self, mono_us: int) -> bool:  # noqa: ARG002 - numbers decide here, not the time
        return self._window.settled

    def decode(self, frame: Frame, mono_us: int | None) -> list[DecodedReport]:  # noqa: ARG002 - the same
        header = parse_frame_header(frame.body)
        beat = header.kind == RefKind.BEAT
        # Numbers of another protocol version mean nothing to us; an echo of the host's own frames,
        # which some adapters send, has no number at all.
        foreign = header.version != VERSION or header.kind >= RefKind.ACK
        if foreign or (beat and len(header.payload) != _BEAT_BYTES):
            return [DecodedReport(UnknownReport(raw=frame.raw.hex().upper()), frame)]
        return self._said(self._window.take(frame, header))

    def reopened(self) -> None:
        self._window.reopened()

    def finish(self) -> list[DecodedReport]:
        return self._said(self._window.finish())

    def greeting(self) -> bytes:
        self._window.wants_ack = self._window.wants_resend = False
        return resend_frame(self._window.boot, self._window.due)

    def replies(self) -> bytes:
        window = self._window
        wants_ack, wants_resend = window.wants_ack, window.wants_resend
        window.wants_ack = window.wants_resend = False
        if wants_resend:
            return resend_frame(window.boot, window.due)
        return ack_frame(window.boot, window.due) if wants_ack else b""

    def _said(self, taken: list[SequencedFrame]) -> list[DecodedReport]:
        heard = []
        for each in taken:
            if each.finding is not None:
                heard.append(DecodedReport(each.finding, each.frame, new=False))
                continue
            meaning = self._codes.meaning(each.header.kind, each.header.payload)
            heard.append(
                DecodedReport(
                    meaning or UnknownReport(raw=each.frame.raw.hex().upper()), each.frame
                )
            )
        return heard


def make_link_protocol(profile: Profile) -> LinkProtocol:
    """Make the link protocol for a profile's sections and codes."""
    if profile.resend is not None:
        return _RefProtocol(profile)
    if isinstance(profile.codes, BracketTable | ScanTable):
        return _LineProtocol(profile)
    return _NumberedProtocol(profile) if profile.wire.number else _UnnumberedProtocol(profile)
