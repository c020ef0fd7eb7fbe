"""An uplink's client of the hub: requests and publications of one table, on one connection."""

import secrets
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
from nats.aio.client import Client
from nats.errors import Error as NatsError

from events.errors import BusError, InputError
from events.proof.checkpoint import parse_checkpoint
from property.hub.replicated_event import ReplicatedEvent
from property.hub.subjects import (
    EditionKind,
    checkpoint_subject,
    edition_subject,
    event_subject,
    feed_subject,
    held_checkpoint_subject,
    held_event_subject,
    split_origin,
)
from property.hub.uplink_status import UplinkStatus
from property.uplink.replication import (
    EXPECTED_SEQUENCE,
    SEQUENCE_CODES,
    HeldEvent,
    HubMessage,
    PublishAccepted,
    PublishRefused,
    batch_messages,
    held_sequence,
    parse_held_event,
    parse_publish_answer,
)

__all__ = ["HeldCheckpoint", "HubClient"]

# Seconds to wait for an answer: a node that hangs gives none. An election may take longer.
_ANSWER_S: Final = 4.0
# The slowest line that the uplink supports, bytes a second.
_THINNEST: Final = 16 * 1024
_STATUS: Final = "Status"
_NOT_FOUND: Final = "404"


class HeldCheckpoint(NamedTuple):
    """The table's newest checkpoint on the hub: its sequence, and how many events it covers."""

    sequence: int
    size: int


class HubClient:
    """The hub as one table sees it. The library's exceptions pass through.

    Args:
        connection: with the table's login.
        origin: `<site>/<table>`.
    """

    def __init__(self, connection: Client, origin: str) -> None:
        self._connection, self._origin = connection, origin
        self._names = names = split_origin(origin)
        self._event, self._held_event = event_subject(*names), held_event_subject(*names)
        self._feed = feed_subject(*names)
        self._note, self._held_checkpoint = (
            checkpoint_subject(*names),
            held_checkpoint_subject(*names),
        )

    @property
    def lost(self) -> bool:
        """Whether the connection is lost."""
        return self._connection.is_closed

    async def held(self) -> HeldEvent | None:
        """Return the table's newest event on the hub, or None.

        Raises:
            InputError: the hub holds something else there.
            BusError: the hub cannot answer.
        """
        answer = await self._asked(self._held_event)
        return (
            None if answer is None else parse_held_event(self._origin, answer.headers, answer.body)
        )

    async def note(self) -> HeldCheckpoint:
        """Return the table's newest checkpoint; an unreadable one covers no events.

        Raises:
            InputError: the answer is no message of a stream.
            BusError: the hub cannot answer.
        """
        answer = await self._asked(self._held_checkpoint)
        if answer is None:
            return HeldCheckpoint(0, 0)
        sequence = held_sequence(answer.headers)
        try:
            checkpoint, _ = parse_checkpoint(answer.body)
        except InputError:
            return HeldCheckpoint(sequence, 0)
        return HeldCheckpoint(sequence, checkpoint.size)

    async def say(
        self, events: Sequence[ReplicatedEvent], sequence: int, *, ids: bool = True
    ) -> PublishAccepted | PublishRefused:
        """Publish consecutive events: all of them or none.

        Args:
            events: at least one.
            sequence: that of the table's newest event on the hub.
            ids: see `property.uplink.replication.batch_messages`.

        Raises:
            InputError: the answer is not the hub's.
            UnreadableEvent: one is no event.
        """
        batch = secrets.token_hex(16)
        *first, last = batch_messages(events, sequence, batch, ids=ids)
        for each in first:
            await self._connection.publish(self._event, each.body, headers=each.headers)
        size = sum(len(each.stored) for each in events)
        return await self._answered(self._event, last, size)

    async def publish_checkpoint(
        self, note: bytes, sequence: int
    ) -> PublishAccepted | PublishRefused:
        """Publish a checkpoint.

        Raises:
            InputError: the answer is not the hub's.
        """
        headers = {EXPECTED_SEQUENCE: str(sequence)}
        return await self._answered(self._note, HubMessage(headers, note), len(note))

    async def tell(self, word: UplinkStatus) -> str:
        """Publish the feed's status; return why the hub refused it, or an empty text."""
        return await self._refusal(self._feed, HubMessage({}, msgspec.json.encode(word)))

    async def publish_edition(self, kind: EditionKind, digest: str, source: bytes) -> str:
        """Publish an edition unless the hub has it; return why it has not, or an empty text."""
        subject = edition_subject(*self._names, kind, digest)
        message = HubMessage({EXPECTED_SEQUENCE: "0"}, source)
        return await self._refusal(subject, message, SEQUENCE_CODES)

    async def _refusal(
        self, subject: str, message: HubMessage, well: frozenset[int] = frozenset()
    ) -> str:
        """Return why the hub refused a message; a refusal with a code of `well` counts as none."""
        try:
            answer = await self._answered(subject, message, len(message.body))
        except (InputError, NatsError, OSError) as error:
            return str(error) or type(error).__name__
        return answer.text if isinstance(answer, PublishRefused) and answer.code not in well else ""

    async def _answered(
        self, subject: str, message: HubMessage, size: int
    ) -> PublishAccepted | PublishRefused:
        patience = _ANSWER_S + size / _THINNEST
        answer = await self._connection.request(
            subject, message.body, timeout=patience, headers=message.headers
        )
        return parse_publish_answer(answer.data)

    async def _asked(self, subject: str) -> HubMessage | None:
        answer = await self._connection.request(subject, b"", timeout=_ANSWER_S)
        headers = answer.headers or {}
        status = headers.get(_STATUS)
        if status == _NOT_FOUND:
            return None
        if status is not None:
            raise BusError(f"the hub answers with status {status}")
        return HubMessage(headers, answer.data)
