"""Decode a journal's records, or a capture's bytes, into numbered shoe events. Pure.

`framer -> check -> link protocol (copies, resends, codes)`, interleaved with the events on the link
in the journal's order. The same records always give the same events under the same numbers. So the
driver may die at any instant and resend what was not acknowledged.
"""

from typing import Final

from events.clock import rfc3339
from events.types import (
    AnyReport,
    CardCarriedOver,
    CardDrawn,
    CardRevealed,
    DeviceResult,
    FrameRejected,
    LinkDown,
    LinkOpen,
    LinkStalled,
    LinkUp,
    RoundForcedEnd,
    ShoeBooted,
    ShoeEvent,
    ShoeReady,
)
from shoe_driver.framing.frames import RAW_LIMIT, Frame, Piece
from shoe_driver.framing.registry import make_framer
from shoe_driver.journal.records import (
    RULES,
    JournalState,
    Record,
    RecordKind,
    parse_header,
    parse_journal_state,
)
from shoe_driver.link.protocols import DecodedReport, make_link_protocol
from shoe_driver.link.states import LinkInput, LinkState, next_state
from shoe_driver.profiles.profile import Profile

__all__ = ["RESTARTED", "STALE", "Decoder"]

RESTARTED: Final = "driver restarted"
STALE: Final = "stale"  # the reason of a reject: it waited in a device server before we connected

_SEVEN: Final = 7
_WITHOUT_BIT_7: Final = bytes(byte & 0x7F for byte in range(256))
_DEAL_GOES_ON: Final = (CardDrawn, CardRevealed, CardCarriedOver)
_DEAL_IS_OVER: Final = (DeviceResult, RoundForcedEnd, ShoeBooted, ShoeReady)


