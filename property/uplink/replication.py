"""Replication from a log to the hub: where to resume, what to send, what an answer means. Pure.

    what the hub holds of the table    the log has there      so
    nothing                            -                      from the first event
    an event                           the same event         after it
    an event                           another, or none       the chain has forked: stop

The log is the source and the hub a carrier. The uplink fills a hub again that has lost events. It
never overwrites an event that the log lacks: somebody has tampered with one of the two or restored
an old log, and a person must inspect them.

The uplink publishes several events as one atomic batch (ADR-50 of NATS), all or none. Every message
names the sequence that the table's newest message on the hub must have. The hub therefore refuses
messages that were sent twice, late or by somebody else.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from events.errors import InputError, MalformedJson
from events.free_text import whole_number
from events.json_form import decode_json
from events.money import MAX_AMOUNT
from property.hub.replicated_event import (
    MESSAGE_ID,
    Head,
    ReplicatedEvent,
    parse_replicated_event,
    replication_headers,
)

__all__ = [
    "BATCH_BYTES",
    "BATCH_EVENTS",
    "DUPLICATE_CODES",
    "EXPECTED_SEQUENCE",
    "SEQUENCE_CODES",
    "FeedStopped",
    "HeldEvent",
    "HubMessage",
    "HubPosition",
    "PublishAccepted",
    "PublishRefused",
    "batch_messages",
    "held_sequence",
    "parse_held_event",
    "parse_publish_answer",
    "resume_position",
    "take_batch",
]

# The server accepts a thousand messages in a batch; this is half. The bytes must pass a line of
# half a megabit before the server drops the batch (10 s without a message of it).
BATCH_EVENTS: Final = 500
BATCH_BYTES: Final = 256 * 1024

# The server's codes: the subject's newest message is not the one that was named ...
SEQUENCE_CODES: Final = frozenset({10071, 10164})
# ... and the stream has recently stored a message with this id.
DUPLICATE_CODES: Final = frozenset({10201})

EXPECTED_SEQUENCE: Final = "Nats-Expected-Last-Subject-Sequence"
_SEQUENCE: Final = "Nats-Sequence"
_SUBJECT: Final = "Nats-Subject"
_BATCH: Final = "Nats-Batch-Id"
_BATCH_SEQUENCE: Final = "Nats-Batch-Sequence"
_COMMIT: Final = "Nats-Batch-Commit"


class HubPosition(NamedTuple):
    """The table's position on the hub: the chain's head, and its sequence in the stream."""

    head: Head
    sequence: int


class HeldEvent(NamedTuple):
    """A table's newest event on the hub, and its sequence in the stream."""

    carried: ReplicatedEvent
    sequence: int


class FeedStopped(NamedTuple):
    """Why a table's feed has stopped until a person inspects it.

    Args:
        code: `fork`, the hub holds an event that the log lacks; `gap`, the log lacks an event or
            its chain breaks; `forged`, the hub holds something that is no event.
        position: in the log; 0 if unknown.
        text: one line for a person.
    """

    code: Literal["fork", "gap", "forged"]
    position: int
    text: str


class HubMessage(NamedTuple):
    """A message to publish: headers and body."""

    headers: dict[str, str]
    body: bytes


class PublishAccepted(NamedTuple):
    """The hub has stored the messages; the sequence of the last one."""

    sequence: int


class PublishRefused(NamedTuple):
    """The hub has refused a message; the server's code and text."""

    code: int
    text: str


class _Error(msgspec.Struct):
    err_code: int = 0
    description: str = ""


class _Answer(msgspec.Struct):
    seq: int = 0
    duplicate: bool = False
    error: _Error | None = None


def parse_held_event(origin: str, headers: Mapping[str, str], body: bytes) -> HeldEvent:
    """Parse the hub's answer to the request for a table's newest event.

    Raises:
        InputError: it is no event of that table.
    """
    carried = parse_replicated_event(headers.get(_SUBJECT, ""), headers, body)
    if carried.origin != origin:
        raise InputError(f"asked for {origin}, the hub answers with {carried.origin}")
    return HeldEvent(carried, held_sequence(headers))


def held_sequence(headers: Mapping[str, str]) -> int:
    """Return the stream sequence in the headers of the hub's answer.

    Raises:
        InputError: there is none.
    """
    text = headers.get(_SEQUENCE, "")
    sequence = whole_number(text, MAX_AMOUNT)
    if sequence is None:
        raise InputError(f"header {_SEQUENCE} {text[:20]!r} is no sequence")
    return sequence


def resume_position(held: HeldEvent, own: tuple[bytes, bytes] | None) -> HubPosition | FeedStopped:
    """Return the position to resume from, or why the feed stops.

    Args:
        held: the table's newest event on the hub.
        own: the log's stored bytes and hash at that position; None if the log has none.
    """
    carried, place = held.carried, held.carried.position
    if own is None:
        return FeedStopped(
            "fork", place, f"the hub holds position {place}, and the log ends before it"
        )
    if own != (carried.stored, carried.hash):
        return FeedStopped("fork", place, f"position {place} is another event on the hub than here")
    return HubPosition(carried.head, held.sequence)


def take_batch(rows: Iterable[tuple[int, bytes, bytes]], origin: str) -> list[ReplicatedEvent]:
    """Return as many of a log's rows as fit in one batch, at least one if there is one."""
    found: list[ReplicatedEvent] = []
    size = 0
    for position, stored, digest in rows:
        size += len(stored)
        if found and size > BATCH_BYTES:
            break
        found.append(ReplicatedEvent(origin, position, stored, digest))
        if len(found) == BATCH_EVENTS:
            break
    return found


def batch_messages(
    events: Sequence[ReplicatedEvent], sequence: int, batch: str, *, ids: bool = True
) -> Iterator[HubMessage]:
    """Yield the messages of a batch in order; the hub answers the last one.

    Args:
        events: consecutive.
        sequence: that of the table's newest event on the hub; 0 for none.
        batch: an id that no batch has used before.
        ids: whether to add message ids. False ignores ids that somebody else has used.

    Raises:
        UnreadableEvent: one is no event.
    """
    for number, event in enumerate(events, start=1):
        headers = replication_headers(event)
        if not ids:
            del headers[MESSAGE_ID]
        if number == 1:
            headers[EXPECTED_SEQUENCE] = str(sequence)
        if len(events) > 1:
            headers |= {_BATCH: batch, _BATCH_SEQUENCE: str(number)}
            if number == len(events):
                headers[_COMMIT] = "1"
        yield HubMessage(headers, event.stored)


def parse_publish_answer(data: bytes) -> PublishAccepted | PublishRefused:
    """Parse the hub's answer to a message.

    A duplicate counts as refused, although the server acknowledges it.

    Raises:
        InputError: it is no such answer.
    """
    try:
        answer = decode_json(data, _Answer)
    except MalformedJson as error:
        raise InputError(f"the hub's answer cannot be read: {error}") from error
    if answer.error is not None:
        return PublishRefused(answer.error.err_code, answer.error.description)
    if answer.duplicate:
        return PublishRefused(next(iter(DUPLICATE_CODES)), "a message with this id was there")
    return PublishAccepted(answer.seq)
