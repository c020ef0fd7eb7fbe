"""Verify a log in several processes: each takes a part of its events, and the ends must meet.

A part begins with a `books_closed`, which states chain and tree of the events before it. A part is
verified as if that statement were true. Then the statement is compared with the result of the part
before. A closed file is a part, and the log's own file has several.

This module never refuses a log. If a part has a fault, `events.log.verify` verifies the log again
and names the fault, so the answer is the same for any number of processes.
"""

import os
import sqlite3
import tempfile
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import ExitStack, closing
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from events.errors import InputError, LogRefused
from events.log.idempotency_index import forgery_in, index_of, surplus_in
from events.log.newest_anchor import ChainStart, start_at_anchor, start_of_file, start_of_log
from events.log.read_only_copy import open_snapshot, readable_copy
from events.log.segments import archive_folder, find_segments, open_segment
from events.log.verify import (
    BadFile,
    Progress,
    RecordJudge,
    VerificationResult,
    VerificationWalk,
    stored_checkpoints,
    verify_checkpoints,
    verify_event,
    verify_events,
    verify_format,
    verify_no_more_is_known,
    verify_no_side_files,
    verify_pages,
    verify_size,
    verify_wal,
)
from events.log.vouching import MoneyMove
from events.proof.checkpoint import KeptCheckpoint
from events.proof.merkle import MerkleTree
from events.proof.note import VerifierKey
from events.types import BooksClosed

__all__ = ["PartJudge", "PartsJudge", "verify_in_parts"]

# A process costs as much as some thousand events.
_LEAST_EVENTS: Final = 5_000
_PARTS_A_JOB: Final = 4
_BOOKS: Final = (
    "SELECT position FROM event WHERE position > ? AND position < ? AND type = ? "
    "ORDER BY position LIMIT 1"
)
_ROW: Final = "SELECT position, type, version, at, bytes, hash FROM event WHERE position = ?"


class PartJudge(RecordJudge, Protocol):
    """Judges the content of the events of one part."""

    def outcome(self) -> object:
        """Return what `PartsJudge.join` needs of the part; it is pickled."""


class PartsJudge(Protocol):
    """Judges the content of a log that is verified in parts; it is pickled for each."""

    def of_part(self, origin: str, store: Path) -> PartJudge:
        """Return the judge of one part, which may keep what it likes in the file `store`."""

    def join(self, origin: str, outcomes: Sequence[object]) -> None:
        """Judge what no part could judge by itself.

        Raises:
            BadFile: the record does not follow from itself.
        """


class _Task(NamedTuple):
    """A part: the events of a file from `first` to `last`; a closed file is verified whole."""

    path: Path
    origin: str
    first: int
    last: int
    seam: bool = False
    closed: bool = False
    wanted: tuple[int, ...] = ()
    requests: Path = Path()
    judging: PartsJudge | None = None
    store: Path = Path()


class _Part(NamedTuple):
    """What a part came to: chain and tree at both ends, and what the whole needs of it."""

    start: tuple[int, bytes, tuple[bytes, ...]]
    end: tuple[int, bytes, tuple[bytes, ...]]
    newest: str
    roots: dict[int, bytes]
    keys: list[tuple[int, VerifierKey]]
    money: list[MoneyMove]
    stored: tuple[KeptCheckpoint, ...]
    ended: int
    judged: object


