"""The peer of `replay`: the same coups' events in pyeventsourcing's own store, also on SQLite.

    python -m benchmarks.table.peer write LOG STORE EVENTS
    python -m benchmarks.table.peer read STORE

Each coup is an aggregate of that library: `save` writes its events, and `repository.get` rebuilds
it, which is the library's replay. Each event has the same fields as ours. The aggregate only counts
them: it judges nothing, settles nothing, and has no hash chain.

It needs eventsourcing (requirements/bench.txt); without it the figure is void.
"""

import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby, islice
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final
from uuid import UUID

import msgspec

from benchmarks.instruments.processes import peak_mb
from benchmarks.table.replay import Pass
from events.log.reader import reading
from events.types import Envelope

__all__ = ["CoupAggregate"]

# By name: it is no requirement of ours.
_Aggregate: Final[Any] = resolve_name("eventsourcing.domain:Aggregate")
_event: Final[Any] = resolve_name("eventsourcing.domain:event")
_Application: Final[Any] = resolve_name("eventsourcing.application:Application")
_MOST_IN_ONE: Final = 1_000  # events of no coup belong to their shoe, and these may be many


class CoupAggregate(_Aggregate):  # type: ignore[misc]  # it has types only where it is installed
    """The events of one coup."""

    @_event("Began")  # type: ignore[untyped-decorator]  # the same
    def __init__(self, coup: str) -> None:
        self.coup = coup
        self.seen = 0

    @_event("Happened")  # type: ignore[untyped-decorator]  # the same
    def happen(self, position: int, kind: str, at: str, cause: str, data: dict[str, Any]) -> None:
        """Add one more event."""
        self.seen += 1
        self.last = (position, kind, at, cause, data)


def _store(path: str) -> Any:
    return _Application(env={"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": path})


def _write(log: str, store: str, events: int) -> None:
    app = _store(store)
    with reading(Path(log)) as source:
        rows = islice(source.read(), events)
        envelopes = (msgspec.json.decode(row.stored, type=Envelope) for row in rows)
        for correlation, those in groupby(envelopes, key=lambda each: each.correlation):
            for few in _few(those):
                coup = CoupAggregate(coup=correlation)
                for each in few:
                    data = msgspec.json.decode(each.data)
                    coup.happen(each.position, each.type, each.at, each.cause, data)
                app.save(coup)
    app.close()


def _few(those: Iterator[Envelope]) -> Iterator[list[Envelope]]:
    while few := list(islice(those, _MOST_IN_ONE)):
        yield few


def _read(store: str) -> Pass:
    with closing(sqlite3.connect(store)) as db:
        # Ids alone: finding them is not measured.
        rows = db.execute("SELECT DISTINCT originator_id FROM stored_events").fetchall()
    app = _store(store)
    ids = [UUID(row[0]) for row in rows]
    begun = time.process_time()
    events = sum(app.repository.get(each).seen for each in ids)
    seconds = time.process_time() - begun
    return Pass(seconds=seconds, events=events, peak_mb=peak_mb(os.getpid()))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        _write(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        sys.stdout.buffer.write(msgspec.json.encode(_read(sys.argv[2])))
