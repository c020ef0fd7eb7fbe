"""Reads a table's log for its uplink, next to the writer: the events after a head."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from events.clock import Clock
from events.errors import InputError
from events.file_stamp import file_stamp
from events.log.read_only_copy import has_writer
from events.log.reader import LogReader, reading
from events.log.wal import wal_of
from events.types import decode_envelope
from property.hub.replicated_event import Head, ReplicatedEvent
from property.hub.subjects import continued_origin
from property.uplink.replication import take_batch

__all__ = ["LogRead", "UplinkLogReader"]

# SQLite writes a commit, syncs it, and only then shows it to readers; the files change no more by
# then. A busy disk has taken a quarter of a second for this. After a change the uplink reads again
# after these pauses, in microseconds. Their sum exceeds the delay of any disk that a table
# tolerates, and the first is no longer than a page may lag.
_REREADS_US: Final = (150_000, 600_000, 2_400_000, 9_600_000)


class LogRead(NamedTuple):
    """The result of one read.

    Args:
        events: the next events, at most one batch.
        note: the newest checkpoint, if it is newer than the known one; else None.
        size: number of events that the newest checkpoint covers.
        more: whether the log has more events.
        end: the log's newest position.
        event_at: the time of the event there, RFC 3339; empty for none.
    """

    events: list[ReplicatedEvent]
    note: bytes | None
    size: int
    more: bool
    end: int
    event_at: str


class UplinkLogReader:
    """Reads a log's file. Every method blocks; use it in one thread at a time.

    Args:
        path: the file, which need not exist yet.
        origin: `<site>/<table>`.
        clock: for the pauses between reads.
    """

    def __init__(self, path: Path, origin: str, clock: Clock) -> None:
        self._path, self._origin, self._clock = Path(os.path.realpath(path)), origin, clock
        self._files = str(self._path), str(wal_of(self._path))
        self._seen: tuple[object, ...] | None = None
        self._rereads: Iterator[int] = iter(())
        self._due: int | None = None

    def changed(self) -> bool:
        """Return whether there may be more than at the last `read`; costs two calls of `stat`."""
        if self._seen is None or self._stamp() != self._seen:
            return True
        return self._due is not None and self._clock.mono_us() >= self._due

    def forget(self) -> None:
        """Make the next `changed` return True."""
        self._seen = None

    def read(self, head: Head, note_size: int) -> LogRead:
        """Return the events after a head, and the newest checkpoint.

        Args:
            head: the head up to which the log was read.
            note_size: number of events that the newest known checkpoint covers.

        Raises:
            InputError: the file does not exist, or is another table's.
            LogRefused: the log is damaged, or does not continue from that head.
            OSError: the file cannot be read.
        """
        # Taken before the read, so that a write during the read shows afterwards.
        written, stamp = has_writer(self._path), self._stamp()
        with reading(self._path) as log:
            self._require_ours(log)
            head = head if head.position else Head.beginning(log.origin)
            events = take_batch(log.bare_after(*head), self._origin)
            size, note = note_size, None
            for size, note in log.checkpoints(note_size):  # noqa: B007 - the last one is wanted
                pass
            more = log.end > (events[-1].position if events else head.position)
            newest = log.at(log.end)
            event_at = decode_envelope(newest[0]).at if newest else ""
        if stamp != self._seen or events:
            self._rereads = iter(_REREADS_US)
        self._seen = None if more else stamp
        # Without a writer nothing can arrive, and another read would copy the whole log.
        pause = next(self._rereads, None) if written else None
        self._due = None if pause is None else self._clock.mono_us() + pause
        return LogRead(events, note, size, more, log.end, event_at)

    def at(self, position: int) -> tuple[bytes, bytes] | None:
        """Return the stored bytes and the hash at a position, or None.

        Raises:
            InputError: the file does not exist, or is another table's.
            LogRefused: the log is damaged.
            OSError: the file cannot be read.
        """
        with reading(self._path) as log:
            self._require_ours(log)
            return log.at(position)

    def _require_ours(self, log: LogReader) -> None:
        if log.origin not in {self._origin, continued_origin(self._origin)}:
            raise InputError(f"{self._path}: the log of {log.origin}, and not of {self._origin}")

    def _stamp(self) -> tuple[object, ...]:
        return tuple(map(file_stamp, self._files))
