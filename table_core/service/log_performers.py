"""Performs the table's effects on its event log and the snapshot next to it."""

from collections.abc import Callable

from events.log.store import EventLog
from events.mqtt.process_shell import AtOnce
from table_core.process.coup_recall import recall_coup
from table_core.process.log_effects import (
    Append,
    DescribeLog,
    FindEvent,
    LogTail,
    MoveCursor,
    OpenState,
    ReadCheckpoint,
    ReadCursor,
    ReadCursors,
    ReadLog,
    ReadRequest,
    RecallFromLog,
    RotateLog,
    StoreCheckpoint,
    StoreSnapshot,
)
from table_core.service.snapshots import restore_state, store_snapshot

__all__ = ["log_performers"]


def log_performers(log: EventLog, probe: Callable[[str], None]) -> AtOnce:
    """Return what performs the effects of `table_core.process.log_effects` on an open log.

    Args:
        log: the table's.
        probe: called at each step of a rotation.
    """
    return {
        Append: lambda it: log.append(it.expected, it.entries, it.request),
        DescribeLog: lambda _: LogTail(
            log.origin, log.position, log.base, log.head, log.peaks, log.closed, log.adopts
        ),
        FindEvent: lambda it: next(
            (stored for stored in log.read(it.start) if stored.type in it.types), None
        ),
        MoveCursor: lambda it: log.move_cursor(it.name, it.position),
        OpenState: lambda _: restore_state(log),
        ReadCheckpoint: lambda _: log.newest_checkpoint(),
        ReadCursor: lambda it: log.cursor(it.name),
        ReadCursors: lambda it: log.cursors(it.prefix),
        ReadLog: lambda it: tuple(log.read(it.start, it.limit)),
        ReadRequest: lambda it: log.recorded(it.cause),
        RecallFromLog: lambda it: recall_coup(log.read, it.newest, it.coup),
        RotateLog: lambda _: _rotate(log, probe),
        StoreCheckpoint: lambda it: log.store_checkpoint(it.note),
        StoreSnapshot: lambda it: store_snapshot(log.path, it.encoded),
    }


def _rotate(log: EventLog, probe: Callable[[str], None]) -> str | None:
    closed = log.new_file(probe)
    return None if closed is None else str(closed)
