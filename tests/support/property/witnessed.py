"""Logs to be witnessed: a table's events and signed checkpoints, said to a hub in any order."""

from collections.abc import Sequence

from nats.aio.client import Client

from events.proof.chain import next_hash, origin_hash
from events.proof.checkpoint import Checkpoint, signed_checkpoint
from events.proof.merkle import root_of
from events.proof.note import SigningKey
from events.types import AlarmRaised
from property.hub.replicated_event import MESSAGE_ID, ReplicatedEvent, replication_headers
from property.hub.subjects import checkpoint_subject, event_subject, split_origin
from tests.support.log.logs import stored_bytes


class SignedLog:
    """A log in memory, with its own key.

    Args:
        origin: `<site>/<table>`.
        key: signs its checkpoints.
    """

    def __init__(self, origin: str, key: SigningKey) -> None:
        self.origin = origin
        self.key = key
        self.events: list[ReplicatedEvent] = []

    def grow(self, count: int, text: str = "an ordinary evening") -> None:
        """So many more events."""
        for _ in range(count):
            position = len(self.events) + 1
            alarm, cause = AlarmRaised(alarm="x", text=text), f"core/{position}/{text}"
            self.take(stored_bytes(alarm, position, stream=self.origin, actor="core", cause=cause))

    def take(self, stored: bytes) -> None:
        """This event more."""
        head = self.events[-1].hash if self.events else origin_hash(self.origin)
        carried = ReplicatedEvent(
            self.origin, len(self.events) + 1, stored, next_hash(head, stored)
        )
        self.events.append(carried)

    def rewritten(self, at: int, text: str) -> "SignedLog":
        """The same log with another event at a position, signed by the same key: a forger's."""
        other = SignedLog(self.origin, self.key)
        for each in self.events:
            if each.position == at:
                other.grow(1, text)
            else:
                other.take(each.stored)
        return other

    def checkpoint(self, size: int | None = None, *keys: SigningKey) -> bytes:
        """The signed checkpoint of the first `size` events, or of all."""
        size = len(self.events) if size is None else size
        root = root_of(each.stored for each in self.events[:size])
        return signed_checkpoint(Checkpoint(self.origin, size, root), keys or [self.key])

    async def say(self, client: Client, events: Sequence[ReplicatedEvent] | None = None) -> None:
        """Publish events, each stored before the next; all where none are named.

        Without the message's id, by which the hub drops what is said twice: here it may be.
        """
        js = client.jetstream()
        for each in self.events if events is None else events:
            subject = event_subject(*split_origin(self.origin))
            headers = {k: v for k, v in replication_headers(each).items() if k != MESSAGE_ID}
            await js.publish(subject, each.stored, headers=headers)

    async def sign(self, client: Client, note: bytes | None = None) -> None:
        """Publish a checkpoint; the one of all events where none is given."""
        subject = checkpoint_subject(*split_origin(self.origin))
        await client.jetstream().publish(subject, note or self.checkpoint())
