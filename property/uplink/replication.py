"""Filling the hub from a log: where to go on, what to send, what an answer means. Pure.

    what the hub holds of the table    the log has there      so
    nothing                            -                      from the first event
    an event                           the same event         behind it
    an event                           another, or none       the chain has forked: stop

The log is the source and the hub a carrier: a hub that holds less than it did is filled again, and
one that holds what the log has not is never overwritten, since one of the two was tampered with, or
a log was brought back from an old copy, and a person must look. Several events go as one atomic
batch (ADR-50 of NATS), all or none. Every message names the sequence that the hub's newest one of
the table must have: what was sent twice, late or by somebody else is refused.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from events.errors import InputError
from property.hub.replicated_event import MESSAGE_ID, Carried, Head, carried_of, headers_of

__all__ = [
    "BATCH_BYTES",
    "BATCH_EVENTS",
    "DUPLICATE_CODES",
    "EXPECTED_SEQUENCE",
    "SEQUENCE_CODES",
    "Accepted",
    "Held",
    "Message",
    "Place",
    "Refused",
    "Stopped",
    "answer_of",
    "go_on",
    "held_of",
    "held_sequence",
    "messages",
    "taken",
]

# The server takes a thousand messages in a batch. Half of that, and no more bytes than pass a line
# of half a megabit before the server gives a batch up (10 s without a message of it).
BATCH_EVENTS: Final = 500
BATCH_BYTES: Final = 256 * 1024

# The server's codes: another message is the subject's newest than the one that was named ...
SEQUENCE_CODES: Final = frozenset({10071, 10164})
# ... and one with this id was there a moment ago.
DUPLICATE_CODES: Final = frozenset({10201})

EXPECTED_SEQUENCE: Final = "Nats-Expected-Last-Subject-Sequence"
_SEQUENCE: Final = "Nats-Sequence"
_SUBJECT: Final = "Nats-Subject"
_BATCH: Final = "Nats-Batch-Id"
_BATCH_SEQUENCE: Final = "Nats-Batch-Sequence"
_COMMIT: Final = "Nats-Batch-Commit"


class Place(NamedTuple):
    """How far the hub is filled: the chain's head there, and the stream's sequence of it."""

    head: Head
    sequence: int


class Held(NamedTuple):
    """A table's newest event on the hub, and its sequence in the stream."""

    carried: Carried
    sequence: int


class Stopped(NamedTuple):
    """Why a table's feed has stopped until a person has looked.

    Args:
        code: `fork`, the hub holds what the log has not; `gap`, the log lacks an event or its
            chain breaks; `forged`, what the hub holds is no event at all.
        position: where, 0 where nobody can say.
        text: one line.
    """

    code: Literal["fork", "gap", "forged"]
    position: int
    text: str


class Message(NamedTuple):
    """What is published: headers and body."""

    headers: dict[str, str]
    body: bytes


class Accepted(NamedTuple):
    """The hub has it: the sequence of the last message."""

    sequence: int


class Refused(NamedTuple):
    """The hub has not taken it: the server's code, and its words."""

    code: int
    text: str


class _Error(msgspec.Struct):
    err_code: int = 0
    description: str = ""


class _Answer(msgspec.Struct):
    seq: int = 0
    duplicate: bool = False
    error: _Error | None = None


_answers: Final = msgspec.json.Decoder(_Answer)


def held_of(origin: str, headers: Mapping[str, str], body: bytes) -> Held:
    """Read the hub's answer to what its newest event of a table is.

    Raises:
        InputError: it is no event of that table.
    """
    carried = carried_of(headers.get(_SUBJECT, ""), headers, body)
    if carried.origin != origin:
        raise InputError(f"asked for {origin}, the hub answers with {carried.origin}")
    return Held(carried, held_sequence(headers))


def held_sequence(headers: Mapping[str, str]) -> int:
    """The stream's sequence of what the hub answers with.

    Raises:
        InputError: there is none.
    """
    sequence = headers.get(_SEQUENCE, "")
    if not sequence.isdecimal():
        raise InputError(f"header {_SEQUENCE} {sequence[:20]!r} is no sequence")
    return int(sequence)


def go_on(held: Held, own: tuple[bytes, bytes] | None) -> Place | Stopped:
    """Where to go on, or why not.

    Args:
        held: the hub's newest event of the table.
        own: the stored bytes and the hash that the log has at its position; None for nothing.
    """
    carried, place = held.carried, held.carried.position
    if own is None:
        return Stopped("fork", place, f"the hub holds position {place}, and the log ends before it")
    if own != (carried.stored, carried.hash):
        return Stopped("fork", place, f"position {place} is another event on the hub than here")
    return Place(carried.head, held.sequence)


def taken(rows: Iterable[tuple[int, bytes, bytes]], origin: str) -> list[Carried]:
    """As many of a log's rows as go in one batch: one at least, where there is one."""
    found: list[Carried] = []
    size = 0
    for position, stored, digest in rows:
        size += len(stored)
        if found and size > BATCH_BYTES:
            break
        found.append(Carried(origin, position, stored, digest))
        if len(found) == BATCH_EVENTS:
            break
    return found


def messages(
    events: Sequence[Carried], sequence: int, batch: str, *, ids: bool = True
) -> Iterator[Message]:
    """What to publish, in order; the last is to be answered.

    Args:
        events: that follow one another.
        sequence: of the newest that the hub holds of this table; 0 for none.
        batch: an id that no batch had before.
        ids: whether with message ids. Without, an id that somebody else has used does not matter.

    Raises:
        UnreadableEvent: one is no event.
    """
    for number, event in enumerate(events, start=1):
        headers = headers_of(event)
        if not ids:
            del headers[MESSAGE_ID]
        if number == 1:
            headers[EXPECTED_SEQUENCE] = str(sequence)
        if len(events) > 1:
            headers |= {_BATCH: batch, _BATCH_SEQUENCE: str(number)}
            if number == len(events):
                headers[_COMMIT] = "1"
        yield Message(headers, event.stored)


def answer_of(data: bytes) -> Accepted | Refused:
    """Read what the hub says to a message.

    A duplicate, which the server acknowledges like the first, counts as refused.

    Raises:
        InputError: it is no such answer.
    """
    try:
        answer = _answers.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"the hub's answer cannot be read: {error}") from error
    if answer.error is not None:
        return Refused(answer.error.err_code, answer.error.description)
    if answer.duplicate:
        return Refused(next(iter(DUPLICATE_CODES)), "a message with this id was there")
    return Accepted(answer.seq)
