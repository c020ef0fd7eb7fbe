"""Segments: the closed files of a log, their names, their order, and reading from them.

A log may go on in a new file (`events.log.rotation`). The old file then lies in the folder
`archive` next to the log, read-only, as `<site>.<table>-<first>-<last>.sqlite`. The first event of
each file is the last of the file before, so the names reveal a gap, and the chain's hash there
reveals a file that does not belong. A closed file is never written, so it is read without WAL and
locks. A site may pack it (`events.log.packing`); then its name ends in `.packed`.
"""

import os
import re
import sqlite3
from bisect import bisect_left
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from events.errors import LogRefused
from events.log.closed_file import (
    LogFile,
    is_packed,
    open_file,
    open_plain,
    present_form,
    unpack_to,
)
from events.proof.chain import next_hash, origin_hash

__all__ = [
    "ARCHIVE",
    "Segment",
    "Segments",
    "archive_folder",
    "find_segments",
    "open_segment",
    "segment_name",
    "segments_in",
]

ARCHIVE: Final = "archive"
"""The name of the folder of closed files, next to the log."""

_NAME: Final = re.compile(r"-([0-9]{12})-([0-9]{12})(\.sqlite|\.packed)\Z")
_UNREADABLE: Final = (sqlite3.Error, UnicodeDecodeError, OSError)
_T = TypeVar("_T")
_RIGHT: Final = "put the right file back from a backup"


class Segment(NamedTuple):
    """A file that a log no longer writes to; `first` and `last` are positions."""

    path: Path
    first: int
    last: int


def archive_folder(log: Path) -> Path:
    """Return the folder of a log's closed files; for a closed file, its own folder."""
    return log.parent if log.parent.name == ARCHIVE else log.parent / ARCHIVE


def segment_name(origin: str, first: int, last: int) -> str:
    """Return the file name for the events of `origin` from `first` to `last`."""
    return f"{origin.replace('/', '.')}-{first:012}-{last:012}.sqlite"


def segments_in(folder: Path, origin: str) -> tuple[Segment, ...]:
    """Return all closed files of `origin` in a folder, by their names, in order."""
    found: dict[tuple[int, int], Segment] = {}
    stem = origin.replace("/", ".")
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except FileNotFoundError:
        return ()
    for entry in entries:
        said = _NAME.search(entry.name)
        if said is not None and entry.name[: said.start()] == stem:
            first, last = int(said[1]), int(said[2])
            found[first, last] = Segment(folder / entry.name, first, last)  # `.sqlite` is the last
    return tuple(found.values())


def find_segments(folder: Path, origin: str, base: int) -> tuple[Segment, ...]:
    """Return the files that hold all events of `origin` from the first to the one at `base`.

    Args:
        folder: the folder of the closed files.
        origin: `<site>/<table>`.
        base: the first position of the file that follows them.

    Raises:
        LogRefused: a file is missing, or two end at the same position; names the position.
    """
    ending_at: dict[int, list[Segment]] = {}
    for each in segments_in(folder, origin):
        if each.first < each.last:
            ending_at.setdefault(each.last, []).append(each)
    chosen: list[Segment] = []
    end = base
    while end > 1:
        ending = ending_at.get(end)
        if ending is None:
            first = max((last + 1 for last in ending_at if last < end), default=1)
            told = f"{folder}: the closed file of {origin} with positions {first} to {end}"
            raise LogRefused(f"{told} is missing; {_RIGHT}", first)
        if len(ending) > 1:
            both = " and ".join(each.path.name for each in ending)
            raise LogRefused(f"{folder}: {both} both end at {end}; leave the right one", end)
        chosen.append(ending[0])
        end = ending[0].first
    return tuple(reversed(chosen))


def open_segment(path: Path) -> sqlite3.Connection:
    """Open a closed file as a database: a packed one is unpacked into a temporary one.

    Readers of some events use `events.log.closed_file.open_file`, which unpacks only those.

    Raises:
        sqlite3.Error: it cannot be read.
        OSError: the same, of a packed file.
    """
    path = present_form(path)
    if not is_packed(path):
        return open_plain(path)
    db = sqlite3.connect("", isolation_level=None)
    try:
        unpack_to(path, db)
    except BaseException:
        db.close()
        raise
    return db


class Segments:
    """The closed files of one log as its writer needs them: ranges of events, single requests.

    Every range is checked against the chain within it. One connection is open at a time.

    Args:
        origin: `<site>/<table>`.
        files: all of them, in order, as `find_segments` found them.
    """

    def __init__(self, origin: str, files: tuple[Segment, ...]) -> None:
        self._origin = origin
        self.files = files
        self._opened: tuple[Path, LogFile] | None = None

    def ends_with(self, position: int, head: bytes) -> bool:
        """Report whether the newest closed file ends with this hash at this position."""
        rows = self._in(self.files[-1], lambda file: list(file.bare(position, position)))
        return [row[2] for row in rows] == [head]

    def rows(self, first: int, last: int) -> list[tuple[Any, ...]]:
        """Return the rows of a range of positions in closed files.

        Raises:
            LogRefused: a file cannot be read or differs from what was hashed; names the position.
        """
        found: list[tuple[Any, ...]] = []
        at = self._file_of(first)
        while first <= last and at < len(self.files):
            until = min(last, self.files[at].last)
            found += self._stretch(self.files[at], first, until)
            first, at = until + 1, at + 1
        return found

    def request(self, cause: str, position: int) -> tuple[bytes, int]:
        """Return the body of a request whose last event is at `position`, and that position.

        Raises:
            LogRefused: the file cannot be read, or does not hold the request.
        """
        file = self.files[self._file_of(position)]
        found = self._in(file, lambda opened: opened.request(cause, position))
        if found is None:
            told = f"{file.path}: request {cause!r} of position {position} is missing; {_RIGHT}"
            raise LogRefused(told, position)
        return found

    def close(self) -> None:
        """Close the open file. Safe to call twice; a read opens it again."""
        if self._opened is not None:
            self._opened[1].close()
            self._opened = None

    def _file_of(self, position: int) -> int:
        """Return the index of the file whose events a position is among."""
        return bisect_left(self.files, position, key=attrgetter("last"))

    def _stretch(self, file: Segment, first: int, last: int) -> list[tuple[Any, ...]]:
        rows = self._in(file, lambda opened: list(opened.rows(first - 1, last)))
        head = origin_hash(self._origin) if first == 1 else rows.pop(0)[5] if rows else b""
        for position, row in enumerate(rows, start=first):
            stored = row[4] if isinstance(row[4], bytes) else b""
            head = next_hash(head, stored) if isinstance(head, bytes) else b""
            if (row[0], row[5]) != (position, head):
                told = f"{file.path}: position {position}: missing, or the hash chain breaks here"
                raise LogRefused(f"{told}; {_RIGHT}", position)
        if len(rows) != last - first + 1:
            missing = first + len(rows)
            raise LogRefused(f"{file.path}: position {missing}: missing; {_RIGHT}", missing)
        return rows

    def _in(self, file: Segment, act: Callable[[LogFile], _T]) -> _T:
        try:
            if self._opened is None or self._opened[0] != file.path:
                self.close()
                self._opened = file.path, open_file(file.path)
            return act(self._opened[1])
        except _UNREADABLE as error:
            raise LogRefused(f"{file.path}: unreadable: {error}; {_RIGHT}", file.first) from error
