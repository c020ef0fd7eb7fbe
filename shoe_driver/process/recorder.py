"""The recorder: store in the raw journal, decode, queue in the outbox, always in this order.

Everything is stored first and then decoded, in the journal's order; both halves of a step are done,
or the driver is ending. After a start the recorder decodes the journal again: the same events under
the same numbers, of which it queues those above the acknowledged one.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from events.errors import LinkError, LogUnwritable
from events.mqtt.process import LogLine, Now, Steps
from events.types import ShoeEvent
from shoe_driver.decode import Decoder
from shoe_driver.journal.records import RULES, JournalState, Record, RecordKind
from shoe_driver.link.states import LinkState
from shoe_driver.outbox import Outbox
from shoe_driver.process.effects import (
    BeginJournal,
    BeginSegment,
    DropFile,
    ListFiles,
    LookUpJournal,
    NoteAcked,
    OpenJournal,
    OpenNewest,
    ReadJournal,
    StoreRecords,
)
from shoe_driver.process.retention import JournalRetention, droppable_files
from shoe_driver.profiles.profile import Profile, parse_profile

__all__ = ["Recorder"]

# When to retry a disk that refused another file.
_AGAIN_US: Final = 60_000_000


class Recorder:
    """Stores, decodes, and queues events for the event sender. Perform `start` before all else.

    Args:
        profile: the bytes of the wire profile's file. A journal is decoded to its end with the
            profile that it was begun with.
        keep: how large a file grows, and how long old ones are kept.

    Attributes:
        decoder: the newest journal's decoder.
        outbox: the newest journal's outbox.
        notes: notes on the journal for a person.
        on_events: performed when there may be new events.
    """

    decoder: Decoder
    outbox: Outbox
    profile: Profile
    """The profile of the journal."""

    def __init__(self, profile: bytes, keep: JournalRetention) -> None:
        self.on_events: Callable[[], Steps[None]] = _nothing
        self.notes: list[str] = []
        self._wanted = profile
        self._keep = keep
        self._released: int | None = None
        self._abandoned = False
        self._again_us = 0
        self._noted: tuple[str, int] | None = None
        self._before = Counter[str | int]()
        self._encode = msgspec.json.Encoder().encode
        self._owed: list[Record] = []
        self._open: OpenJournal
        self._size = 0

    def start(self) -> Steps[None]:
        """Open the newest journal and decode it, or begin one.

        Raises:
            LogRefused: the newest journal is damaged.
            LogUnwritable: there is no journal and none can be begun, or it cannot be repaired.
        """
        newest = yield from OpenNewest()
        if newest is None:
            yield from self._begin()
        else:
            yield from self._adopt(newest)
            self._owed.append((yield from _record(RecordKind.START)))
        self._before.subtract(_counted(self.decoder))

    @property
    def journal(self) -> str:
        """The journal's id."""
        return self._open.header.journal

    @property
    def counts(self) -> tuple[int, int, int]:
        """Reports, reports short of copies, and rejects since the driver's start."""
        now = self._counted
        return now["reports"], now["short_copies"], now["rejected"]

    @property
    def copies(self) -> tuple[int, ...]:
        """Finished reports with one copy, two, and so on, since the driver's start."""
        now = self._counted
        return tuple(now[copies] for copies, _ in enumerate(self.decoder.copies, start=1))

    @property
    def resends(self) -> int:
        """Reports that came again after they were accepted, since the driver's start."""
        return self._counted["resends"]

    @property
    def _counted(self) -> Counter[str | int]:
        now = _counted(self.decoder)
        now.update(self._before)
        return now

    @property
    def needs_new_journal(self) -> bool:
        """Whether a new journal should be begun.

        This one is forsaken, or has another profile or older rules.
        """
        header = self._open.header
        others = header.profile.encode() != self._wanted or header.rules != RULES
        return self._abandoned or others

    @property
    def drained(self) -> bool:
        """Whether the core has acknowledged all of this journal."""
        return not self._owed and self.outbox.acked >= self.decoder.head

    def roll(self) -> Steps[bool]:
        """Begin a new journal, if one is wanted and all of this one has been acknowledged.

        Only while the link is down: a new journal knows nothing of the link or the deal.

        Raises:
            LogUnwritable: the disk refused it; the old one goes on.
        """
        if not (self.needs_new_journal and (self.drained or self._abandoned)):
            return False
        before, old = self._counted, self.journal
        yield from self._begin(self._handed_on())
        self._abandoned, self._released = False, None
        self._owed.clear()  # the new journal begins with a link that is down
        yield from LogLine("info", "journal.rolled", {"old": old, "new": self.journal})
        self._before = before
        return True

    def begin_segment(self) -> Steps[bool]:
        """Begin the journal's next file, if this one is large and nothing is pending.

        The link may be up, and its state stays: events and their numbers go on. If the disk
        refuses, the old file goes on, and the recorder retries in a minute.
        """
        if self._owed or self._size < self._keep.segment_bytes:
            return False
        now = (yield from Now()).mono_us
        carried = self.decoder.carried(now)
        if carried is None or now < self._again_us:
            return False
        try:
            fresh = yield from BeginSegment(carried)
        except LogUnwritable as error:
            yield from LogLine("warning", "journal.cannot_go_on", {"reason": str(error)})
            self._again_us = now + _AGAIN_US
            return False
        self._size = fresh.size
        self._queue(self.outbox, self.decoder.feed(fresh.state))
        yield from LogLine("info", "journal.goes_on", {"file": fresh.file})
        return True

    def abandon(self, seq: int) -> Steps[None]:
        """Give up this journal: the core has events of it that the disk has lost.

        New events under their numbers would pass for copies, so no more numbers are given.
        """
        if not self._abandoned:
            self._abandoned = True
            yield from self._note_lost(self.journal, seq, self.decoder.head)

    def check_older_journal(self, journal: str, seq: int) -> Steps[None]:
        """Check the core's position in an older journal: what it lacks there never reaches it."""
        note = yield from LookUpJournal(journal)
        if journal and not note.known:
            yield from LogLine("error", "journal.unknown", {"journal": journal, "core": seq})
            self._say(
                f"the core has {seq} events of journal {journal}, which is not in this folder: "
                "what it had not heard is lost. Compare cards and screen before you settle"
            )
        if note.acked > seq:
            fields = {"journal": journal, "acked": note.acked, "core": seq}
            yield from LogLine("error", "journal.core_has_less", fields)
            self._say(
                f"the core has {seq} events of journal {journal} and once had {note.acked}: its "
                "log is older than it should be"
            )

    def require_trusted_journal(self) -> None:
        """End a link whose journal is forsaken; `roll` then begins another.

        Raises:
            LinkError: it is forsaken.
        """
        if self._abandoned:
            raise LinkError(f"journal {self.journal} has lost events: another is begun")

    def release(self, seq: int) -> None:
        """Note that the core needs nothing of this journal up to this number, nor of older ones."""
        self._released = max(seq, self._released or 0)

    def drop_old_files(self) -> Steps[None]:
        """Drop the files that the site does not want to keep and nobody needs."""
        keep = self._keep
        if (keep.days is None and keep.megabytes is None) or self._released is None:
            return
        released = min(self._released, self.outbox.acked)
        now_s = (yield from Now()).utc_ns / 1_000_000_000
        try:
            files = yield from ListFiles()
            for old in droppable_files(files, keep, released, now_s):
                yield from DropFile(old.name)
                fields = {"file": old.name, "bytes": old.size}
                yield from LogLine("info", "journal.dropped", fields)
        except OSError as error:
            yield from LogLine("warning", "journal.not_dropped", {"reason": str(error)})

    def arrived(self, records: Iterable[Record]) -> Steps[None]:
        """Store and decode bytes from the device.

        Raises:
            LogUnwritable: they were not stored, and so were not accepted.
        """
        batch = [*self._owed, *records]
        self._size = yield from StoreRecords(batch, step="journal")
        self._owed.clear()
        for record in batch:
            self._queue(self.outbox, self.decoder.feed(record))
        yield from self.on_events()

    def happened(self, kind: RecordKind, text: str = "") -> Steps[None]:
        """Store and decode an event on the link.

        Raises:
            LogUnwritable: it was not stored, and so has not happened.
        """
        yield from self.arrived([(yield from _record(kind, text))])

    def hang_up(self, reason: str) -> Steps[None]:
        """Store that the link has ended; until that succeeds it is owed, since the core must know.

        Raises:
            LogUnwritable: it is still owed.
        """
        if self.decoder.link is not LinkState.DOWN and not self._owed:
            self._owed.append((yield from _record(RecordKind.CLOSE, reason)))
        yield from self.settle()

    def settle(self) -> Steps[None]:
        """Store the records that are owed.

        Raises:
            LogUnwritable: they are still owed.
        """
        if self._owed:
            yield from self.arrived([])

    def refill(self) -> Steps[None]:
        """Decode from the journal what the outbox lacks."""
        outbox, floor = self.outbox, self._open.floor
        if (start := outbox.lacks) is None:
            return
        if start <= floor:
            # It was acknowledged, released and dropped: a core that asks for it has an older log.
            self._say(
                f"the core asks for event {start} of journal {self.journal}, and those up to "
                f"{floor} were dropped: its log is older than it should be"
            )
            return
        decoder = Decoder(self.profile, self.journal)
        head, room = outbox.head, outbox.room
        found: list[tuple[int, bytes]] = []

        def visit(record: Record) -> None:
            for event in decoder.feed(record):
                if start <= event.seq <= head and len(found) < room:
                    found.append((event.seq, self._encode(event)))

        yield from ReadJournal(start - 1, visit)
        for seq, message in found:
            if outbox.offer(seq):
                outbox.keep(message)

    def note_acked(self) -> Steps[None]:
        """Note on disk the acknowledged number, if it has changed; nobody waits for that."""
        if self._noted != (self.journal, self.outbox.acked):
            self._noted = self.journal, self.outbox.acked
            yield from NoteAcked(*self._noted)

    def _handed_on(self) -> JournalState | None:
        """Return the state for the next journal, if the device may repeat what it reported here.

        It repeats if the last acknowledgement to it was lost. Nobody knows how much of a forsaken
        journal was sent; in that case the device itself decides where to begin.
        """
        profiles = self.profile, parse_profile(self._wanted, source="of the next journal")
        answered = all(profile.resend is not None for profile in profiles)
        return self.decoder.next_journal_state() if answered and not self._abandoned else None

    def _begin(self, carried: JournalState | None = None) -> Steps[None]:
        yield from self._adopt((yield from BeginJournal(self._wanted, carried)))

    def _adopt(self, fresh: OpenJournal) -> Steps[None]:
        """Read a journal from the first event that is not acknowledged."""
        if fresh.torn:
            fields = {"journal": fresh.file, "bytes": fresh.torn}
            yield from LogLine("warning", "journal.torn_tail", fields)
            self._say(
                f"an unfinished tail of {fresh.torn} bytes was cut off {fresh.file} and "
                "put aside: the last start followed a power cut or a kill"
            )
        header, acked = fresh.header, max(fresh.acked, fresh.floor)
        profile = parse_profile(header.profile.encode(), source=f"in {fresh.file}")
        decoder, outbox = Decoder(profile, header.journal), Outbox(acked=acked)
        yield from ReadJournal(acked, lambda record: self._queue(outbox, decoder.feed(record)))
        decoder.replies()  # from before the start: the device asks again
        if acked > decoder.head:
            yield from self._note_lost(header.journal, acked, decoder.head)
            yield from self._begin()
            return
        self._open, self._size = fresh, fresh.size
        self.profile, self.decoder, self.outbox = profile, decoder, outbox

    def _note_lost(self, journal: str, acked: int, head: int) -> Steps[None]:
        """Note that more was acknowledged than is here."""
        lost = {"journal": journal, "acked": acked, "head": head}
        yield from LogLine("error", "journal.shorter_than_acknowledged", lost)
        self._say(
            f"the disk has lost events of journal {journal} ({head} of {acked} "
            "are there): a new journal is begun. Look at the disk before the next shoe"
        )

    def _say(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def _queue(self, outbox: Outbox, events: list[ShoeEvent]) -> None:
        for event in events:
            if outbox.offer(event.seq):
                outbox.keep(self._encode(event))


def _nothing() -> Steps[None]:
    yield from ()


def _record(kind: RecordKind, text: str = "") -> Steps[Record]:
    now = yield from Now()
    return Record(kind, now.mono_us, now.utc_ns, text.encode())


def _counted(decoder: Decoder) -> Counter[str | int]:
    """Return a decoder's counters; copies by their number."""
    found: Counter[str | int] = Counter(dict(enumerate(decoder.copies, start=1)))
    found.update(
        reports=decoder.reports,
        short_copies=decoder.short_copies,
        rejected=decoder.rejected,
        resends=decoder.resends,
    )
    return found