def verify_in_parts(
    path: Path,
    jobs: int,
    progress: Progress | None = None,
    *,
    held: Sequence[KeptCheckpoint] = (),
    keys: Collection[VerifierKey] = (),
    archive: Path | None = None,
    judging: PartsJudge | None = None,
) -> VerificationResult | None:
    """Verify the log at `path` and all its closed files, as `events.log.verify` does.

    Args:
        path: the log's file; its WAL is found next to it.
        jobs: how many processes work at a time.
        progress: called when a part is done.
        held: checkpoints kept elsewhere.
        keys: public keys to trust; without any, those that the log announces.
        archive: the folder of the closed files, if not `archive` next to the log.
        judging: judges the content of the events.

    Returns:
        What a sound log came to; None where anything is odd, or too little to be divided.

    Raises:
        InputError: there is no such file, it cannot be read, or it is not a SQLite file.
    """
    path = Path(os.path.realpath(path))
    with ExitStack() as stack:
        try:
            work = _Work(path, readable_copy(path, stack), archive or archive_folder(path), stack)
            parts = work.parts(jobs, progress, [each.checkpoint.size for each in held], judging)
            if parts is None:
                return None
            if judging is not None:
                judging.join(work.origin, [part.judged for part in parts])
            return _joined(work.origin, parts, work.stored, held, keys)
        except (BadFile, BrokenExecutor, LogRefused, sqlite3.Error, UnicodeDecodeError, OSError):
            return None


class _Work:
    """The verification of one log: its own file, which this process opens, and its closed files.

    Args:
        path: the log's file.
        source: the file to read.
        archive: the folder of the closed files.
        stack: closes what is opened.
    """

    def __init__(self, path: Path, source: Path, archive: Path, stack: ExitStack) -> None:
        verify_no_side_files(path)
        verify_wal(source)
        self._db = stack.enter_context(closing(open_snapshot(source)))
        self.origin, version, odd = verify_format(self._db)
        if odd is not None:
            raise BadFile(odd)
        if source != path:
            verify_size(source, self._db)
        self._source = source
        self._first = start_of_file(self._db, self.origin).position + 1
        (last,) = self._db.execute("SELECT max(position) FROM event").fetchone()
        self._last: int = last or 0
        self._closed = find_segments(archive, self.origin, self._first) if self._first > 1 else ()
        self._index = index_of(archive, self.origin)
        self.stored = stored_checkpoints(self._db, version)
        prefix = "baccarat-parts-"
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix)))

    def parts(
        self, jobs: int, progress: Progress | None, held: Sequence[int], judging: PartsJudge | None
    ) -> list[_Part] | None:
        """Return the parts; None where one is odd, where ends do not meet, or there is but one."""
        tasks = list(self._tasks(jobs, held, judging))
        if len(tasks) == 1:
            return None
        parts: list[_Part] = []
        with ProcessPoolExecutor(jobs, get_context("fork")) as pool:
            done = pool.map(_verify_part, tasks)
            try:
                verify_pages(self._db)
                for part in done:
                    if part is None or (parts and parts[-1].end != part.start):
                        return None
                    parts.append(part)
                    if progress is not None:
                        progress(part.end[0], self._last)
            finally:
                pool.shutdown(cancel_futures=True)
        ended = sum(part.ended for part in parts[len(self._closed) :])
        verify_no_more_is_known(self._db, self._last, ended)
        if self._closed:
            requests = sum(part.ended for part in parts[: len(self._closed)])
            if surplus_in(self._index, self._closed[-1].last, requests) is not None:
                return None
        return parts

    def _tasks(self, jobs: int, held: Sequence[int], judging: PartsJudge | None) -> Iterator[_Task]:
        task = _Task(self._source, self.origin, 0, 0, judging=judging, wanted=tuple(held))
        for number, file in enumerate(self._closed):
            yield task._replace(
                path=file.path,
                first=file.first,
                last=file.last,
                seam=number > 0,
                closed=True,
                requests=self._index,
                store=self._folder / f"closed-{number}",
            )
        bounds = list(_bounds(self._db, self._first, self._last, jobs))
        sizes = (*held, *(each.checkpoint.size for each in self.stored))
        for number, (first, after) in enumerate(pairwise(bounds)):
            yield task._replace(
                first=first,
                last=after - 1,
                seam=bool(self._closed) and number == 0,
                wanted=tuple(size for size in sizes if first <= size < after),
                store=self._folder / str(number),
            )


