"""One journal in its files: from where it must be read, and how it goes on in another.

Each file but the first says where the journal stood when it was begun, so that a start reads no
more than what is not acknowledged, and so that old files can be dropped.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path

from events.clock import Clock
from events.errors import LogRefused
from shoe_driver.decode import Decoder
from shoe_driver.journal.files import Journal, read_records
from shoe_driver.records import JournalHeader, Record, parse_carried

__all__ = ["JournalChain"]


class JournalChain:
    """The files of one journal, the newest open to be written.

    Args:
        paths: the files, in order; the newest is repaired where it is torn.

    Attributes:
        torn: bytes of an unfinished tail that were put aside.

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
        """Of the newest file."""
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
    def files(self) -> list[tuple[int, Path]]:
        """Each file with the number of the last event before it."""
        return list(self._files)

    @property
    def floor(self) -> int:
        """Events up to this number were in files that are gone."""
        return self._files[0][0]

    def append(self, records: Sequence[Record]) -> None:
        """See `Journal.append`."""
        self._newest.append(records)

    def records(self, after: int) -> Iterator[Record]:
        """All records from which the events above `after` are decoded.

        Raises:
            LogRefused: a file is damaged.
        """
        before = sum(base <= after for base, _ in self._files)
        for _, path in self._files[max(0, before - 1) :]:
            yield from read_records(path)

    def go_on(self, decoder: Decoder, clock: Clock) -> Record | None:
        """Begin the next file, if the journal stands where that can be done.

        Returns:
            The record that says where it stood, to be decoded like all else.

        Raises:
            LogUnwritable: the disk refused it; the old file goes on.
        """
        carried = decoder.carried(clock.mono_us())
        if carried is None:
            return None
        fresh, where = self._newest.next_segment(carried, clock)
        self._newest.close()
        self._newest = fresh
        self._files.append((carried.head, fresh.path))
        return where

    def forget(self, path: Path) -> None:
        """A file was dropped."""
        self._files = [(base, each) for base, each in self._files if each != path]

    def close(self) -> None:
        """Let go of the newest file."""
        self._newest.close()


def _segment(path: Path) -> int:
    return int(path.stem.partition(".")[2] or 1)


def _unbroken(paths: Sequence[Path]) -> Sequence[Path]:
    for one, other in pairwise(paths):
        if _segment(other) != _segment(one) + 1:
            raise LogRefused(f"{one}: the journal's next file is missing; put it back")
    return paths


def _base(path: Path) -> int:
    """The number of the last event before a file."""
    if _segment(path) == 1:
        return 0
    for record in islice(read_records(path), 1, 2):
        return parse_carried(record).head
    raise LogRefused(f"{path}: the segment does not say where the journal stood")
