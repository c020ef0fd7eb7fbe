"""The recorder: store in the raw journal, decode, queue in the outbox, always in this order.

Everything is stored first and then decoded, in the journal's order; both halves of a step are done,
or the driver is ending. After a start the recorder decodes the journal again: the same events under
the same numbers, of which it queues those above the acknowledged one.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Final

import msgspec
import structlog

from events.clock import Clock
from events.errors import LinkError, LogUnwritable
from events.types.shoe_reports import ShoeEvent
from shoe_driver.decode import Decoder
from shoe_driver.journal.folder import JournalFolder
from shoe_driver.journal.records import RULES, JournalState, Record, RecordKind
from shoe_driver.link.states import LinkState
from shoe_driver.outbox import Outbox
from shoe_driver.profiles.profile import Profile, parse_profile
from shoe_driver.service.journal_segments import JournalChain
from shoe_driver.service.retention import JournalRetention, drop_old_files

__all__ = ["Recorder"]

# How long a stopping driver waits for a running write. A disk may hang for ever.
_DISK_PATIENCE_S: Final = 2.0
# The limit for its last note; without it some events are sent twice after the next start.
_NOTE_S: Final = 0.5
# When to retry a disk that refused another file.
_AGAIN_US: Final = 60_000_000

_log: Final = structlog.get_logger()


class Recorder:
    """Stores, decodes, and queues events for the event sender.

    Args:
        folder: the journals' folder.
        profile: the bytes of the wire profile's file. A journal is decoded to its end with the
            profile that it was begun with.
        clock: stamps events on the link.
        probe: called at each step.
        keep: how large a file grows, and how long old ones are kept.

    Raises:
        LogRefused: the newest journal is damaged.
        LogUnwritable: there is no journal and none can be begun, or it cannot be repaired.

    Attributes:
        decoder: the newest journal's decoder.
        outbox: the newest journal's outbox.
        notes: notes on the journal for a person.
        on_events: called when there are new events.
    """

    def __init__(
        self,
        folder: JournalFolder,
        profile: bytes,
        clock: Clock,
        probe: Callable[[str], None],
        keep: JournalRetention | None = None,
    ) -> None:
        self.on_events: Callable[[], None] = lambda: None
        self.notes: list[str] = []
        self._keep = keep or JournalRetention()
        self._released: int | None = None
        self._abandoned = False
        self._again_us = 0
        self._noted: tuple[str, int] | None = None
        self._noting: Future[None] | None = None
        self._before: Counter[str | int]
        self._folder = folder
        self._wanted = profile
        self._clock = clock
        self._probe = probe
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="shoe-journal")
        self._encode = msgspec.json.Encoder().encode
        self._owed: list[Record] = []
        if newest := folder.newest():
            self._adopt(JournalChain(newest))
            folder.keep_profile(self._journal.header.profile.encode())
            self._owed.append(self._record(RecordKind.START))
        else:
            self._begin()
        self._before = Counter()
        self._before.subtract(_counted(self.decoder))

    @property
    def journal(self) -> str:
        """The journal's id."""
        return self._journal.header.journal

    @property
    def profile(self) -> Profile:
        """The profile of the journal."""
        return self._profile

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
        header = self._journal.header
        others = header.profile.encode() != self._wanted or header.rules != RULES
        return self._abandoned or others

    @property
    def drained(self) -> bool:
        """Whether the core has acknowledged all of this journal."""
        return not self._owed and self.outbox.acked >= self.decoder.head

    def roll(self) -> bool:
        """Begin a new journal, if one is wanted and all of this one has been acknowledged.

        Only while the link is down: a new journal knows nothing of the link or the deal.

        Raises:
            LogUnwritable: the disk refused it; the old one goes on.
        """
        if not (self.needs_new_journal and (self.drained or self._abandoned)):
            return False
        before, old = self._counted, self._journal
        self._begin(self._handed_on())
        old.close()
        self._abandoned, self._released = False, None
        self._owed.clear()  # the new journal begins with a link that is down
        _log.info("journal.rolled", old=old.header.journal, new=self.journal)
        self._before = before
        return True

    async def begin_segment(self) -> bool:
        """Begin the journal's next file, if this one is large and nothing is pending.

        The link may be up, and its state stays: events and their numbers go on. If the disk
        refuses, the old file goes on, and the recorder retries in a minute.
        """
        now = self._clock.mono_us()
        if self._owed or self._journal.size < self._keep.segment_bytes or now < self._again_us:
            return False
        try:
            where = await self._loop().run_in_executor(
                self._disk, self._journal.go_on, self.decoder, self._clock
            )
        except LogUnwritable as error:
            _log.warning("journal.cannot_go_on", reason=str(error))
            self._again_us = now + _AGAIN_US
            return False
        if where is None:
            return False
        self._queue(self.decoder.feed(where))
        _log.info("journal.goes_on", file=self._journal.path.name)
        return True

    def abandon(self, seq: int) -> None:
        """Give up this journal: the core has events of it that the disk has lost.

        New events under their numbers would pass for copies, so no more numbers are given.
        """
        if not self._abandoned:
            self._abandoned = True
            self._note_lost(seq)

    def check_older_journal(self, journal: str, seq: int) -> None:
        """Check the core's position in an older journal: what it lacks there never reaches it."""
        if journal and not self._folder.knows(journal):
            _log.error("journal.unknown", journal=journal, core=seq)
            self._say(
                f"the core has {seq} events of journal {journal}, which is not in this folder: "
                "what it had not heard is lost. Compare cards and screen before you settle"
            )
        acked = self._folder.acked(journal)
        if acked > seq:
            _log.error("journal.core_has_less", journal=journal, acked=acked, core=seq)
            self._say(
                f"the core has {seq} events of journal {journal} and once had {acked}: its log is "
                "older than it should be"
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

    async def drop_old_files(self) -> None:
        """Drop the files that the site does not want to keep and nobody needs."""
        if self._keep.days is None and self._keep.megabytes is None:
            return
        released = None if self._released is None else min(self._released, self.outbox.acked)
        await self._loop().run_in_executor(
            self._disk, drop_old_files, self._folder, self._journal, self._keep, released
        )

    async def arrived(self, records: Iterable[Record]) -> None:
        """Store and decode bytes from the device. A cancellation does not undo it.

        Raises:
            LogUnwritable: they were not stored, and so were not accepted.
        """
        await _to_its_end(self._store(list(records)))

    async def happened(self, kind: RecordKind, text: str = "") -> None:
        """Store and decode an event on the link.

        Raises:
            LogUnwritable: it was not stored, and so has not happened.
        """
        await self.arrived([self._record(kind, text)])

    async def hang_up(self, reason: str) -> None:
        """Store that the link has ended; until that succeeds it is owed, since the core must know.

        Raises:
            LogUnwritable: it is still owed.
        """
        if self.decoder.link is not LinkState.DOWN and not self._owed:
            self._owed.append(self._record(RecordKind.CLOSE, reason))
        await self.settle()

    async def settle(self) -> None:
        """Store the records that are owed.

        Raises:
            LogUnwritable: they are still owed.
        """
        if self._owed:
            await self.arrived([])

    async def refill(self) -> None:
        """Decode from the journal what the outbox lacks."""
        outbox = self.outbox
        if (start := outbox.lacks) is None:
            return
        if start <= self._journal.floor:
            # It was acknowledged, released and dropped: a core that asks for it has an older log.
            self._say(
                f"the core asks for event {start} of journal {self.journal}, and those up to "
                f"{self._journal.floor} were dropped: its log is older than it should be"
            )
        else:
            found = await self._loop().run_in_executor(
                self._disk, self._reread, start, outbox.head, outbox.room
            )
            for seq, message in found:
                if outbox.offer(seq):
                    outbox.keep(message)

    def note_acked(self) -> None:
        """Note on disk the acknowledged number, if it has changed; nobody waits for that."""
        if self._noted != (self.journal, self.outbox.acked):
            self._noted = self.journal, self.outbox.acked
            self._noting = self._disk.submit(self._folder.note_acked, *self._noted)

    def close(self) -> None:
        """Close the files. Does not wait for a hanging disk."""
        self.note_acked()
        self._disk.shutdown(wait=False)
        if self._noting:
            wait([self._noting], _NOTE_S)
        self._journal.close()

    def _handed_on(self) -> JournalState | None:
        """Return the state for the next journal, if the device may repeat what it reported here.

        It repeats if the last acknowledgement to it was lost. Nobody knows how much of a forsaken
        journal was sent; in that case the device itself decides where to begin.
        """
        profiles = self._profile, parse_profile(self._wanted, source="of the next journal")
        answered = all(profile.resend is not None for profile in profiles)
        return self.decoder.next_journal_state() if answered and not self._abandoned else None

    def _begin(self, carried: JournalState | None = None) -> None:
        journal = self._folder.begin(self._wanted, self._clock, carried)
        journal.close()
        self._adopt(JournalChain([journal.path]))

    def _adopt(self, journal: JournalChain) -> None:
        """Read a journal from the first event that is not acknowledged."""
        if journal.torn:
            _log.warning("journal.torn_tail", journal=journal.path.name, bytes=journal.torn)
            self._say(
                f"an unfinished tail of {journal.torn} bytes was cut off {journal.path.name} and "
                "put aside: the last start followed a power cut or a kill"
            )
        self._journal = journal
        self._profile = parse_profile(
            journal.header.profile.encode(), source=f"in {journal.path.name}"
        )
        acked = max(self._folder.acked(self.journal), journal.floor)
        self.decoder = Decoder(self._profile, self.journal)
        self.outbox = Outbox(acked=acked)
        for record in journal.records(acked):
            self._queue(self.decoder.feed(record))
        self.decoder.replies()  # from before the start: the device asks again
        if acked > self.decoder.head:
            self._note_lost(acked)
            journal.close()
            self._begin()

    def _note_lost(self, acked: int) -> None:
        """Note that more was acknowledged than is here."""
        lost = {"journal": self.journal, "acked": acked, "head": self.decoder.head}
        _log.error("journal.shorter_than_acknowledged", **lost)
        self._say(
            f"the disk has lost events of journal {self.journal} ({self.decoder.head} of {acked} "
            "are there): a new journal is begun. Look at the disk before the next shoe"
        )

    def _say(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    async def _store(self, records: list[Record]) -> None:
        batch = [*self._owed, *records]
        self._probe("journal.before")
        await self._loop().run_in_executor(self._disk, self._journal.append, batch)
        self._probe("journal.after")
        self._owed.clear()
        for record in batch:
            self._queue(self.decoder.feed(record))
        self.on_events()

    def _queue(self, events: list[ShoeEvent]) -> None:
        for event in events:
            if self.outbox.offer(event.seq):
                self.outbox.keep(self._encode(event))

    def _reread(self, start: int, head: int, room: int) -> list[tuple[int, bytes]]:
        decoder = Decoder(self._profile, self.journal)
        found: list[tuple[int, bytes]] = []
        for record in self._journal.records(start - 1):
            for event in decoder.feed(record):
                if start <= event.seq <= head and len(found) < room:
                    found.append((event.seq, self._encode(event)))
        return found

    def _record(self, kind: RecordKind, text: str = "") -> Record:
        return Record(kind, self._clock.mono_us(), self._clock.utc_ns(), text.encode())

    @staticmethod
    def _loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()


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


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Await `work`; pass a cancellation on once it is done."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=_DISK_PATIENCE_S)
        if task.done() and not task.cancelled():
            task.exception()  # mark as retrieved: anything unstored is owed, or was not accepted
        raise
