"""Plans a batch of replicated events: rows to store, heads to move, faults to record. Pure.

Tables are independent: a fault of one table ends its part of the batch and no other's. The plan
skips the events of a table whose feed is stopped.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

from events.errors import UnreadableEvent
from events.free_text import visible
from events.types.envelope import Envelope, decode_envelope
from property.hub.replicated_event import Carried, Head, Verdict, follows
from property.hub.subjects import split_origin

__all__ = ["Fault", "FaultKind", "Intake", "Move", "Row", "take"]

FaultKind = Literal["gap", "fork", "forged", "foreign", "unreadable", "nonsense"]
"""The kinds of a feed's fault. `gap` waits and `nonsense` is dropped; any other stops the feed.

A person must release a stopped feed. `fork`: the same position with another hash; `forged`: a hash
that does not follow from the bytes; `foreign`: an event of another table or position; `unreadable`:
bytes that are no event, or that the database refuses; `nonsense`: a message without our headers.
"""

_OF_VERDICT: Final[dict[Verdict, FaultKind]] = {
    Verdict.GAP: "gap",
    Verdict.FORK: "fork",
    Verdict.FORGED: "forged",
}
_TIME: Final = re.compile(r"\d{4}-(0[1-9]|1[0-2])-\d\dT\d\d:\d\d:\d\d\.\d{9}Z\Z")
# A clock may be wrong by any amount, and the archive creates a partition for each month. Times
# outside 2020 to 2099 share one partition.
_MONTH: Final = re.compile(r"20[2-9]\d-\d\d")
_NO_MONTH: Final = "1970-01-01"
# A JSON string, and the rare escapes in one that `visible` changes.
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_CHANGED: Final = re.compile(r"\\u00(00|5c)", re.IGNORECASE)


class Row(NamedTuple):
    """A row of the SQL table `property.event`, in column order."""

    site: str
    table: str
    position: int
    type: str
    version: int
    at: str
    actor: str
    stored: bytes
    data: str
    hash: bytes
    month: str


class Fault(NamedTuple):
    """A fault in a table's feed.

    Args:
        origin: `<site>/<table>`.
        kind: see `FaultKind`.
        position: in the log; 0 if there is none.
        reason: one line for a person.
    """

    origin: str
    kind: FaultKind
    position: int
    reason: str

    @property
    def stops(self) -> bool:
        """Whether the fault stops the table's feed until a person releases it."""
        return self.kind not in {"gap", "nonsense"}


class Move(NamedTuple):
    """A head that moves.

    Args:
        was: the archive's present head.
        now: the head after the batch.
        at: the newest event's time.
    """

    was: Head
    now: Head
    at: str


class Intake(NamedTuple):
    """A batch's plan, to be stored in one transaction.

    Args:
        rows: the events, in order within each table.
        moves: the heads that move, by origin.
        faults: at most one a table.
        repeated: the newest duplicate event of each table that sent one.
    """

    rows: list[Row]
    moves: dict[str, Move]
    faults: list[Fault]
    repeated: dict[str, Carried]


def take(
    heads: Mapping[str, Head], batch: Iterable[Carried], stopped: Iterable[str] = ()
) -> Intake:
    """Compare a batch with the heads, and plan what to store.

    Args:
        heads: each table's chain head; a table without one has not begun.
        batch: in the hub's order.
        stopped: origins to skip.
    """
    rows: list[Row] = []
    moves: dict[str, Move] = {}
    faults: list[Fault] = []
    gaps: dict[str, Fault] = {}
    repeated: dict[str, Carried] = {}
    ended = set(stopped)
    for each in batch:
        origin = each.origin
        if origin in ended:
            continue
        move = moves.get(origin)
        head = move.now if move else heads.get(origin) or Head.beginning(origin)
        verdict = follows(head, each)
        if verdict is Verdict.DUPLICATE:
            repeated[origin] = each
            continue
        read = _row_of(each) if verdict is Verdict.NEXT else _fault_of(verdict, head, each)
        if isinstance(read, Row):
            rows.append(read)
            moves[origin] = Move(move.was if move else head, each.head, read.at)
        elif read.kind == "gap":  # the rest of the batch may fill it
            gaps[origin] = max(read, gaps.get(origin, read), key=_position)
        else:
            faults.append(read)
            ended.add(origin)
    open_gaps = (
        gap for origin, gap in gaps.items() if origin not in ended and not _filled(gap, moves)
    )
    return Intake(rows, moves, [*faults, *open_gaps], repeated)


def _position(fault: Fault) -> int:
    return fault.position


def _filled(gap: Fault, moves: Mapping[str, Move]) -> bool:
    move = moves.get(gap.origin)
    return move is not None and move.now.position >= gap.position


def _fault_of(verdict: Verdict, head: Head, carried: Carried) -> Fault:
    told = {
        Verdict.GAP: f"comes behind {head.position}: what is between is missing",
        Verdict.FORK: f"has hash {carried.hash.hex()}, and is archived with {head.hash.hex()}",
        Verdict.FORGED: f"its hash does not follow from {head.position} and its bytes",
    }[verdict]
    return Fault(carried.origin, _OF_VERDICT[verdict], carried.position, told)


def _row_of(carried: Carried) -> Row | Fault:
    """Return the event's row, or its fault although the chain is intact."""
    try:
        envelope = decode_envelope(carried.stored)
    except UnreadableEvent as error:
        return Fault(carried.origin, "unreadable", carried.position, str(error))
    if (envelope.stream, envelope.position) != (carried.origin, carried.position):
        said = f"says that it is {envelope.position} of {envelope.stream}"
        return Fault(carried.origin, "foreign", carried.position, said)
    if not _TIME.match(envelope.at):
        said = f"its time {envelope.at[:40]!r} is none"
        return Fault(carried.origin, "unreadable", carried.position, said)
    return _row(carried, envelope)


def _row(carried: Carried, envelope: Envelope) -> Row:
    site, table = split_origin(carried.origin)
    month = _MONTH.match(envelope.at)
    return Row(
        site,
        table,
        carried.position,
        visible(envelope.type),
        envelope.v,
        envelope.at,
        visible(envelope.actor),
        carried.stored,
        _visible_data(bytes(envelope.data).decode()),
        carried.hash,
        f"{month[0]}-01" if month else _NO_MONTH,
    )


def _visible_data(data: str) -> str:
    """Return the JSON with its strings in visible form for PostgreSQL; the bytes keep the text."""
    if not _CHANGED.search(data):
        return data
    return _STRING.sub(
        lambda text: json.dumps(visible(json.loads(text[0])), ensure_ascii=False), data
    )
