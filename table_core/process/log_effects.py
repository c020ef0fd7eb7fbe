"""The effects of a table on its log and the files next to it. None of them waits. Pure.

Each may raise LogUnwritable where the disk refuses, and LogRefused where a file cannot be read.
`table_core.process.log_performers` performs them on an `EventLog`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from events.mqtt.process import Effect
from events.types import AcceptedRequest, Pending, ShoeEvent, Stored
from table_core.state.table import TableState

__all__ = [
    "Append",
    "CiteProfile",
    "DescribeLog",
    "FindEvent",
    "LogTail",
    "MoveCursor",
    "OpenState",
    "OpenedTable",
    "ReadCheckpoint",
    "ReadCursor",
    "ReadCursors",
    "ReadLog",
    "ReadRequest",
    "RecallFromLog",
    "RotateLog",
    "StoreCheckpoint",
    "StoreSnapshot",
]


class OpenedTable(NamedTuple):
    """The state of a table, folded from its log.

    Args:
        state: after the newest event.
        owed: the ended shoe that still lacks a `books_closed` of use to this build; else None.
        fault: why the log and this build disagree, in one line; None where they agree.
    """

    state: TableState
    owed: str | None
    fault: str | None


class LogTail(NamedTuple):
    """A log's end.

    Args:
        origin: `<site>/<table>`.
        position: the newest event's, 0 if there is none.
        base: the first position of the file; earlier events are in closed files.
        head: the newest hash of the chain.
        peaks: the roots of the perfect subtrees of the RFC 6962 tree over all events.
        closed: the log must be opened again: a failure left it in doubt.
        adopts: no head of it was kept, and the table has yet to vouch for what is there.
    """

    origin: str
    position: int
    base: int
    head: bytes
    peaks: tuple[bytes, ...]
    closed: bool
    adopts: bool = False


class Append(Effect[tuple[Stored, ...]], frozen=True):
    """Store events after a position in one commit: all of them or none; see `EventLog.append`."""

    expected: int
    entries: Sequence[Pending]
    request: tuple[str, bytes] | None = None


class ReadLog(Effect[tuple[Stored, ...]], frozen=True):
    """Read at most `limit` events from position `start` on."""

    start: int
    limit: int | None = None


class FindEvent(Effect[Stored | None], frozen=True):
    """Find the first event of one of some types from position `start` on."""

    start: int
    types: frozenset[str]


class DescribeLog(Effect[LogTail], frozen=True):
    """Return where the log ends."""


class ReadRequest(Effect[AcceptedRequest | None], frozen=True):
    """Find the request accepted under a cause, `<user>/<transaction>`."""

    cause: str


class ReadCursor(Effect[int], frozen=True):
    """Return the position that `name` has reached; 0 if it was never moved."""

    name: str


class ReadCursors(Effect[dict[str, int]], frozen=True):
    """Return the position of each cursor whose name begins with `prefix`."""

    prefix: str


class MoveCursor(Effect[None], frozen=True):
    """Store the position that `name` has reached; None deletes it."""

    name: str
    position: int | None


class ReadCheckpoint(Effect[tuple[int, bytes] | None], frozen=True):
    """Return the newest checkpoint and the number of events it covers."""


class StoreCheckpoint(Effect[None], frozen=True):
    """Store a signed checkpoint of the log as it is now."""

    note: bytes


class RotateLog(Effect[str | None], frozen=True):
    """Continue the log in a new file; return the old one's new path, None where it is in use."""


class OpenState(Effect[OpenedTable], frozen=True):
    """Fold the log, from its snapshot where that fits."""


class StoreSnapshot(Effect[None], frozen=True):
    """Store the snapshot of the newest anchor next to the log; a failure only costs a fold."""

    encoded: bytes


class RecallFromLog(Effect[TableState | None], frozen=True):
    """Search the log backwards for a coup of an earlier shoe; see `coup_recall.recall_coup`."""

    newest: int
    coup: str


class CiteProfile(Effect[str | None], frozen=True):
    """Keep the wire profile that read a shoe event, and compare the event with its raw bytes by it.

    Return how they contradict each other, for a person, or None. Before the event is appended.
    """

    event: ShoeEvent
