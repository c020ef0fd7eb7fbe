"""The envelope: how an event is encoded for the log and the bus. The stored bytes are the truth.

Stored bytes are the envelope's JSON without `hash`; hashes are of those bytes, never of a
re-encoding. Unknown types, newer versions and unknown fields are refused. Older versions are upcast
to the newest on reading (`events.types.upcasting`).
"""

import hashlib
from typing import Final, Literal, Union

import msgspec
from msgspec import Raw, Struct

from events.errors import UnreadableEvent
from events.json_form import UNDECODABLE
from events.types.earlier import UPCASTS
from events.types.registry import KINDS
from events.types.table import TableEvent
from events.types.upcasting import EventReader

__all__ = [
    "MAX_EVENT_BYTES",
    "Entry",
    "Envelope",
    "EventIds",
    "PublishedEnvelope",
    "decode_data",
    "decode_entry",
    "decode_envelope",
    "encode_envelope",
    "event_id",
    "sealed_bytes",
    "with_hash",
]

# Brokers are configured for messages of 8 MB; half of that leaves room for any envelope.
MAX_EVENT_BYTES: Final = 4 * 1024 * 1024


class Envelope(
    Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One event with what is known about it.

    Args:
        event_id: first 32 hex digits of SHA-256 over cause and index.
        stream: `<site>/<table>`.
        position: 1, 2, 3... without gaps.
        type: the event type's name.
        v: its integer version.
        at: when it was appended, RFC 3339 with nine decimals.
        actor: who: a user, `user:person` through a delegate, `shoe` or `core`.
        cause: `<user>/<transaction>` or `<journal>/<seq>`.
        correlation: the coup's id, or empty.
        data: the event's fields.
        salt: random hex digits in an event that is published sealed, so that nobody finds its
            contents by trying which have its hash; empty in others, and in logs of before.
    """

    event_id: str
    stream: str
    position: int
    type: str
    v: int
    at: str
    actor: str
    cause: str
    correlation: str
    data: Raw
    salt: str = ""


class PublishedEnvelope(Envelope, frozen=True, gc=False, kw_only=True):
    """An event as it travels on the bus.

    Args:
        hash: the chain's hash up to and including this event, hex.
    """

    hash: str


class Entry(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """An envelope with its event decoded at the newest version; the event has the type.

    Args:
        event_id: as in `Envelope`, like all fields up to `correlation`.
        stream: `<site>/<table>`.
        position: 1, 2, 3...
        v: the version that was stored.
        at: when it was appended.
        actor: the user or service.
        cause: the request or the shoe event that caused it.
        correlation: the coup's id, or empty.
        data: the event.
        salt: as in `Envelope`.
    """

    event_id: str
    stream: str
    position: int
    v: int
    at: str
    actor: str
    cause: str
    correlation: str
    data: TableEvent
    salt: str = ""


def _entry_of(kind: type[TableEvent]) -> type[Struct]:
    """Return the entry type of one event type's newest version, tagged by the envelope's `type`."""
    fields = [("v", Literal[kind.VERSION]), ("data", kind)]
    return msgspec.defstruct(
        f"{kind.__name__}Entry", fields, bases=(Entry,), tag_field="type", tag=kind.TYPE
    )


_encoder: Final = msgspec.json.Encoder()
_any_json: Final = msgspec.json.Decoder()
_envelopes: Final = msgspec.json.Decoder(Envelope)
_events: Final = EventReader(KINDS, UPCASTS)
_entries: Final[msgspec.json.Decoder[Entry]] = msgspec.json.Decoder(
    Union[tuple(map(_entry_of, KINDS))]  # noqa: UP007 - of a tuple that is made here
)


def event_id(cause: str, index: int) -> str:
    """Return an event's id; the same cause and index always give the same id."""
    return hashlib.sha256(f"{cause}\n{index}".encode()).hexdigest()[:32]


class EventIds:
    """Checks the ids of successive events, of which the first begins a transaction.

    Attributes:
        begins: position of the first event of the newest transaction. A transaction is a run of
            events of one cause: a cause that comes back begins another.
    """

    def __init__(self) -> None:
        self._cause: str | None = None
        self.begins = 0

    def follows(self, envelope: Envelope | Entry) -> bool:
        """Return whether the next event's id follows from its cause and its place in that."""
        if envelope.cause != self._cause:
            self._cause, self.begins = envelope.cause, envelope.position
        return envelope.event_id == event_id(envelope.cause, envelope.position - self.begins)


def encode_envelope(  # noqa: PLR0913 - each is a field of the envelope
    event: TableEvent,
    *,
    index: int,
    stream: str,
    position: int,
    at: str,
    actor: str,
    cause: str,
    correlation: str,
    salt: str = "",
) -> bytes:
    """Return the bytes to store for `event`, the `index`-th of its cause."""
    return _encoder.encode(
        Envelope(
            event_id=event_id(cause, index),
            stream=stream,
            position=position,
            type=event.TYPE,
            v=event.VERSION,
            at=at,
            actor=actor,
            cause=cause,
            correlation=correlation,
            data=Raw(_encoder.encode(event)),
            salt=salt,
        )
    )


def decode_envelope(stored: bytes) -> Envelope:
    """Decode the envelope around an event.

    Raises:
        UnreadableEvent: the bytes are not an envelope, or not in the form of stored events.
    """
    try:
        _require_stored_form(stored)
        return _envelopes.decode(stored)
    except UNDECODABLE as error:
        raise UnreadableEvent(f"not an envelope: {error}") from error


def _require_stored_form(stored: bytes) -> None:
    """Refuse a key that stands twice, of which readers would take one or the other.

    JSON in the form in which this module writes it comes out of decoding and encoding as it was.
    """
    if _encoder.encode(_any_json.decode(stored)) != stored:
        raise UnreadableEvent("a key stands twice, or it is in another form than stored events are")


def decode_data(envelope: Envelope) -> TableEvent:
    """Decode the event itself; upcast one of an older version to the newest.

    Raises:
        UnreadableEvent: unknown type, newer version, or fields that are not the version's.
    """
    return _events.read(envelope.type, envelope.v, envelope.data)


def decode_entry(stored: bytes) -> Entry:
    """Decode an envelope and its event, in one pass if the event is of the newest version.

    Raises:
        UnreadableEvent: as `decode_envelope` and `decode_data`.
    """
    try:
        _require_stored_form(stored)
        return _entries.decode(stored)
    except UNDECODABLE:
        envelope = decode_envelope(stored)
    return Entry(
        event_id=envelope.event_id,
        stream=envelope.stream,
        position=envelope.position,
        v=envelope.v,
        at=envelope.at,
        actor=envelope.actor,
        cause=envelope.cause,
        correlation=envelope.correlation,
        data=decode_data(envelope),
        salt=envelope.salt,
    )


def with_hash(stored: bytes, digest: bytes) -> bytes:
    """Return the message for the bus: the stored bytes with `hash` as an additional last field."""
    return b'%b,"hash":"%b"}' % (stored[:-1], digest.hex().encode())


def sealed_bytes(stored: bytes) -> bytes:
    """Return the envelope with `data` null and no salt, for events that displays must not see."""
    envelope = msgspec.structs.replace(decode_envelope(stored), data=Raw(b"null"), salt="")
    return _encoder.encode(envelope)
