"""A table's log in memory, for the effects of `table_core.process.log_effects`."""

from events.clock import rfc3339
from events.errors import LogUnwritable
from events.mqtt.process import Begin, Effect, Instant, IsConnected, LogLine, Now, Post
from events.mqtt.process_shell import AtOnce
from events.proof.chain import next_hash, origin_hash
from events.types import AcceptedRequest, Pending, Stored, TableEvent, encode_envelope
from table_core.process.log_effects import (
    Append,
    CiteProfile,
    DescribeLog,
    FindEvent,
    LogTail,
    MoveCursor,
    OpenedTable,
    OpenState,
    ReadCheckpoint,
    ReadCursor,
    ReadCursors,
    ReadLog,
    ReadRequest,
)
from table_core.state.table import TableState
from table_core.trust.access import Access, ReadAccess

ORIGIN = "s/t"
START_NS = 1_795_000_000_000_000_000


class MemoryLog:
    """Keeps events, cursors and requests, and performs what else does not wait.

    Attributes:
        refuses: the disk is full.
        closed: the log must be opened again.
        connected: the broker is there.
        access: who may do what, where the table asks.
        contradiction: how a shoe event contradicts its bytes.
        begun: the steps that were begun.
        now_us: the time, which a test moves.
    """

    def __init__(self, *events: TableEvent) -> None:
        self.stored: list[Stored] = []
        self.cursors: dict[str, int] = {}
        self.requests: dict[str, AcceptedRequest] = {}
        self.refuses = self.closed = False
        self.connected = True
        self.access = Access(roles={})
        self.contradiction: str | None = None
        self.begun: list[Begin] = []
        self.posted: list[Post] = []
        self.lines: list[str] = []
        self.now_us = 0
        self.keep(*events)
        self.performers: AtOnce = {
            Append: self._append,
            Begin: self.begun.append,
            CiteProfile: lambda _: self.contradiction,
            DescribeLog: self._describe,
            FindEvent: self._find,
            IsConnected: lambda _: self.connected,
            LogLine: lambda line: self.lines.append(line.event),
            MoveCursor: self._move,
            Now: lambda _: self.now,
            OpenState: lambda _: OpenedTable(TableState(), None, None),
            Post: self._post,
            ReadAccess: lambda _: self.access,
            ReadCheckpoint: lambda _: None,
            ReadCursor: lambda it: self.cursors.get(it.name, 0),
            ReadCursors: lambda it: {
                name: at for name, at in self.cursors.items() if name.startswith(it.prefix)
            },
            ReadLog: self._read,
            ReadRequest: lambda it: self.requests.get(it.cause),
        }

    @property
    def now(self) -> Instant:
        return Instant(START_NS + self.now_us * 1_000, self.now_us)

    def keep(self, *events: TableEvent) -> None:
        """Append events of no cause."""
        for event in events:
            position, at = len(self.stored) + 1, rfc3339(self.now.utc_ns)
            stored = encode_envelope(
                event,
                index=0,
                stream=ORIGIN,
                position=position,
                at=at,
                actor="core",
                cause=f"core/{position}",
                correlation="",
            )
            self._append(Append(position - 1, [Pending(event.TYPE, event.VERSION, at, stored)]))

    def _append(self, effect: Append) -> tuple[Stored, ...]:
        self._require_room()
        assert effect.expected == len(self.stored)
        made: list[Stored] = []
        for entry in effect.entries:
            before = self.stored[-1].hash if self.stored else origin_hash(ORIGIN)
            position, head = len(self.stored) + 1, next_hash(before, entry.stored)
            made.append(Stored(position, *entry, head))
            self.stored.append(made[-1])
        if effect.request:
            self.requests[effect.request[0]] = AcceptedRequest(effect.request[1], len(self.stored))
        return tuple(made)

    def _move(self, effect: MoveCursor) -> None:
        self._require_room()
        assert (effect.position or 0) <= len(self.stored)
        self.cursors[effect.name] = effect.position or 0

    def _require_room(self) -> None:
        if self.refuses:
            raise LogUnwritable("the disk is full")

    def _post(self, post: Post) -> bool:
        if self.connected:
            self.posted.append(post)
        return self.connected

    def _read(self, effect: ReadLog) -> tuple[Stored, ...]:
        first = max(1, effect.start) - 1
        end = None if effect.limit is None else first + effect.limit
        return tuple(self.stored[first:end])

    def _find(self, effect: FindEvent) -> Stored | None:
        found = (each for each in self.stored[effect.start - 1 :] if each.type in effect.types)
        return next(found, None)

    def _describe(self, _: Effect[LogTail]) -> LogTail:
        return LogTail(ORIGIN, len(self.stored), 1, b"", (), self.closed)
