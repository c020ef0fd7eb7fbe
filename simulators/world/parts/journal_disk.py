"""A fake disk for the driver's journals, of which only synced bytes survive a power cut.

`WorldJournal` gives the guarantees of the driver's own `Journal`, whose contract test it passes. A
record is on disk when `append` returns, or none of it is stored. An unfinished tail is set aside
when the journal is opened again. Damage in the middle is refused.
"""

from collections.abc import Iterable, Iterator
from random import Random
from typing import Final

import msgspec

from events.clock import Clock
from events.errors import LogRefused, LogUnwritable
from shoe_driver.journal.records import (
    MAGIC,
    RULES,
    JournalHeader,
    Record,
    RecordKind,
    RecordReader,
    encode_record,
    holds_a_record,
    parse_header,
)
from simulators.world.parts.fault_injector import ArmedFaults
from simulators.world.parts.lateness import LATE_JOURNAL

__all__ = ["JOURNAL_FULL", "JOURNAL_SYNC_FAILED", "JournalDisk", "WorldJournal"]

JOURNAL_FULL: Final = "journal_full"
JOURNAL_SYNC_FAILED: Final = "journal_sync_failed"


class _File:
    """Synced bytes, and unsynced bytes written after them."""

    def __init__(self) -> None:
        self.synced = bytearray()
        self.written = b""


class JournalDisk:
    """Stores a driver's journals across its lives.

    Args:
        rng: decides how many unsynced bytes a power cut leaves.
        trouble: the disk's next faults.

    Attributes:
        acked: by journal, its driver's note of the acknowledged number; a hint, never synced.
    """

    def __init__(self, rng: Random, trouble: ArmedFaults) -> None:
        self.acked: dict[str, int] = {}
        self._session = 0
        self._rng = rng
        self._trouble = trouble
        self._files: dict[str, _File] = {}

    @property
    def journals(self) -> list[str]:
        """Their ids, the newest last."""
        return list(self._files)

    def next_session(self) -> int:
        """Return a session number, one higher than at the last start."""
        self._session += 1
        return self._session

    def content(self, journal: str) -> bytes:
        """Return all bytes of a journal that a program would read now."""
        file = self._files[journal]
        return bytes(file.synced) + file.written

    def begin(self, profile: bytes, clock: Clock) -> "WorldJournal":
        """Begin a journal, newer than all others."""
        journal = f"j{len(self._files) + 1}"
        header = JournalHeader(journal=journal, profile=profile.decode(), rules=RULES)
        payload = msgspec.json.encode(header)
        first = Record(RecordKind.HEADER, clock.mono_us(), clock.utc_ns(), payload)
        file = self._files[journal] = _File()
        file.synced += MAGIC + encode_record(first)
        return WorldJournal(self, journal)

    def write(self, journal: str, data: bytes) -> None:
        """Append `data` after the synced bytes, and sync it.

        Raises:
            OSError: the disk refuses; a part may have been written.
        """
        file = self._files[journal]
        self._trouble.trigger(LATE_JOURNAL)
        if self._trouble.trigger(JOURNAL_FULL):
            file.written = data[: self._rng.randrange(len(data))]
            raise OSError(28, "No space left on device")
        file.written = data
        if self._trouble.trigger(JOURNAL_SYNC_FAILED):
            raise OSError(5, "Input/output error")
        file.synced += data
        file.written = b""

    def cut_back(self, journal: str) -> None:
        """Cut the journal back to its synced bytes."""
        self._files[journal].written = b""

    def force(self, journal: str, size: int) -> None:
        """Rewrite and sync the bytes up to `size`; discard the rest."""
        file = self._files[journal]
        file.synced = (file.synced + file.written)[:size]
        file.written = b""

    def tear(self, journal: str, data: bytes) -> None:
        """Write a random part of `data`: the writer dies in the middle of a write."""
        self._files[journal].written = data[: self._rng.randrange(len(data))]

    def power_cut(self) -> None:
        """Lose the unsynced bytes, all or a part of them."""
        for file in self._files.values():
            file.written = file.written[: self._rng.randrange(len(file.written) + 1)]
        self.acked.clear()


class WorldJournal:
    """An open journal; see `shoe_driver.journal.files.Journal`.

    Args:
        disk: stores it.
        journal: its id.

    Attributes:
        header: its first record.
        torn: bytes of an unfinished tail that were set aside when it was opened.

    Raises:
        LogRefused: it is not a journal, or is damaged in the middle.
    """

    def __init__(self, disk: JournalDisk, journal: str) -> None:
        self._disk = disk
        self._dirty = False
        self._journal = journal
        self.header, self.size, tail = _survey(disk.content(journal))
        disk.force(journal, self.size)
        self.torn = len(tail)

    def append(self, records: Iterable[Record]) -> None:
        """Store the records: when this returns they are on disk.

        Raises:
            LogUnwritable: the disk refused them: none of them is stored.
        """
        data = b"".join(map(encode_record, records))
        if self._dirty:
            self._disk.cut_back(self._journal)
        self._dirty = True
        try:
            self._disk.write(self._journal, data)
        except OSError as error:
            reason = f"the raw journal {self._journal} cannot be written: {error.strerror}"
            raise LogUnwritable(reason) from error
        self._dirty = False
        self.size += len(data)

    def records(self) -> Iterator[Record]:
        """Yield all whole records, the header first."""
        return RecordReader().feed(self._disk.content(self._journal))


def _survey(data: bytes) -> tuple[JournalHeader, int, bytes]:
    """Return header, size of whole records, and the unfinished tail."""
    reader = RecordReader()
    header: JournalHeader | None = None
    reason = "a record has no end"
    try:
        for record in reader.feed(data):
            header = header or parse_header(record)
    except LogRefused as error:
        reason = str(error)
    tail = data[reader.position :]
    if header is None or holds_a_record(tail[1:]):
        raise LogRefused(f"the journal is damaged: {reason}", reader.position)
    return header, reader.position, tail
