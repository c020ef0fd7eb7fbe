"""A stored event on its way through the hub, and whether it goes on from what is known. Pure.

The body is the stored bytes and nothing else; the chain's position and hash stand in headers.
Whoever holds a table's head needs neither the hub's word nor the sender's: the hash of the next
event follows from the head and the bytes.
"""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple, Self

from events.errors import InputError
from events.proof.chain import HASH_BYTES, next_hash, origin_hash
from events.types.envelope import decode_envelope
from property.hub.subjects import origin_of

__all__ = [
    "HASH",
    "MESSAGE_ID",
    "POSITION",
    "Carried",
    "Head",
    "Verdict",
    "carried_of",
    "follows",
    "headers_of",
]

# The headers.
MESSAGE_ID: Final = "Nats-Msg-Id"
POSITION: Final = "Bac-Position"
HASH: Final = "Bac-Hash"

# Positions stay within 2^53 - 1, as all integers of ours do.
_POSITION: Final = re.compile(r"[1-9][0-9]{0,15}\Z")
_HEX: Final = re.compile(rf"[0-9a-f]{{{HASH_BYTES * 2}}}\Z")


class Head(NamedTuple):
    """How far a table's chain is known: the newest position, 0 for none, and the hash there."""

    position: int
    hash: bytes

    @classmethod
    def beginning(cls, origin: str) -> Self:
        """The head before a log's first event."""
        return cls(0, origin_hash(origin))


class Carried(NamedTuple):
    """An event as the hub carries it.

    Args:
        origin: the log's, `<site>/<table>`.
        position: in that log, from 1.
        stored: its bytes, as the log has them.
        hash: the chain's hash up to and with it, as its sender says.
    """

    origin: str
    position: int
    stored: bytes
    hash: bytes

    @property
    def head(self) -> Head:
        """The head that it makes."""
        return Head(self.position, self.hash)


class Verdict(Enum):
    """What a carried event is to somebody who knows a head."""

    NEXT = "next"  # it goes on from the head
    DUPLICATE = "duplicate"  # it was there before
    GAP = "gap"  # something before it is missing
    FORK = "fork"  # at the head's position there is another hash
    FORGED = "forged"  # its hash does not follow from the head and its bytes


def follows(head: Head, carried: Carried) -> Verdict:
    """Whether an event goes on from a head.

    What lies before the head is taken for a duplicate: only who keeps the past can compare it.
    """
    if carried.position > head.position + 1:
        return Verdict.GAP
    if carried.position == head.position + 1:
        honest = next_hash(head.hash, carried.stored) == carried.hash
        return Verdict.NEXT if honest else Verdict.FORGED
    if carried.position == head.position and carried.hash != head.hash:
        return Verdict.FORK
    return Verdict.DUPLICATE


def headers_of(carried: Carried) -> dict[str, str]:
    """The headers that an event is published with.

    The message's id is the event's, behind the log's origin: an event's id comes of its cause, and
    two tables may have the same one, such as their third tick of a clock.

    Raises:
        UnreadableEvent: the stored bytes are no event.
    """
    return {
        MESSAGE_ID: f"{carried.origin}/{decode_envelope(carried.stored).event_id}",
        POSITION: str(carried.position),
        HASH: carried.hash.hex(),
    }


def carried_of(subject: str, headers: Mapping[str, str] | None, body: bytes) -> Carried:
    """Read a message.

    Args:
        subject: as said or as stored.
        headers: the message's; None where it has none.
        body: the stored bytes.

    Raises:
        InputError: it is none of ours; says why.
    """
    origin, headers = origin_of(subject), headers or {}
    position, digest = headers.get(POSITION), headers.get(HASH)
    if position is None or not _POSITION.match(position):
        raise InputError(f"{subject}: header {POSITION} {(position or '')[:20]!r} is no position")
    if digest is None or not _HEX.match(digest):
        raise InputError(f"{subject}: header {HASH} {(digest or '')[:20]!r} is no hash")
    return Carried(origin, int(position), body, bytes.fromhex(digest))
