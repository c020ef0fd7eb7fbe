"""A conformance session: decode a capture, audit it, and say what was seen and what never was.

Its one clock is in the records; it reads and writes no file.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from baccarat.conformance.audit import Fault, ShoeAudit
from baccarat.conformance.rules import RULES, STEPS
from events.cards import Card
from events.types import ShoeEvent
from shoe_driver.codes.bracket import BracketTable
from shoe_driver.codes.enq import EnqTable
from shoe_driver.codes.fields import FieldTable
from shoe_driver.codes.ref import RefTable
from shoe_driver.codes.scan import ScanTable
from shoe_driver.decode import Decoder
from shoe_driver.framing.frames import Frame
from shoe_driver.framing.registry import make_framer
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.link.numbering import Numbering
from shoe_driver.profiles.profile import LATE_MS, Profile

__all__ = ["Conformance", "ConformanceSession"]

_DRAWN: Final = ("Player's third card", "Banker's third card", "Player wins", "Banker wins", "tie")
_LINE_CAN: Final = frozenset({"card_drawn", "card_unreadable", "error_raised", "burn_card"})


class Conformance(Struct, frozen=True, kw_only=True):
    """The outcome of a session.

    Args:
        seen: steps of a shoe's life and faces, in their order.
        never_seen: those that the profile could show, and the capture does not.
        faults: rules that were broken.
        events: how many events there were.
        digest: SHA-256 of the bytes, hex.
        counts: how often each seen thing was seen.
    """

    seen: tuple[str, ...]
    never_seen: tuple[str, ...]
    faults: tuple[Fault, ...]
    events: int
    digest: str
    counts: dict[str, int]

    @property
    def ok(self) -> bool:
        """Whether no rule was broken."""
        return not self.faults

    def document(self) -> dict[str, Any]:
        """Return the outcome as it is shown to machines."""
        faults = [{"rule": fault.rule, "at": fault.at, "text": fault.text} for fault in self.faults]
        return {
            "ok": self.ok,
            "seen": list(self.seen),
            "never_seen": list(self.never_seen),
            "faults": faults,
        }


class ConformanceSession:
    """Audits a capture as it comes.

    Args:
        profile: the shoe's.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._decoder = Decoder(profile, "conform")
        self._audit = ShoeAudit(profile)
        self._copies = _CopyTimes(profile)
        self._digest = hashlib.sha256()
        self._events = 0
        self._heard_us: int | None = None

    @property
    def waiting(self) -> tuple[str, ...]:
        """What the technician can still do, in the order of a shoe's life."""
        missing = set(self._missing())
        return tuple(step.asks for step in STEPS if step.name in missing)

    @property
    def host(self) -> Decoder | None:
        """What a device that is acknowledged or asked is to hear; None for any other."""
        return self._decoder if self._profile.writes else None

    def is_quiet(self, mono_us: int) -> bool:
        """Report whether half a frame has waited too long for its rest."""
        waited_us = mono_us - (self._heard_us or mono_us)
        return self._decoder.pending and waited_us > self._profile.patience_ms * 1_000

    def feed(self, records: Iterable[Record]) -> None:
        """Take the next records of a journal."""
        for record in records:
            if record.kind is RecordKind.DATA:
                self._digest.update(record.payload)
                self._copies.feed(record.payload, record.mono_us)
                self._beat(record.mono_us)
            if record.kind is not RecordKind.HEADER:
                self._take(self._decoder.feed(record))

    def feed_bare(self, data: bytes) -> None:
        """Take bytes without times."""
        self._digest.update(data)
        self._copies.feed(data, None)
        self._take(self._decoder.feed_bare(data))

    def finish(self) -> Conformance:
        """End the session."""
        self._take(self._decoder.finish())
        self._audit.finish()
        faults = [*self._audit.faults, *self._copies.faults, *self._short()]
        order = list(RULES)
        faults.sort(key=lambda fault: (fault.at, order.index(fault.rule)))
        seen = self._audit.seen
        names = [step.name for step in STEPS if seen[step.name]]
        faces = [card.value for card in Card if seen[card.value]]
        return Conformance(
            seen=(*names, *faces),
            never_seen=tuple(self._missing()),
            faults=tuple(faults),
            events=self._events,
            digest=self._digest.hexdigest(),
            counts=dict(seen),
        )

    def _take(self, events: list[ShoeEvent]) -> None:
        self._events += len(events)
        for event in events:
            self._audit.take(event)

    def _beat(self, mono_us: int) -> None:
        limit_ms = self._profile.limits.silence_ms
        before, self._heard_us = self._heard_us, mono_us
        if self._profile.has_beat and before is not None and mono_us - before > limit_ms * 1_000:
            silent = (mono_us - before) // 1_000
            text = f"silent for {silent} ms; its beat should come within {limit_ms} ms"
            self._audit.faults.append(Fault(rule="beat", at=self._decoder.offset, text=text))

    def _short(self) -> Iterator[Fault]:
        copies, repeat = self._decoder.copies, self._profile.repeat
        if repeat is not None and self._decoder.short_copies:
            told = ", ".join(f"{count} in {n}" for n, count in enumerate(copies, start=1) if count)
            text = f"{self._decoder.short_copies} reports came in fewer than {repeat.copies} copies"
            yield Fault(
                rule="copies", at=self._decoder.offset, text=f"{text} (reports by copies: {told})"
            )

    def _missing(self) -> Iterator[str]:
        can = _can_say(self._profile)
        for step in STEPS:
            possible = not step.kinds or bool(can & set(step.kinds)) or "link_down" in step.kinds
            if step.name in _DRAWN:
                possible = "card_drawn" in can
            if possible and not self._audit.seen[step.name]:
                yield step.name
        yield from (card.value for card in Card if not self._audit.seen[card.value])


