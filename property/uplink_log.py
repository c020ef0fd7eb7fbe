"""A table's log as its uplink sees it: read beside the writer, behind a head."""

import os
from pathlib import Path
from typing import Final, NamedTuple

from events.clock import Clock
from events.errors import InputError
from events.log_read import LogReader, reading
from events.log_wal import wal_of
from property.carried import Carried, Head
from property.filling import taken

__all__ = ["Found", "LogSource"]

# A commit within the same tick of the file system's clock changes neither time nor, in a WAL that
# is written from its beginning again, size.
_TICK_NS: Final = 20_000_000


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
        clock: the machine's, which its file system stamps files by.
    """

    def __init__(self, path: Path, origin: str, clock: Clock) -> None:
        self._path, self._origin, self._clock = Path(os.path.realpath(path)), origin, clock
        self._seen: tuple[object, ...] | None = None

    def changed(self) -> bool:
        """Whether there may be more than at the last `read`. Costs two looks at the folder."""
        return self._seen is None or self._stamp() != self._seen

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
        stamp = self._stamp()
        with reading(self._path) as log:
            self._require_ours(log)
            events = taken(log.bare_after(*head), self._origin)
            size, note = note_size, None
            for size, note in log.checkpoints(note_size):  # noqa: B007 - the last one is wanted
                pass
            more = log.end > (events[-1].position if events else head.position)
        self._seen = None if more else stamp
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

    def _stamp(self) -> tuple[object, ...] | None:
        """What every commit changes; None where one may have come that does not show."""
        files = [_stat(self._path), _stat(wal_of(self._path))]
        newest = max((each.st_mtime_ns for each in files if each), default=0)
        if abs(self._clock.utc_ns() - newest) < _TICK_NS:
            return None
        return tuple(each and (each.st_ino, each.st_size, each.st_mtime_ns) for each in files)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None
