"""A replicated event: its form on the hub, and the check that it continues a chain. Pure.

The message's body is the stored bytes; its headers hold the chain's position and hash. A receiver
that has a table's head need not trust the hub or the sender: the hash of the next event follows
from the head and the bytes.
"""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple, Self

from events.errors import InputError
from events.proof.chain import HASH_BYTES, next_hash, origin_hash
from events.types import decode_envelope
from property.hub.subjects import continued_origin, origin_of

__all__ = [
    "HASH",
    "MESSAGE_ID",
    "POSITION",
    "Head",
    "HeadRelation",
    "ReplicatedEvent",
    "parse_replicated_event",
    "relation_to_head",
    "replication_headers",
]

# The headers.
MESSAGE_ID: Final = "Nats-Msg-Id"
POSITION: Final = "Bac-Position"
HASH: Final = "Bac-Hash"

# Positions stay within 2^53 - 1, as all integers of the project do.
_POSITION: Final = re.compile(r"[1-9][0-9]{0,15}\Z")
_HEX: Final = re.compile(rf"[0-9a-f]{{{HASH_BYTES * 2}}}\Z")


class Head(NamedTuple):
    """The head of a table's chain: the newest position, 0 for none, and the hash there."""

    position: int
    hash: bytes

    @classmethod
    def beginning(cls, origin: str) -> Self:
        """Return the head before a log's first event."""
        return cls(0, origin_hash(origin))

    @classmethod
    def beginning_of(cls, event: "ReplicatedEvent") -> Self:
        """Return the head before a log's first event; of a log that goes on elsewhere, its own."""
        own, before = cls.beginning(event.origin), cls.beginning(continued_origin(event.origin))
        return before if next_hash(before.hash, event.stored) == event.hash else own


class ReplicatedEvent(NamedTuple):
    """An event as the hub carries it.

    Args:
        origin: the log's `<site>/<table>`.
        position: in that log, from 1.
        stored: the event's bytes in the log.
        hash: the chain's hash up to and including the event, as its sender claims.
    """

    origin: str
    position: int
    stored: bytes
    hash: bytes

    @property
    def head(self) -> Head:
        """The head after this event."""
        return Head(self.position, self.hash)


class HeadRelation(Enum):
    """The relation of a replicated event to a head."""

    NEXT = "next"  # it continues the chain
    DUPLICATE = "duplicate"  # the receiver has it already
    GAP = "gap"  # an event before it is missing
    FORK = "fork"  # it has the head's position and another hash
    FORGED = "forged"  # its hash does not follow from the head and its bytes


def relation_to_head(head: Head, carried: ReplicatedEvent) -> HeadRelation:
    """Return the relation of an event to a head.

    An event before the head counts as a duplicate: only a receiver that keeps the past can compare
    it.
    """
    if carried.position > head.position + 1:
        return HeadRelation.GAP
    if carried.position == head.position + 1:
        honest = next_hash(head.hash, carried.stored) == carried.hash
        return HeadRelation.NEXT if honest else HeadRelation.FORGED
    if carried.position == head.position and carried.hash != head.hash:
        return HeadRelation.FORK
    return HeadRelation.DUPLICATE


def replication_headers(carried: ReplicatedEvent) -> dict[str, str]:
    """Return the headers to publish an event with.

    The message's id is the log's origin and the event's id. An event's id derives from its cause,
    so two tables may use the same one, such as for their third tick of a clock.

    Raises:
        UnreadableEvent: the stored bytes are no event.
    """
    return {
        MESSAGE_ID: f"{carried.origin}/{decode_envelope(carried.stored).event_id}",
        POSITION: str(carried.position),
        HASH: carried.hash.hex(),
    }


def parse_replicated_event(
    subject: str, headers: Mapping[str, str] | None, body: bytes
) -> ReplicatedEvent:
    """Parse a message of the hub.

    Args:
        subject: as published or as stored.
        headers: None if the message has none.
        body: the stored bytes.

    Raises:
        InputError: it is no replicated event; the text gives the reason.
    """
    origin, headers = origin_of(subject), headers or {}
    position, digest = headers.get(POSITION), headers.get(HASH)
    if position is None or not _POSITION.match(position):
        raise InputError(f"{subject}: header {POSITION} {(position or '')[:20]!r} is no position")
    if digest is None or not _HEX.match(digest):
        raise InputError(f"{subject}: header {HASH} {(digest or '')[:20]!r} is no hash")
    return ReplicatedEvent(origin, int(position), body, bytes.fromhex(digest))
