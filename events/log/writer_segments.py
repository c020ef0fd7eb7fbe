"""The closed files as the writer uses them: reads, requests, and the rotation that adds one."""

import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from events.errors import LogRefused, LogUnwritable
from events.log.connections import LogFiles
from events.log.disk import remove_database, sync
from events.log.idempotency_index import RequestIndex, index_of
from events.log.rotation import finish_rotation, make_next, put_in_place
from events.log.segments import Segments, archive_folder, find_segments, segment_name

__all__ = ["SegmentRotation", "WriterSegments"]

_REQUESTS: Final = "SELECT transaction_id, position FROM request"


class WriterSegments:
    """The events and requests in a log's closed files. Use `WriterSegments.open`."""

    def __init__(self, archive: Segments, index: RequestIndex) -> None:
        self._archive = archive
        self.index = index

    @classmethod
    def open(cls, log: Path, origin: str, base: int, head: bytes) -> Self:
        """Open the closed files that the log goes on from.

        Args:
            log: the log's file.
            origin: `<site>/<table>`.
            base: the first position of that file, which is the last of the newest closed one.
            head: the chain's hash there.

        Raises:
            LogRefused: a file is missing, or the log does not go on from the newest.
            LogUnwritable: the index of their requests cannot be made.
        """
        folder = archive_folder(log)
        archive = Segments(origin, find_segments(folder, origin, base))
        with closing(archive):
            if not archive.ends_with(base, head):
                newest = archive.files[-1].path
                told = f"{newest}: its end is not what {log.name} goes on from, at {base}"
                raise LogRefused(f"{told}; put the right file back from a backup", base)
        index = RequestIndex.open(index_of(folder, origin), archive.files, base, head)
        return cls(archive, index)

    def rows(self, first: int, last: int) -> list[tuple[Any, ...]]:
        """As `Segments.rows`."""
        return self._archive.rows(first, last)

    def request(self, cause: str) -> tuple[bytes, int] | None:
        """Return the body and position of a request that a closed file holds, or None.

        Raises:
            LogRefused: the index or the file cannot be read.
        """
        position = self.index.find(cause)
        return None if position is None else self._archive.request(cause, position)

    def close(self) -> None:
        """Close the files. Safe to call twice."""
        self._archive.close()
        self.index.close()


class SegmentRotation(NamedTuple):
    """One rotation: the end of one file and the beginning of the next.

    Args:
        log: the log's file.
        origin: `<site>/<table>`.
        first: the file's first position.
        last: its last position, that of a `books_closed`.
        head: the chain's hash there.
    """

    log: Path
    origin: str
    first: int
    last: int
    head: bytes

    def make(
        self, files: LogFiles, past: WriterSegments | None, probe: Callable[[str], None]
    ) -> Path | None:
        """Close the file and go on in a new one; return None while a reader is in the way.

        Args:
            files: the open file.
            past: the files closed before it.
            probe: called at each step.

        Raises:
            LogUnwritable: the disk refused.
            LogRefused: something in the archive is in the way, or the new file is not a good log.
        """
        folder = archive_folder(self.log)
        closed = folder / segment_name(self.origin, self.first, self.last)
        if not files.settle():
            return None
        try:
            try:
                if closed.exists() or closed.is_symlink():
                    raise LogRefused(f"{closed}: is there already; find out whose it is")
                folder.mkdir(exist_ok=True)
                sync(self.log.parent)
                probe("turn.begun")
                files.use_connection(lambda db: make_next(self.log, db, self.origin, self.last))
                probe("turn.made")
                self._index(files, past, folder)
                probe("turn.indexed")
                if not files.settle():
                    return None
                files.exchange(lambda: put_in_place(self.log, closed, probe))
            finally:
                finish_rotation(self.log, self.origin)
        except (OSError, sqlite3.Error) as error:
            raise LogUnwritable(f"{self.log}: cannot begin a new file: {error}") from error
        return closed

    def _index(self, files: LogFiles, past: WriterSegments | None, folder: Path) -> None:
        requests = [(str(cause), int(position)) for cause, position in files.query(_REQUESTS)]
        with ExitStack() as stack:
            if past is None:
                path = index_of(folder, self.origin)
                remove_database(path)  # of a log that was here before
                index = RequestIndex.open(path, (), self.first, b"")
                stack.callback(index.close)
            else:
                index = past.index
            index.add(requests, self.last, self.head)
