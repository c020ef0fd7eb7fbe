"""What the table publishes, as the ledger reads it: one event, and whether it follows. Pure.

The chain's hash travels with every event. The ledger keeps the newest, so that a log that was cut,
restored from an older copy or rewritten is noticed at its next event, before anything is booked.
Sealed events hide what is hashed: their hash is believed, and the next event proves it.
"""

from typing import Final

import msgspec
from msgspec import Struct

from cage.ledger.posting import BOOKED
from events.errors import LedgerError, UnreadableEvent
from events.proof.chain import next_hash
from events.types.envelope import Envelope, decode_data, decode_envelope, with_hash
from events.types.registry import TABLE_EVENTS
from events.types.table import TableEvent

__all__ = ["Fact", "check_follows", "fact_of_message", "fact_of_stored"]

_SEALED: Final = b"null"
_KNOWN: Final = frozenset(name for name, _ in TABLE_EVENTS)


class Fact(Struct, frozen=True):
    """One event of a log.

    Args:
        stream: `<site>/<table>`.
        position: in it.
        event_id: its id.
        at: when it was appended.
        data: the event, where it can move value; else None.
        stored: the bytes that were hashed; None where they were sealed.
        hash: the chain up to and with it.
        problem: why this build cannot read it; empty where it can.
    """

    stream: str
    position: int
    event_id: str
    at: str
    data: TableEvent | None
    stored: bytes | None
    hash: bytes
    problem: str = ""


class _Published(Envelope, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An event as it travels: the stored envelope and its hash."""

    hash: str


_published: Final = msgspec.json.Decoder(_Published)


def fact_of_message(payload: bytes) -> Fact:
    """An event as the bus brings it.

    Raises:
        UnreadableEvent: it is none.
    """
    try:
        event = _published.decode(payload)
        digest = bytes.fromhex(event.hash)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise UnreadableEvent(f"no event: {error}") from error
    stored: bytes | None = payload[: -len(with_hash(b" ", digest))] + b"}"
    if bytes(event.data) == _SEALED:
        stored = None
    return _fact(event, stored, digest)


def fact_of_stored(stored: bytes, digest: bytes) -> Fact:
    """An event as the log holds it.

    Raises:
        UnreadableEvent: the bytes are none.
    """
    return _fact(decode_envelope(stored), stored, digest)


def _fact(event: Envelope, stored: bytes | None, digest: bytes) -> Fact:
    """What cannot be read stops whoever comes to its place, and nobody before."""
    data, problem = None, ""
    if event.type not in _KNOWN:
        problem = f"its type {event.type!r} is unknown"
    elif event.type in BOOKED:
        try:
            data = decode_data(event)
        except UnreadableEvent as error:
            problem = str(error)
    return Fact(
        event.stream, event.position, event.event_id, event.at, data, stored, digest, problem
    )


def check_follows(stream: str, head: bytes, fact: Fact) -> None:
    """Whether the event is this table's and follows what was read before it.

    Args:
        stream: whose book it is.
        head: the chain up to the event before.
        fact: the event.

    Raises:
        LedgerError: it is another table's, the past that it stands on is not the one booked, or
            this build cannot read it.
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
