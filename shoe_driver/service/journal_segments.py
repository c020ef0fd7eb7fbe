"""The files of one journal as one: from where to read, and how it goes on in a new file.

Each file but the first begins with the journal's state at that point. So a start reads only what is
not acknowledged, and old files can be dropped.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path

from events.clock import Clock
from events.errors import LogRefused
from shoe_driver.journal.files import Journal, read_records
from shoe_driver.journal.records import JournalHeader, JournalState, Record, parse_journal_state

__all__ = ["JournalChain"]


class JournalChain:
    """The files of one journal; the newest is open for writing.

    Args:
        paths: the files, in order; the newest is repaired if it is torn.

    Attributes:
        torn: bytes of an unfinished tail that were moved aside.

    Raises:
        LogRefused: a file is damaged, or one between the others is missing.
        LogUnwritable: the newest cannot be opened or repaired.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._newest = Journal(paths[-1])
        self.torn = self._newest.torn
        try:
            self._files = [(_base(path), path) for path in _unbroken(paths)]
        except (LogRefused, OSError):
            self._newest.close()
            raise

    @property
    def header(self) -> JournalHeader:
        """The newest file's header."""
        return self._newest.header

    @property
    def path(self) -> Path:
        """The newest file."""
        return self._newest.path

    @property
    def size(self) -> int:
        """Bytes in the newest file."""
        return self._newest.size

    @property
    def last_events(self) -> dict[Path, int | None]:
        """The number of the last event in each file; None for the newest."""
        ends: list[int | None] = [base for base, _ in self._files[1:]]
        return dict(zip((path for _, path in self._files), [*ends, None], strict=True))

    @property
    def floor(self) -> int:
        """The number up to which events were in files that have been dropped."""
        return self._files[0][0]

    def append(self, records: Sequence[Record]) -> None:
        """See `Journal.append`."""
        self._newest.append(records)

    def records(self, after: int) -> Iterator[Record]:
        """Yield all records from which the events above `after` are decoded.

        Raises:
            LogRefused: a file is damaged.
        """
        before = sum(base <= after for base, _ in self._files)
        for _, path in self._files[max(0, before - 1) :]:
            yield from read_records(path)

    def go_on(self, carried: JournalState, clock: Clock) -> Record:
        """Begin the next file; return the record with the journal's state.

        Raises:
            LogUnwritable: the disk refused it; the old file goes on.
        """
        fresh, where = self._newest.next_segment(carried, clock)
        self._newest.close()
        self._newest = fresh
        self._files.append((carried.head, fresh.path))
        return where

    def forget(self, path: Path) -> None:
        """Remove a dropped file from the chain."""
        self._files = [(base, each) for base, each in self._files if each != path]

    def close(self) -> None:
        """Close the newest file."""
        self._newest.close()


def _segment(path: Path) -> int:
    return int(path.stem.partition(".")[2] or 1)


def _unbroken(paths: Sequence[Path]) -> Sequence[Path]:
    for one, other in pairwise(paths):
        if _segment(other) != _segment(one) + 1:
            raise LogRefused(f"{one}: the journal's next file is missing; put it back")
    return paths


def _base(path: Path) -> int:
    """Return the number of the last event before a file."""
    if _segment(path) == 1:
        return 0
    for record in islice(read_records(path), 1, 2):
        return parse_journal_state(record).head
    raise LogRefused(f"{path}: the segment does not say where the journal stood")
