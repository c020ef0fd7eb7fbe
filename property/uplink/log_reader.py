"""A table's log as its uplink sees it: read beside the writer, behind a head."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from events.clock import Clock
from events.errors import InputError
from events.log.read_only_copy import has_writer
from events.log.reader import LogReader, reading
from events.log.wal import wal_of
from property.hub.replicated_event import Carried, Head
from property.uplink.replication import taken

__all__ = ["Found", "LogSource"]

# A commit is written, then synced, then seen by readers: by then nothing of the files changes any
# more. A disk that is busy has taken a quarter of a second between. So behind a change it is looked
# again after these pauses, in microseconds: together longer than any disk takes that a table lives
# with, and the first of them no longer than a page may lag.
_LOOKS_US: Final = (150_000, 600_000, 2_400_000, 9_600_000)


class Found(NamedTuple):
    """What a reading found.

    Args:
        events: those that follow, at most a batch.
        note: the newest checkpoint, where it is newer than what was known.
        size: how many events it covers.
        more: whether the log goes on behind these events.
    """

    events: list[Carried]
    note: bytes | None
    size: int
    more: bool


class LogSource:
    """A log's file. Every method blocks; use it in one thread at a time.

    Args:
        path: the file, which may not be there yet.
        origin: `<site>/<table>`.
        clock: for how long ago it was read.
    """

    def __init__(self, path: Path, origin: str, clock: Clock) -> None:
        self._path, self._origin, self._clock = Path(os.path.realpath(path)), origin, clock
        self._seen: tuple[object, ...] | None = None
        self._looks: Iterator[int] = iter(())
        self._due: int | None = None

    def changed(self) -> bool:
        """Whether there may be more than at the last `read`. Costs two looks at the folder."""
        if self._seen is None or self._stamp() != self._seen:
            return True
        return self._due is not None and self._clock.mono_us() >= self._due

    def forget(self) -> None:
        """Have `changed` say so, whatever was read."""
        self._seen = None

    def read(self, head: Head, note_size: int) -> Found:
        """What follows behind a head, and the newest checkpoint.

        Args:
            head: how far it was read.
            note_size: how many events the newest known checkpoint covers.

        Raises:
            InputError: there is no such file, or it is another table's.
            LogRefused: the log is damaged, or does not go on from that head.
            OSError: it cannot be read.
        """
        # Before it is read: what comes meanwhile shows afterwards.
        written, stamp = has_writer(self._path), self._stamp()
        with reading(self._path) as log:
            self._require_ours(log)
            events = taken(log.bare_after(*head), self._origin)
            size, note = note_size, None
            for size, note in log.checkpoints(note_size):  # noqa: B007 - the last one is wanted
                pass
            more = log.end > (events[-1].position if events else head.position)
        if stamp != self._seen or events:
            self._looks = iter(_LOOKS_US)
        self._seen = None if more else stamp
        # Without a writer nothing is on its way, and to look would copy the whole log.
        pause = next(self._looks, None) if written else None
        self._due = None if pause is None else self._clock.mono_us() + pause
        return Found(events, note, size, more)

    def at(self, position: int) -> tuple[bytes, bytes] | None:
        """The stored bytes and the hash at a position, None where the log has none.

        Raises:
            InputError: there is no such file, or it is another table's.
            LogRefused: the log is damaged.
            OSError: it cannot be read.
        """
        with reading(self._path) as log:
            self._require_ours(log)
            return log.at(position)

    def _require_ours(self, log: LogReader) -> None:
        if log.origin != self._origin:
            raise InputError(f"{self._path}: the log of {log.origin}, and not of {self._origin}")

    def _stamp(self) -> tuple[object, ...]:
        """What every write to the log's files changes, but for those within a tick of its clock."""
        files = (_stat(self._path), _stat(wal_of(self._path)))
        return tuple(each and (each.st_ino, each.st_size, each.st_mtime_ns) for each in files)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None
