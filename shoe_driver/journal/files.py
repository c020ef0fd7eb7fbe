"""The raw journal's files: append records, which are on disk before anything is decoded.

A large journal goes on in a new file, its next *segment*; events are numbered across segments. A
record is whole on disk before anything acts on it. So an unfinished tail, left by a killed process
or a power cut, is moved aside and cut off. Damage with whole records after it is refused, because
numbers that the core has already seen would be given again.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Self

import msgspec

from events.clock import Clock
from events.errors import LogRefused, LogUnwritable
from events.log.disk import write_durably
from shoe_driver.journal.records import (
    MAGIC,
    RULES,
    JournalHeader,
    JournalState,
    Record,
    RecordKind,
    RecordReader,
    encode_record,
    holds_a_record,
    parse_header,
)

__all__ = ["SUFFIX", "Journal", "read_records"]

SUFFIX: Final = ".journal"
_READ_SIZE: Final = 65_536
# More than any one append: everything older was forced before it.
_UNFORCED_MOST: Final = 1024 * 1024


class Journal:
    """An open journal file. Opening it repairs a torn tail.

    Args:
        path: the file.

    Attributes:
        header: its first record.
        size: bytes of whole records.
        torn: bytes of an unfinished tail that were moved aside at opening.

    Raises:
        LogRefused: it is not a journal, or it is damaged before its tail; it is unchanged.
        LogUnwritable: the disk refuses to open or to repair it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._dirty = False
        try:
            self.header, self.size, tail = _survey(path)
            self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            if tail:
                write_durably(path.with_name(f"{path.name}.torn-{self.size}"), tail)
                self._cut_back()
            self._force_what_is_there()
        except OSError as error:
            raise LogUnwritable(
                f"the raw journal {path.name} cannot be opened: {error.strerror}"
            ) from error
        self.torn = len(tail)

    @classmethod
    def create(
        cls,
        folder: Path,
        journal: str,
        profile: bytes,
        clock: Clock,
        carried: JournalState | None = None,
    ) -> Self:
        """Begin a journal; the file is there whole, with its header, or not at all.

        Args:
            folder: the folder for it.
            journal: its id, and its file's name.
            profile: the bytes of the wire profile's file.
            clock: stamps its first records.
            carried: the device's state from an earlier journal, if known.

        Raises:
            LogUnwritable: the disk refused it.
        """
        path = folder / f"{journal}{SUFFIX}"
        header = JournalHeader(journal=journal, profile=profile.decode(), rules=RULES)
        more = () if carried is None else (_state_record(carried, clock),)
        return cls._begin(path, header, more, clock)

    @classmethod
    def create_file(cls, path: Path, journal: str, profile: bytes, clock: Clock) -> Self:
        """As `create`, in a file of any name, which is replaced if it exists."""
        header = JournalHeader(journal=journal, profile=profile.decode(), rules=RULES)
        return cls._begin(path, header, (), clock)

    def next_segment(self, carried: JournalState, clock: Clock) -> tuple[Self, Record]:
        """Begin the journal's next file; this one is unchanged.

        Args:
            carried: the journal's state.
            clock: stamps the new file's first records.

        Returns:
            The file, and its second record with the journal's state.

        Raises:
            LogUnwritable: the disk refused it.
        """
        number = self.header.segment + 1
        path = self.path.with_name(f"{self.header.journal}.{number:04d}{SUFFIX}")
        where = _state_record(carried, clock)
        header = msgspec.structs.replace(self.header, segment=number)
        return self._begin(path, header, (where,), clock), where

    @classmethod
    def _begin(
        cls, path: Path, header: JournalHeader, more: tuple[Record, ...], clock: Clock
    ) -> Self:
        payload = msgspec.json.encode(header)
        first = Record(RecordKind.HEADER, clock.mono_us(), clock.utc_ns(), payload)
        try:
            write_durably(path, MAGIC + b"".join(map(encode_record, (first, *more))))
        except OSError as error:
            raise LogUnwritable(
                f"no journal can be begun in {path.parent}: {error.strerror}"
            ) from error
        return cls(path)

    def append(self, records: Iterable[Record]) -> None:
        """Store the records; on return they are on disk.

        Raises:
            LogUnwritable: the disk refused them: none of them is stored.
        """
        data = memoryview(b"".join(map(encode_record, records)))
        try:
            if self._dirty:
                self._cut_back()
            self._dirty = True
            done = 0
            while done < len(data):
                done += os.pwrite(self._fd, data[done:], self.size + done)
            os.fdatasync(self._fd)
        except OSError as error:
            raise LogUnwritable(
                f"the raw journal {self.path.name} cannot be written: {error.strerror}"
            ) from error
        self._dirty = False
        self.size += len(data)

    def records(self) -> Iterator[Record]:
        """Yield all whole records on disk, the header first."""
        return read_records(self.path)

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def _force_what_is_there(self) -> None:
        """Force to the disk what an earlier driver wrote and may never have forced.

        The event sender is about to send it, and a power cut must not take it back. It is written
        again, since the kernel reports an fsync that follows a failed one as good.
        """
        start = max(0, self.size - _UNFORCED_MOST)
        os.pwrite(self._fd, os.pread(self._fd, self.size - start, start), start)
        os.fdatasync(self._fd)

    def _cut_back(self) -> None:
        os.ftruncate(self._fd, self.size)
        os.fsync(self._fd)
        self._dirty = False


def _state_record(carried: JournalState, clock: Clock) -> Record:
    """Return the record that holds a journal's state."""
    payload = msgspec.json.encode(carried)
    return Record(RecordKind.CARRIED, clock.mono_us(), clock.utc_ns(), payload)


def read_records(path: Path) -> Iterator[Record]:
    """Yield the whole records of a journal file, without an unfinished tail.

    Raises:
        LogRefused: it is not a journal, or it is damaged.
    """
    reader = RecordReader()
    with path.open("rb") as file:
        while data := file.read(_READ_SIZE):
            yield from reader.feed(data)


def _survey(path: Path) -> tuple[JournalHeader, int, bytes]:
    """Return the header, the number of bytes in whole records, and the unfinished tail."""
    reader = RecordReader()
    header: JournalHeader | None = None
    damage: LogRefused | None = None
    try:
        with path.open("rb") as file:
            while data := file.read(_READ_SIZE):
                for record in reader.feed(data):
                    header = header or parse_header(record)
    except LogRefused as error:
        damage = error
    with path.open("rb") as file:
        file.seek(reader.position)
        tail = file.read()
    if header is None or holds_a_record(tail[1:]):
        what = "no header is whole" if header is None else "a record has no end"
        reason = damage or f"the journal is damaged: {what}"
        raise LogRefused(
            f"{path}: {reason} (byte {reader.position}); move it aside, and keep it",
            reader.position,
        )
    return header, reader.position, tail
