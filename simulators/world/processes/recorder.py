"""The driver's journal, decoder and outbox kept in step, as the driver's recorder keeps them.

Stored first and decoded then. That room's own recorder writes through a thread; this one writes to
the world's disk, and everything that it decides with is the driver's: records, decoder, outbox.
"""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from events.clock import Clock
from events.types.shoe_reports import ShoeEvent
from shoe_driver.decode import Decoder
from shoe_driver.journal.records import Record, RecordKind, encode_record
from shoe_driver.link.states import LinkState
from shoe_driver.outbox import Outbox
from shoe_driver.profiles.profile import Profile
from simulators.world.parts.fault_injector import Killed
from simulators.world.parts.journal_disk import JournalDisk, WorldJournal

__all__ = ["WorldRecorder"]

_encoder: Final = msgspec.json.Encoder()


class WorldRecorder:
    """What a driver knows, from its start to its death.

    Args:
        disk: where the journals are.
        text: the wire profile's bytes.
        profile: the same, read.
        clock: stamps what happens on the link.
        probe: told of each step.

    Attributes:
        decoder: of the newest journal.
        outbox: of the newest journal.
        notes: what a person should know.
        forsaken: the disk has lost what the core has: another journal is begun.
    """

    def __init__(
        self,
        disk: JournalDisk,
        text: bytes,
        profile: Profile,
        clock: Clock,
        probe: Callable[[str], None],
    ) -> None:
        self.on_events: Callable[[], None] = lambda: None
        self.notes: list[str] = []
        self.profile = profile
        self.forsaken = False
        self._disk = disk
        self._text = text
        self._clock = clock
        self._probe = probe
        self._owed: list[Record] = []
        journals = disk.journals
        if journals:
            self._adopt(WorldJournal(disk, journals[-1]))
            self._owed.append(self._record(RecordKind.START))
        else:
            self._adopt(disk.begin(text, clock))

    @property
    def journal(self) -> str:
        """The journal's id."""
        return self._journal.header.journal

    @property
    def counts(self) -> tuple[int, int, int]:
        """Reports, reports short of copies, and rejects."""
        return self.decoder.reports, self.decoder.short_copies, self.decoder.rejected

    @property
    def copies(self) -> tuple[int, ...]:
        """Finished reports of which one copy came, two, and so on."""
        return self.decoder.copies

    @property
    def resends(self) -> int:
        """Reports that came again although they had been taken."""
        return self.decoder.resends

    def note_acked(self) -> None:
        """Note what has been acknowledged, without forcing it to the disk."""
        self._disk.acked[self.journal] = self.outbox.acked

    def abandon(self, seq: int) -> None:
        """The core has events of this journal that are not here."""
        self.forsaken = True
        self._say(f"the disk has lost events of journal {self.journal} (the core has {seq})")

    def check_older_journal(self, journal: str, seq: int) -> None:
        """The core stands in an older journal."""
        if self._disk.acked.get(journal, 0) > seq:
            self._say(f"the core has {seq} events of journal {journal} and once had more")

    def release(self, seq: int) -> None:
        """The core needs nothing up to this number: nothing is ever dropped here."""

    def arrived(self, records: Iterable[Record]) -> None:
        """Bytes came, or something happened on the link.

        Raises:
            LogUnwritable: it was not stored, and so was not accepted.
        """
        batch = [*self._owed, *records]
        try:
            self._probe("journal.before")
        except Killed:
            self._disk.tear(self.journal, b"".join(map(encode_record, batch)))
            raise
        self._journal.append(batch)
        self._probe("journal.after")
        self._owed.clear()
        for record in batch:
            self._queue(self.decoder.feed(record))
        self.on_events()

    def happened(self, kind: RecordKind, text: str = "") -> None:
        """Something happened on the link.

        Raises:
            LogUnwritable: it was not stored, and so has not happened.
        """
        self.arrived([self._record(kind, text)])

    def data(self, payload: bytes) -> None:
        """Bytes came from the device.

        Raises:
            LogUnwritable: they were not stored, and so were not accepted.
        """
        now = self._clock
        self.arrived([Record(RecordKind.DATA, now.mono_us(), now.utc_ns(), payload)])

    def hang_up(self, reason: str) -> None:
        """The link has ended. Owed until it could be stored: the core must learn of the break.

        Raises:
            LogUnwritable: it is still owed.
        """
        if self.decoder.link is not LinkState.DOWN and not self._owed:
            self._owed.append(self._record(RecordKind.CLOSE, reason))
        self.settle()

    def settle(self) -> None:
        """Store what is owed.

        Raises:
            LogUnwritable: it is still owed.
        """
        if self._owed:
            self.arrived([])

    def roll(self) -> None:
        """Begin a new journal in place of a forsaken one; the link is down."""
        if self.forsaken:
            self.forsaken = False
            self._owed.clear()
            self._adopt(self._disk.begin(self._text, self._clock))

    def refill(self) -> None:
        """Decode again what the outbox lacks."""
        start = self.outbox.lacks
        if start is None:
            return
        decoder = Decoder(self.profile, self.journal)
        for record in self._journal.records():
            for event in decoder.feed(record):
                if event.seq >= start and self.outbox.offer(event.seq):
                    self.outbox.keep(_encoder.encode(event))

    def _adopt(self, journal: WorldJournal) -> None:
        """Take a journal from the first event that is not acknowledged."""
        self._journal = journal
        acked = self._disk.acked.get(journal.header.journal, 0)
        self.decoder = Decoder(self.profile, self.journal)
        self.outbox = Outbox(acked=acked)
        for record in journal.records():
            self._queue(self.decoder.feed(record))
        self.decoder.replies()  # of another life: the device asks again
        if acked > self.decoder.head:
            self._say(f"the disk has lost events of journal {self.journal}")
            self._adopt(self._disk.begin(self._text, self._clock))

    def _say(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def _queue(self, events: Iterable[ShoeEvent]) -> None:
        for event in events:
            if self.outbox.offer(event.seq):
                self.outbox.keep(_encoder.encode(event))

    def _record(self, kind: RecordKind, text: str = "") -> Record:
        return Record(kind, self._clock.mono_us(), self._clock.utc_ns(), text.encode())
