"""The snapshot anchor: closes the books at a shoe's end, and opens a table from a snapshot.

A snapshot is a file next to the log, `<log>.snapshot`: the encoded state at the newest
`books_closed`. It is a cache that may be missing, old, torn or hostile. Its bytes must have the
hash in that event; else it is discarded, and the log is folded from its first event. Nothing else
in the file is trusted.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from events.errors import LogError, LogRefused, OurBug, UnreadableEvent
from events.log.disk import PRIVATE_FILE
from events.log.reader import reading
from events.log.store import EventLog
from events.log.verify import Progress, RecordJudge, verify
from events.proof.chain import next_hash, origin_hash
from events.structured_log import structlog
from events.types import BooksClosed, ShoeEnded, Stored, TableEvent, decode_data, decode_envelope
from table_core.fold.dispatch import fold
from table_core.fold.snapshot import decode_state, encode_state, is_comparable, state_hash
from table_core.process.log_effects import OpenedTable
from table_core.state.table import TableState

__all__ = ["inspect_log", "restore_state", "snapshot_path", "store_snapshot"]

# A state at a shoe's end has some hundred thousand bytes, most of them coups with their wagers. No
# snapshot of ours is as long as this.
_MOST_BYTES: Final = 16 * 1024 * 1024

_log: Final = structlog.get_logger()


def snapshot_path(log: Path) -> Path:
    """Return the path of the snapshot next to a log."""
    return log.with_name(log.name + ".snapshot")


def restore_state(log: EventLog) -> OpenedTable:
    """Fold a log from its snapshot where that fits the newest anchor, else from the first event.

    Raises:
        LogRefused: an event is missing, differs from its hash, or cannot be read by this build;
            names its position.
        OurBug: the events do not follow from one another.
    """
    state = _from_snapshot(log)
    folding = _Folding(state or TableState())
    for stored in _chained(log) if state is None else log.read(state.position + 1):
        try:
            folding.take_one(stored)
        except UnreadableEvent as error:
            told = f"{log.path}: position {stored.position}: {error}"
            raise LogRefused(told, stored.position) from error
    if state is None and folding.agreed is not None and folding.fault is None:
        store_snapshot(log.path, folding.agreed)
    if folding.fault is not None:
        _log.error("books.disagree", reason=folding.fault)
    return OpenedTable(folding.state, folding.owed, folding.fault)


def store_snapshot(log: Path, encoded: bytes) -> None:
    """Store the snapshot of the newest anchor next to the log; a failure only costs a fold."""
    path = snapshot_path(log)
    new = path.with_name(path.name + ".new")
    try:
        new.touch(PRIVATE_FILE)
        new.write_bytes(encoded)
        new.replace(path)
    except OSError as error:
        _log.warning("snapshot.not_kept", reason=str(error))
        with suppress(OSError):
            new.unlink(missing_ok=True)


def inspect_log(
    path: Path,
    progress: Progress | None = None,
    *,
    judging: Callable[[str], RecordJudge] | None = None,
) -> str | None:
    """Verify a log in full and fold it again from its first event; it may be in use.

    In addition to `events.log.verify`, it compares the state in each `books_closed`, where this
    build can.

    Args:
        path: the log's file.
        progress: called with the verification's progress, which is half of the work.
        judging: makes the judge of the log of an origin.

    Returns:
        The fault, in one line; None where there is none.

    Raises:
        InputError: there is no such log.
    """
    verdict = verify(path, progress, judging=judging)
    if not verdict.ok:
        where = "" if verdict.first_bad is None else f"position {verdict.first_bad}: "
        return f"{where}{verdict.reason}"
    folding = _Folding(TableState())
    try:
        with reading(path) as reader:
            for stored in reader.read():
                folding.take_one(stored)
    except (LogError, OurBug) as error:
        return str(error)
    return folding.fault


class _Folding:
    """A fold that compares each `books_closed` on its way with its own state."""

    def __init__(self, state: TableState) -> None:
        self.state = state
        self.owed: str | None = None
        self.fault: str | None = None
        self.agreed: bytes | None = None

    def take_one(self, stored: Stored) -> TableEvent:
        event = decode_data(decode_envelope(stored.stored))
        if isinstance(event, BooksClosed):
            self._compare(event)
        elif isinstance(event, ShoeEnded):
            self.owed = event.shoe
        self.state = fold(self.state, event)
        return event

    def _compare(self, books: BooksClosed) -> None:
        if not is_comparable(books):
            self.owed, self.agreed = books.shoe, None  # only another build can use it
            return
        encoded = encode_state(self.state)
        if self.fault is None and state_hash(encoded) != books.state:
            self.fault = (
                f"position {books.size + 1}: the events before it come to another state than the "
                f"books of shoe {books.shoe} say: the log or the program is not what it was"
            )
        self.owed, self.agreed = None, encoded


def _from_snapshot(log: EventLog) -> TableState | None:
    """Return the state at the newest anchor, if the snapshot next to the log belongs to it."""
    if not log.anchor:
        return None
    (stored,) = log.read(log.anchor, 1)
    books = decode_data(decode_envelope(stored.stored))
    if not isinstance(books, BooksClosed):
        raise OurBug(f"opening began at {stored.position}, where there are no books")
    if not is_comparable(books):
        _log.info("snapshot.other_build", fold=books.fold, shape=books.shape)
        return None
    path = snapshot_path(log.path)
    try:
        data = _read(path)
        if state_hash(data) != books.state:
            _log.warning("snapshot.discarded", path=str(path), reason="not that of the books")
            return None
        return decode_state(data)
    except (OSError, UnreadableEvent) as error:
        _log.warning("snapshot.discarded", path=str(path), reason=str(error))
        return None


def _chained(log: EventLog) -> Iterator[Stored]:
    """Yield every event of the log, checked against the chain: opening checks only the newest."""
    position, head = 0, origin_hash(log.origin)
    for stored in log.read():
        position, head = position + 1, next_hash(head, stored.stored)
        if (stored.position, stored.hash) != (position, head):
            told = f"{log.path}: position {position}: missing, or the hash chain breaks here"
            raise LogRefused(f"{told}; keep the file and restore a verified backup", position)
        yield stored


def _read(path: Path) -> bytes:
    """Read a regular file of a plausible size, never a pipe or an endless device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("no plain file")
        return file.read(_MOST_BYTES)
