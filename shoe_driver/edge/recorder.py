"""The raw journal, its decoder and its outbox, kept in step.

Whatever happens is stored first and decoded then, in the order of the journal; both halves of one
step are done or the driver is ending. After a start everything is decoded again from the journal:
the same events under the same numbers, of which those above the acknowledged one are told again.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import msgspec
import structlog

from events.clock import Clock
from events.shoe import ShoeEvent
from shoe_driver.decode import Decoder
from shoe_driver.edge.folder import JournalFolder
from shoe_driver.edge.journal import Journal
from shoe_driver.link import LinkState
from shoe_driver.outbox import Outbox
from shoe_driver.profile import Profile, parse_profile
from shoe_driver.records import Record, RecordKind

__all__ = ["ROLL_BYTES", "Recorder"]

# A coup leaves 1 to 2 KB: days of play, which a start decodes again within two seconds (measured).
ROLL_BYTES: Final = 4 * 1024 * 1024
# How long a driver that is told to stop waits for a write under way. A disk may hang for ever.
_DISK_PATIENCE_S: Final = 2.0

_log: Final = structlog.get_logger()


class Recorder:
    """Stores, decodes, and holds what is to be told.

    Args:
        folder: where the journals are.
        profile: the bytes of the wire profile's file. A journal is read to its end with the
            profile that it was begun with.
        clock: stamps what happens on the link.
        probe: told of each step.

    Raises:
        LogRefused: the newest journal is damaged.
        LogUnwritable: there is no journal and none can be begun, or it cannot be repaired.

    Attributes:
        decoder: of the newest journal.
        outbox: of the newest journal.
        told: called when there are new events.
    """

    def __init__(
        self,
        folder: JournalFolder,
        profile: bytes,
        clock: Clock,
        probe: Callable[[str], None],
    ) -> None:
        self.told: Callable[[], None] = lambda: None
        self._folder = folder
        self._wanted = profile
        self._clock = clock
        self._probe = probe
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="shoe-journal")
        self._encode = msgspec.json.Encoder().encode
        self._owed: list[Record] = []
        newest = folder.newest()
        if newest is None:
            self._adopt(folder.begin(profile, clock))
        else:
            self._adopt(Journal(newest))
            self._owed.append(self._record(RecordKind.START))
        self._at_start = (self.decoder.reports, self.decoder.short_copies, self.decoder.rejected)

    @property
    def journal(self) -> str:
        """The journal's id."""
        return self._journal.header.journal

    @property
    def profile(self) -> Profile:
        """The profile that the journal is read with."""
        return self._profile

    @property
    def counts(self) -> tuple[int, int, int]:
        """Reports, reports short of copies, and rejects since the driver's start."""
        now = (self.decoder.reports, self.decoder.short_copies, self.decoder.rejected)
        reports, short, rejected = (a - b for a, b in zip(now, self._at_start, strict=True))
        return reports, short, rejected

    @property
    def wants_to_roll(self) -> bool:
        """Whether a new journal should be begun: this one is large, or of another profile."""
        other = self._journal.header.profile.encode() != self._wanted
        return other or self._journal.size > ROLL_BYTES

    @property
    def drained(self) -> bool:
        """Whether all of this journal has been acknowledged."""
        return not self._owed and self.outbox.acked >= self.decoder.head

    def roll(self) -> bool:
        """Begin a new journal, if one is wanted and all of this one has been acknowledged.

        Only while the link is down: a new journal knows nothing of the link or the deal.

        Raises:
            LogUnwritable: the disk refused it; the old one goes on.
        """
        if not (self.wants_to_roll and self.drained):
            return False
        fresh = self._folder.begin(self._wanted, self._clock)
        before = self.counts
        _log.info("journal.rolled", old=self.journal, new=fresh.header.journal)
        self._journal.close()
        self._adopt(fresh)
        self._at_start = (-before[0], -before[1], -before[2])
        return True

    async def arrived(self, records: Iterable[Record]) -> None:
        """Bytes came from the device. Not undone by a cancellation.

        Raises:
            LogUnwritable: they were not stored, and so were not accepted.
        """
        await _to_its_end(self._store(list(records)))

    async def happened(self, kind: RecordKind, text: str = "") -> None:
        """Something happened on the link.

        Raises:
            LogUnwritable: it was not stored, and so has not happened.
        """
        await self.arrived([self._record(kind, text)])

    async def hang_up(self, reason: str) -> None:
        """The link has ended. Owed until it could be stored: the core must learn of the break.

        Raises:
            LogUnwritable: it is still owed.
        """
        if self.decoder.link is not LinkState.DOWN and not self._owed:
            self._owed.append(self._record(RecordKind.CLOSE, reason))
        await self.settle()

    async def settle(self) -> None:
        """Store what is owed.

        Raises:
            LogUnwritable: it is still owed.
        """
        if self._owed:
            await self.arrived([])

    async def refill(self) -> None:
        """Decode again what the outbox lacks."""
        outbox = self.outbox
        if (start := outbox.lacks) is not None:
            found = await self._loop().run_in_executor(
                self._disk, self._reread, start, outbox.head, outbox.room
            )
            for seq, message in found:
                if outbox.offer(seq):
                    outbox.keep(message)

    def note_acked(self) -> None:
        """Note on disk, without forcing it there, what has been acknowledged."""
        self._folder.note_acked(self.journal, self.outbox.acked)

    def close(self) -> None:
        """Let go of the files. Does not wait for a disk that hangs."""
        self.note_acked()
        self._disk.shutdown(wait=False)
        self._journal.close()

    def _adopt(self, journal: Journal) -> None:
        """Take a journal from its beginning."""
        if journal.torn:
            _log.warning("journal.torn_tail", journal=journal.path.name, bytes=journal.torn)
        self._journal = journal
        self._profile = parse_profile(
            journal.header.profile.encode(), source=f"in {journal.path.name}"
        )
        self.decoder = Decoder(self._profile, self.journal)
        self.outbox = Outbox(acked=self._folder.acked(self.journal))
        for record in journal.records():
            self._queue(self.decoder.feed(record))
        if self.outbox.acked > self.decoder.head:
            self._distrust(journal)

    def _distrust(self, journal: Journal) -> None:
        """More was acknowledged than is there: the disk has lost what it had promised.

        The core would take new events under those numbers for copies, so they are never given.
        """
        _log.error(
            "journal.shorter_than_acknowledged",
            journal=self.journal,
            acked=self.outbox.acked,
            head=self.decoder.head,
        )
        journal.close()
        self._adopt(self._folder.begin(self._wanted, self._clock))

    async def _store(self, records: list[Record]) -> None:
        batch = [*self._owed, *records]
        self._probe("journal.before")
        await self._loop().run_in_executor(self._disk, self._journal.append, batch)
        self._probe("journal.after")
        self._owed.clear()
        for record in batch:
            self._queue(self.decoder.feed(record))
        self.told()

    def _queue(self, events: list[ShoeEvent]) -> None:
        for event in events:
            if self.outbox.offer(event.seq):
                self.outbox.keep(self._encode(event))

    def _reread(self, start: int, head: int, room: int) -> list[tuple[int, bytes]]:
        decoder = Decoder(self._profile, self.journal)
        found: list[tuple[int, bytes]] = []
        for record in self._journal.records():
            for event in decoder.feed(record):
                if start <= event.seq <= head and len(found) < room:
                    found.append((event.seq, self._encode(event)))
        return found

    def _record(self, kind: RecordKind, text: str = "") -> Record:
        return Record(kind, self._clock.mono_us(), self._clock.utc_ns(), text.encode())

    @staticmethod
    def _loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Await `work`; a cancellation is passed on when it is done."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=_DISK_PATIENCE_S)
        if task.done() and not task.cancelled():
            task.exception()  # looked at: what could not be stored is owed, or was not accepted
        raise