def _bounds(db: sqlite3.Connection, first: int, last: int, jobs: int) -> Iterator[int]:
    """Yield the first position of each part of a file, and the one behind its last event."""
    count = min(jobs * _PARTS_A_JOB, (last - first + 1) // _LEAST_EVENTS)
    yield first
    before = first
    for number in range(1, count):
        wanted = max(before, first + (last - first + 1) * number // count)
        row = db.execute(_BOOKS, (wanted, last, BooksClosed.TYPE)).fetchone()
        if row is None:
            break
        yield (before := row[0])
    yield last + 1


def _verify_part(task: _Task) -> _Part | None:
    try:
        with closing(open_segment(task.path) if task.closed else open_snapshot(task.path)) as db:
            return _part(task, db)
    except (BadFile, InputError, LogRefused, sqlite3.Error, UnicodeDecodeError, OSError, KeyError):
        return None


def _part(task: _Task, db: sqlite3.Connection) -> _Part | None:
    judge = None if task.judging is None else task.judging.of_part(task.origin, task.store)
    walk = VerificationWalk(task.origin, task.last, None, judge)
    stored: tuple[KeptCheckpoint, ...] = ()
    if task.closed:
        stored = _closed_file(task, db)
    if task.first > 1 and not _begin(walk, task, db):
        return None
    walk.wanted.update(task.wanted, (each.checkpoint.size for each in stored))
    first, walk.before = (walk.position, walk.digest, walk.tree.peaks), b""
    ended = verify_events(db, walk, (walk.position + 1, task.last))
    if walk.position != task.last:
        return None
    if task.closed:
        verify_no_more_is_known(db, walk.position, ended)
        verify_pages(db)
        if forgery_in(task.requests, db, task.last) is not None:
            return None
    if judge is not None:
        judge.finish()
    return _Part(
        start=first,
        end=(walk.position, walk.digest, walk.tree.peaks),
        newest=walk.newest,
        roots=walk.roots,
        keys=walk.keys,
        money=walk.money,
        stored=stored,
        ended=ended,
        judged=None if judge is None else judge.outcome(),
    )


def _closed_file(task: _Task, db: sqlite3.Connection) -> tuple[KeptCheckpoint, ...]:
    verify_no_side_files(task.path, closed=True)
    origin, version, odd = verify_format(db)
    if origin != task.origin or odd is not None:
        raise BadFile("another log's, or odd")
    verify_size(task.path, db)
    return stored_checkpoints(db, version)


def _begin(walk: VerificationWalk, task: _Task, db: sqlite3.Connection) -> bool:
    """Believe the books that the part begins with; behind a seam they are in the part before."""
    row = db.execute(_ROW, (task.first,)).fetchone()
    start: ChainStart | None = start_at_anchor(task.first, row[4]) if row else None
    if start is None:
        return False
    walk.begin_at(start)
    if task.seam:
        digest, entry = verify_event(row, task.first, task.origin, start.head, walk.ids)
        walk.position, walk.digest, walk.newest = task.first, digest, entry.at
        walk.tree.add(row[4])
        walk.roots[task.first] = walk.tree.root()
    return True


def _joined(
    origin: str,
    parts: Sequence[_Part],
    mine: Sequence[KeptCheckpoint],
    held: Sequence[KeptCheckpoint],
    keys: Collection[VerifierKey],
) -> VerificationResult | None:
    """Return what the parts come to, once they begin where a log does."""
    begins = start_of_log(origin)
    if parts[0].start != (begins.position, begins.head, begins.tree.peaks):
        return None
    position, head, peaks = parts[-1].end
    whole = VerificationWalk(origin, position, None)
    whole.begin_at(ChainStart(position, head, MerkleTree(position, peaks)))
    whole.newest = parts[-1].newest
    found: list[KeptCheckpoint] = []
    for part in parts:
        whole.roots |= part.roots
        whole.keys += part.keys
        whole.money += part.money
        found += [each for each in part.stored if each not in found[-1:]]
    found += [each for each in mine if each not in found[-1:]]
    return whole.result(verify_checkpoints(whole, (*held, *found), keys), len(held) + len(found))