class Decoder:
    """Decodes one journal from its beginning.

    Args:
        profile: the shoe's wire profile.
        journal: the journal's id, or empty for a bare capture.

    Attributes:
        link: the state of the link.
        head: the number of the newest event.
        in_deal: cards are out and no result has come, so silence is unusual. A profile without
            results does not mark the end of a deal, and is never in one.
        heard_us: monotonic arrival of the newest valid frame, or None.
        frames: valid frames, copies included.
        reports: reports accepted.
        rejected: rejects reported.
    """

    def __init__(self, profile: Profile, journal: str = "") -> None:
        self._profile = profile
        self._journal = journal
        self._framer = make_framer(profile.wire)
        # Of seven data bits the eighth is parity, or nothing; offsets stay.
        self._seven_bits = profile.serial.data_bits == _SEVEN
        self._protocol = make_link_protocol(profile)
        self._events: list[ShoeEvent] = []
        self._mono_us: int | None = None
        self._utc = ""
        self._base = 0  # bytes from the device in segments that this decoder has not read
        self._unproven = False  # a valid frame would change the link to up
        self.link = LinkState.DOWN
        self.head = 0
        self.in_deal = False
        self.heard_us: int | None = None
        self.frames = 0
        self.reports = 0
        self.rejected = 0

    @property
    def copies(self) -> tuple[int, ...]:
        """The number of reports with one copy, two, and so on; empty if the device sends none."""
        return self._protocol.copies

    @property
    def short_copies(self) -> int:
        """The number of reports with fewer copies than the profile sends."""
        return sum(self._protocol.copies[:-1])

    @property
    def resends(self) -> int:
        """The number of reports that came again after they were accepted."""
        return self._protocol.resends

    @property
    def expected_head(self) -> int:
        """The number up to which the bytes so far are certain to give events.

        It is the head, unless reports wait for a missing one. A reader at the head does not know
        those reports, which came before anything that happens now.
        """
        return self.head + self._protocol.awaited

    @property
    def device_should_send(self) -> bool:
        """Whether silence past the profile's limit is a stall."""
        return self.in_deal or self._profile.has_beat

    @property
    def pending(self) -> bool:
        """Whether bytes wait for the rest of their frame or run."""
        return self._framer.pending

    @property
    def offset(self) -> int:
        """How many bytes from the device have been decoded."""
        return self._base + self._framer.offset

    def carried(self, mono_us: int) -> JournalState | None:
        """Return the journal's state for its next segment, or None if none may begin yet.

        In mid-deal, in mid-frame, and while copies may come, there is more state than this record
        holds.
        """
        if self.in_deal or self.pending or not self._protocol.settled(mono_us):
            return None
        return JournalState(
            head=self.head,
            offset=self.offset,
            link=self.link.value,
            heard_us=self.heard_us,
            memory=self._protocol.memory,
        )

    def next_journal_state(self) -> JournalState:
        """Return the state for a new journal of the same device, which then knows these reports.

        Its events are numbered from 1 again, and its link is down.
        """
        down = LinkState.DOWN.value
        return JournalState(
            head=0, offset=0, link=down, heard_us=None, memory=self._protocol.memory
        )

    def feed(self, record: Record) -> list[ShoeEvent]:
        """Decode the journal's next record; return its events, in order."""
        self._mono_us, self._utc = record.mono_us, rfc3339(record.utc_ns)
        if record.kind is RecordKind.DATA:
            self._pieces(self._framer.feed(self._data(record.payload)))
        elif record.kind is RecordKind.CARRIED:
            self._carry_on(parse_journal_state(record))
        elif record.kind is RecordKind.HEADER:
            if parse_header(record).rules < RULES:
                self._protocol.accept_no_late_copies()
        else:
            self._happening(record)
        return self._taken()

    def feed_bare(self, data: bytes) -> list[ShoeEvent]:
        """Decode the next bytes of a capture, which has no times and no link."""
        self._pieces(self._framer.feed(self._data(data)))
        return self._taken()

    def greeting(self) -> bytes:
        """Return the bytes to send once the port is open; empty if the profile never writes."""
        return self._protocol.greeting()

    def replies(self) -> bytes:
        """Return, once, the bytes to send after everything fed is stored in the journal.

        Empty if the profile never writes, or nothing is due.
        """
        return self._protocol.replies()

    def question(self, mono_us: int) -> bytes:
        """Return the bytes to send because time has passed; empty if the profile does not poll."""
        return self._protocol.question(mono_us)

    def finish(self) -> list[ShoeEvent]:
        """End the capture: reject the bytes that wait for more."""
        self._pieces(self._framer.flush())
        self._heard(self._protocol.finish())
        return self._taken()

    def _data(self, data: bytes) -> bytes:
        return data.translate(_WITHOUT_BIT_7) if self._seven_bits else data

    def _taken(self) -> list[ShoeEvent]:
        events, self._events = self._events, []
        return events

    def _carry_on(self, carried: JournalState) -> None:
        """Begin a segment; a decoder that has read the earlier ones is in this state already."""
        self._protocol.recall(carried.memory)
        self._base = carried.offset - self._framer.offset
        self.head, self.heard_us = carried.head, carried.heard_us
        self.link = LinkState(carried.link)
        self._unproven = self.link in (LinkState.OPEN, LinkState.STALLED)

    def _happening(self, record: Record) -> None:
        """Decode an event on the link; every one but silence ends what was arriving."""
        text = record.payload.decode(errors="replace")
        if record.kind is RecordKind.SILENCE:
            if self._moved(LinkInput.SILENCE):
                self._tell(LinkStalled(silent_ms=int(text)))
            return
        self._pieces(self._framer.flush())
        if record.kind is RecordKind.STALE:
            self.rejected += 1
            raw = record.payload[:RAW_LIMIT].hex().upper()
            self._tell(FrameRejected(reason=STALE, raw=raw, length=len(record.payload)), raw=raw)
        elif record.kind is RecordKind.OPEN:
            self._protocol.reopened()
            if self._moved(LinkInput.OPENED):
                self._tell(LinkOpen(transport=text))
        elif record.kind is RecordKind.CLOSE and self._moved(LinkInput.LOST):
            self._tell(LinkDown(reason=text))
        elif record.kind is RecordKind.START:
            self._protocol.restarted()
            self.heard_us = None
            if self._moved(LinkInput.RESTARTED):
                self._tell(LinkDown(reason=RESTARTED))

    def _moved(self, happening: LinkInput) -> bool:
        """Apply an event to the link's state; report whether the state changed."""
        before = self.link
        self.link = next_state(before, happening) or before
        self._unproven = self.link in (LinkState.OPEN, LinkState.STALLED)
        return self.link is not before

    def _pieces(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, Frame):
                self._frame(piece)
            else:
                self.rejected += 1
                raw = piece.raw.hex().upper()
                report = FrameRejected(reason=piece.reason, raw=raw, length=piece.length)
                self._tell(report, piece.offset, raw)
                for besides in self._protocol.rejected(piece):
                    self._tell(besides, piece.offset, raw)

    def _frame(self, frame: Frame) -> None:
        self.frames += 1
        self.heard_us = self._mono_us
        if self._unproven and self._moved(LinkInput.FRAME):
            self._tell(LinkUp(), frame.offset)
        self._heard(self._protocol.decode(frame, self._mono_us))

    def _heard(self, heard: list[DecodedReport]) -> None:
        for each in heard:
            report = each.report
            self.reports += each.new
            if isinstance(report, _DEAL_GOES_ON):
                self.in_deal = self._profile.result == "required"
            elif isinstance(report, _DEAL_IS_OVER):
                self.in_deal = False
            frame = each.frame
            self._tell(report, frame.offset, frame.raw.hex().upper(), frame.seq or None)

    def _tell(
        self,
        report: AnyReport,
        offset: int | None = None,
        raw: str = "",
        device_seq: str | None = None,
    ) -> None:
        self.head += 1
        self._events.append(
            ShoeEvent(
                journal=self._journal,
                seq=self.head,
                profile=self._profile.id,
                profile_hash=self._profile.digest,
                device_seq=device_seq,
                offset=self._base + (self._framer.offset if offset is None else offset),
                raw=raw,
                mono_us=self._mono_us or 0,
                utc=self._utc,
                report=report,
            )
        )
