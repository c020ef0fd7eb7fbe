"""Decodes a published or stored event for the ledger, and checks that it continues the chain. Pure.

Every event carries the hash of the chain, and the ledger keeps the newest. A log that somebody cut,
rewrote or restored from an older copy therefore fails at its next event, before anything is booked.
Sealed events hide the bytes that are hashed: the ledger accepts their hash, and the next event
proves it.
"""

from typing import Final

from msgspec import Struct

from cage.ledger.posting import POSTED_EVENT_TYPES
from events.errors import LedgerError, MalformedJson, UnreadableEvent
from events.json_form import decode_json
from events.proof.chain import next_hash
from events.types import (
    Envelope,
    PublishedEnvelope,
    TableEvent,
    decode_data,
    decode_envelope,
    with_hash,
)
from events.types.registry import TABLE_EVENTS

__all__ = ["LedgerEvent", "check_continues_chain", "decode_published_event", "decode_stored_event"]

_SEALED: Final = b"null"
_KNOWN: Final = frozenset(name for name, _ in TABLE_EVENTS)


class LedgerEvent(Struct, frozen=True):
    """One event of a log, as the ledger reads it.

    Args:
        stream: `<site>/<table>`.
        position: the event's position in the log.
        event_id: the event's id.
        at: when the table appended it.
        data: the event if it can move value; else None.
        stored: the hashed bytes; None if they were sealed.
        hash: the chain's hash up to and including this event.
        problem: why this build cannot read the event; empty if it can.
    """

    stream: str
    position: int
    event_id: str
    at: str
    data: TableEvent | None
    stored: bytes | None
    hash: bytes
    problem: str = ""


def decode_published_event(payload: bytes) -> LedgerEvent:
    """Decode an event from the bus.

    Raises:
        UnreadableEvent: the payload is no event.
    """
    try:
        event = decode_json(payload, PublishedEnvelope)
        digest = bytes.fromhex(event.hash)
    except (MalformedJson, ValueError) as error:
        raise UnreadableEvent(f"no event: {error}") from error
    stored: bytes | None = payload[: -len(with_hash(b" ", digest))] + b"}"
    if bytes(event.data) == _SEALED:
        stored = None
    return _fact(event, stored, digest)


def decode_stored_event(stored: bytes, digest: bytes) -> LedgerEvent:
    """Decode an event from the log.

    Raises:
        UnreadableEvent: the bytes are no event.
    """
    return _fact(decode_envelope(stored), stored, digest)


def _fact(event: Envelope, stored: bytes | None, digest: bytes) -> LedgerEvent:
    """Keep the problem of an unreadable event, so that booking stops at its position only."""
    data, problem = None, ""
    if event.type not in _KNOWN:
        problem = f"its type {event.type!r} is unknown"
    elif event.type in POSTED_EVENT_TYPES:
        try:
            data = decode_data(event)
        except UnreadableEvent as error:
            problem = str(error)
    return LedgerEvent(
        event.stream, event.position, event.event_id, event.at, data, stored, digest, problem
    )


def check_continues_chain(stream: str, head: bytes, fact: LedgerEvent) -> None:
    """Check that the event is this table's and continues the chain.

    Args:
        stream: the `<site>/<table>` of the book.
        head: the chain's hash at the event before.
        fact: the event.

    Raises:
        LedgerError: it is another table's, it does not follow from what is booked, or this build
            cannot read it.
    """
    if fact.stream != stream:
        raise LedgerError(f"event {fact.position} is of {fact.stream}, and the book is {stream}'s")
    if fact.stored is not None and next_hash(head, fact.stored) != fact.hash:
        raise LedgerError(
            f"event {fact.position} does not follow what is booked: the log was cut, restored from "
            "an older copy, or rewritten since; nothing more is booked until a person has looked"
        )
    if fact.problem:
        raise LedgerError(f"event {fact.position} cannot be read by this build: {fact.problem}")
