"""Plans a batch of replicated events: events to store, heads to move, faults to record. Pure.

Tables are independent: a fault of one table ends its part of the batch and no other's. The plan
skips the events of a table whose feed is stopped.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

from events.errors import UnreadableEvent
from events.types import Envelope, decode_envelope
from property.hub.replicated_event import Head, HeadRelation, ReplicatedEvent, relation_to_head
from property.hub.subjects import continued_origin

__all__ = [
    "ArchiveRow",
    "BatchPlan",
    "FeedFault",
    "FeedFaultKind",
    "HeadMove",
    "plan_batch",
    "row_of",
]

FeedFaultKind = Literal["gap", "fork", "forged", "foreign", "unreadable", "nonsense"]
"""The kinds of a feed's fault. `gap` waits and `nonsense` is dropped; any other stops the feed.

A person must release a stopped feed. `fork`: the same position with another hash; `forged`: a hash
that does not follow from the bytes; `foreign`: an event of another table or position; `unreadable`:
bytes that are no event, or that the database refuses; `nonsense`: a message without our headers.
"""

_OF_VERDICT: Final[dict[HeadRelation, FeedFaultKind]] = {
    HeadRelation.GAP: "gap",
    HeadRelation.FORK: "fork",
    HeadRelation.FORGED: "forged",
}
_TIME: Final = re.compile(r"\d{4}-(0[1-9]|1[0-2])-\d\dT\d\d:\d\d:\d\d\.\d{9}Z\Z", re.ASCII)


class ArchiveRow(NamedTuple):
    """An event to store, with what of its envelope the archive reads.

    Args:
        origin: `<site>/<table>`.
        position: in the table's log.
        type: the event type's name.
        at: RFC 3339, with nine decimals.
        stored: the event's bytes.
        hash: the chain's hash up to and including it.
    """

    origin: str
    position: int
    type: str
    at: str
    stored: bytes
    hash: bytes


class FeedFault(NamedTuple):
    """A fault in a table's feed.

    Args:
        origin: `<site>/<table>`.
        kind: see `FeedFaultKind`.
        position: in the log; 0 if there is none.
        reason: one line for a person.
    """

    origin: str
    kind: FeedFaultKind
    position: int
    reason: str

    @property
    def stops(self) -> bool:
        """Whether the fault stops the table's feed until a person releases it."""
        return self.kind not in {"gap", "nonsense"}


class HeadMove(NamedTuple):
    """A head that moves.

    Args:
        was: the archive's present head.
        now: the head after the batch.
        at: the newest event's time.
    """

    was: Head
    now: Head
    at: str


class BatchPlan(NamedTuple):
    """A batch's plan, to be stored in one transaction.

    Args:
        rows: the events, in order within each table.
        moves: the heads that move, by origin.
        faults: at most one a table.
        repeated: the newest duplicate event of each table that sent one.
    """

    rows: list[ArchiveRow]
    moves: dict[str, HeadMove]
    faults: list[FeedFault]
    repeated: dict[str, ReplicatedEvent]


def plan_batch(
    heads: Mapping[str, Head], batch: Iterable[ReplicatedEvent], stopped: Iterable[str] = ()
) -> BatchPlan:
    """Compare a batch with the heads, and plan what to store.

    Args:
        heads: each table's chain head; a table without one has not begun.
        batch: in the hub's order.
        stopped: origins to skip.
    """
    rows: list[ArchiveRow] = []
    moves: dict[str, HeadMove] = {}
    faults: list[FeedFault] = []
    gaps: dict[str, FeedFault] = {}
    repeated: dict[str, ReplicatedEvent] = {}
    ended = set(stopped)
    for each in batch:
        origin = each.origin
        if origin in ended:
            continue
        move = moves.get(origin)
        head = move.now if move else heads.get(origin) or Head.beginning(origin)
        verdict = relation_to_head(head, each)
        if verdict is HeadRelation.DUPLICATE:
            repeated[origin] = each
            continue
        read = _row_of(each) if verdict is HeadRelation.NEXT else _fault_of(verdict, head, each)
        if isinstance(read, ArchiveRow):
            rows.append(read)
            moves[origin] = HeadMove(move.was if move else head, each.head, read.at)
        elif read.kind == "gap":  # the rest of the batch may fill it
            gaps[origin] = max(read, gaps.get(origin, read), key=_position)
        else:
            faults.append(read)
            ended.add(origin)
    open_gaps = (
        gap for origin, gap in gaps.items() if origin not in ended and not _filled(gap, moves)
    )
    return BatchPlan(rows, moves, [*faults, *open_gaps], repeated)


def _position(fault: FeedFault) -> int:
    return fault.position


def _filled(gap: FeedFault, moves: Mapping[str, HeadMove]) -> bool:
    move = moves.get(gap.origin)
    return move is not None and move.now.position >= gap.position


def _fault_of(verdict: HeadRelation, head: Head, carried: ReplicatedEvent) -> FeedFault:
    told = {
        HeadRelation.GAP: f"comes behind {head.position}: what is between is missing",
        HeadRelation.FORK: f"has hash {carried.hash.hex()}, and is archived with {head.hash.hex()}",
        HeadRelation.FORGED: f"its hash does not follow from {head.position} and its bytes",
    }[verdict]
    return FeedFault(carried.origin, _OF_VERDICT[verdict], carried.position, told)


def row_of(carried: ReplicatedEvent) -> ArchiveRow:
    """Return an event as the archive stores it.

    Raises:
        UnreadableEvent: its bytes are no event.
    """
    envelope = decode_envelope(carried.stored)
    return _row(carried, envelope)


def _row_of(carried: ReplicatedEvent) -> ArchiveRow | FeedFault:
    """Return the event's row, or its fault although the chain is intact."""
    try:
        envelope = decode_envelope(carried.stored)
    except UnreadableEvent as error:
        return FeedFault(carried.origin, "unreadable", carried.position, str(error))
    ours = envelope.stream in {carried.origin, continued_origin(carried.origin)}
    if not ours or envelope.position != carried.position:
        said = f"says that it is {envelope.position} of {envelope.stream}"
        return FeedFault(carried.origin, "foreign", carried.position, said)
    if not _TIME.match(envelope.at):
        said = f"its time {envelope.at[:40]!r} is none"
        return FeedFault(carried.origin, "unreadable", carried.position, said)
    return _row(carried, envelope)


def _row(carried: ReplicatedEvent, envelope: Envelope) -> ArchiveRow:
    return ArchiveRow(
        carried.origin,
        carried.position,
        envelope.type,
        envelope.at,
        carried.stored,
        carried.hash,
    )