class _CopyTimes:
    """The times of a report's copies, frame by frame, by the profile's own framer."""

    def __init__(self, profile: Profile) -> None:
        self.faults: list[Fault] = []
        self._repeat = profile.repeat
        self._framer = make_framer(profile.wire)
        number = profile.wire.number
        self._boot = Numbering(number).boot if number else None
        self._raw = b""
        self._first_us = 0
        self._count = 0

    def feed(self, data: bytes, mono_us: int | None) -> None:
        """Take the next bytes, and when they came."""
        if self._repeat is None:
            return
        for piece in self._framer.feed(data):
            if not isinstance(piece, Frame):
                continue
            if piece.raw != self._raw or self._count >= self._repeat.copies:
                if piece.raw == self._raw and piece.seq != self._boot:
                    text = f"a copy more than the {self._repeat.copies} of the profile"
                    self.faults.append(Fault(rule="copies", at=piece.offset, text=text))
                self._raw, self._first_us, self._count = piece.raw, mono_us or 0, 1
                continue
            self._count += 1
            late_ms = ((mono_us or 0) - self._first_us) // 1_000
            if self._repeat.window_ms < late_ms <= self._repeat.window_ms + LATE_MS:
                text = f"a copy came {late_ms} ms after the first; {self._repeat.window_ms} ms due"
                self.faults.append(Fault(rule="copy_window", at=piece.offset, text=text))


def _can_say(profile: Profile) -> frozenset[str]:
    """Return the kinds of report that a profile has codes for."""
    codes = profile.codes
    if isinstance(codes, EnqTable):
        kinds = {spec.report for spec in codes.kinds.values()}
        placed = set(codes.targets.values()) & {"first_card", "burn_card"}
        return frozenset(kinds | placed)
    if isinstance(codes, FieldTable):
        return frozenset(spec.report for spec in codes.kinds.values())
    if isinstance(codes, RefTable):
        return frozenset(kind for step in STEPS for kind in step.kinds)
    if isinstance(codes, ScanTable):
        lines = {spec.report for spec in codes.lines.values()}
        return frozenset({"card_drawn", "card_unreadable"} | lines)
    assert isinstance(codes, BracketTable)  # noqa: S101 - there are no others
    return _LINE_CAN | {spec.report for spec in codes.lines.values()}
