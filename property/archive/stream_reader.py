"""Reading the hub's stream of events: a partition behind its place, or one table whole.

What is durable is the place, which the archive has in the transaction of the events themselves. A
consumer at the hub lives no longer than its reader, and begins behind the place: whatever the hub
thinks was acknowledged, nothing is skipped, and nothing waits for the time-out of a dead worker.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Final, NamedTuple, Self

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js import JetStreamContext, api
from nats.js.errors import NotFoundError

from events.errors import BusError, InputError
from property.archive.batch import Fault
from property.archive.store import Place
from property.hub.replicated_event import HASH, Carried, carried_of
from property.hub.subjects import EVENTS, partition_filter, split_origin, stored_subject

__all__ = ["HUB_ERRORS", "Batch", "FeedReader", "begin_at", "parse_batch"]

HUB_ERRORS: Final = (nats.errors.Error, BusError, TimeoutError, OSError)
"""What goes wrong at the hub, and not here."""

_BATCH: Final = 1000
# Asked for ahead, so that the next are here when the last are stored; all that came is one batch.
_AHEAD: Final = 2 * _BATCH
# A large event is 4 MiB: so much may be on its way to us at once.
_BATCH_BYTES: Final = 16 * 1024 * 1024
_PULL_S: Final = 20
_BEAT_S: Final = 1
# A hub's node that was cut off says nothing; its consumer has another leader by then.
_SILENT_S: Final = 4.0
_NS: Final = 1_000_000_000
_ACK_WAIT_S: Final = 60
_UNUSED_S: Final = 30.0  # then the hub takes a consumer away
_STATUS: Final = "Status"
_BEAT, _NOTHING, _EXPIRED = "100", "404", "408"
_DONE: Final = ("Batch Completed", "Message Size Exceeds MaxBytes")


class Batch(NamedTuple):
    """Messages as they are read.

    Args:
        events: those that are ours, in order.
        nonsense: what else came to a table's subject.
        place: how far this is.
        behind: how many more there were then.
    """

    events: list[Carried]
    nonsense: list[Fault]
    place: Place
    behind: int


class FeedReader:
    """Messages of a consumer, fetched ahead. Use `partition` or `table`.

    Args:
        client: the connection.
        consumer: its name.
        stream: whose it is.
    """

    def __init__(self, client: Client, consumer: str, stream: str = EVENTS) -> None:
        self._client = client
        self._consumer = consumer
        self._stream = stream
        self._heard: deque[Msg] = deque()
        self._more = asyncio.Event()
        self._asked = 0
        self._subscription: Subscription | None = None
        self._newest: Msg | None = None

    @classmethod
    async def partition(cls, client: Client, partition: int, start: int) -> Self:
        """Read a partition from a sequence of the stream on.

        The consumer is made for this reader alone, in the memory of one node: the place is kept
        with the events, and another is made in a moment where that node is gone.

        Raises:
            nats.errors.Error: the hub refuses, or does not answer.
        """
        name = f"archive-{partition}-{client.new_inbox().rpartition('.')[2]}"
        config = replace(_from(start, partition_filter(partition)), name=name)
        await client.jetstream().add_consumer(EVENTS, config)
        return cls(client, name)

    @classmethod
    async def table(cls, client: Client, origin: str) -> Self | None:
        """Read all that the hub has of a table; None where that is nothing.

        The consumer goes when it is no longer used.

        Raises:
            nats.errors.Error: the hub refuses, or does not answer.
        """
        subject = stored_subject(*split_origin(origin))
        made = await client.jetstream().add_consumer(EVENTS, _from(1, subject))
        return cls(client, made.name) if made.num_pending else None

    @classmethod
    async def unacknowledged(cls, client: Client, stream: str, start: int | None) -> Self:
        """Read from a sequence on, or, without one, the newest of each subject and what follows.

        Whoever asks keeps the place.

        Raises:
            nats.errors.Error: the hub refuses, or does not answer.
        """
        config = api.ConsumerConfig(
            deliver_policy=api.DeliverPolicy.LAST_PER_SUBJECT
            if start is None
            else api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=start,
            filter_subject="property.v1.>",
            ack_policy=api.AckPolicy.NONE,
            inactive_threshold=_UNUSED_S,
            num_replicas=1,
            mem_storage=True,
        )
        made = await client.jetstream().add_consumer(stream, config)
        return cls(client, made.name, stream)

    async def __aenter__(self) -> Self:
        self._inbox = self._client.new_inbox()
        self._subscription = await self._client.subscribe(self._inbox, cb=self._hear)
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self._subscription is not None:
            with suppress(*HUB_ERRORS):
                await self._subscription.unsubscribe()
                subject = f"$JS.API.CONSUMER.DELETE.{self._stream}.{self._consumer}"
                await self._client.publish(subject)  # nobody waits for the answer

    async def next(self) -> list[Msg]:
        """What has come: at least one message, unless the hub has said that there is none yet.

        Raises:
            BusError: the consumer is gone, or the hub is silent.
            nats.errors.Error: the connection is gone.
        """
        while self._asked <= _AHEAD - _BATCH:
            await self._ask()
        if not self._heard:
            self._more.clear()
            try:
                await asyncio.wait_for(self._more.wait(), _SILENT_S)
            except TimeoutError as error:
                raise BusError(f"{self._consumer}: the hub is silent") from error
        found: list[Msg] = []
        while self._heard and len(found) < _AHEAD:
            msg = self._heard.popleft()
            if msg.headers is not None and _STATUS in msg.headers and not msg.reply:
                self._heed(msg.headers)
            else:
                found.append(msg)
        self._asked -= len(found)
        if found:
            self._newest = found[-1]
        return found

    async def acknowledge(self) -> None:
        """Tell the hub that everything up to the newest message is committed.

        Raises:
            nats.errors.Error: the connection is gone. It does not matter: the archive knows.
        """
        if self._newest is not None:
            await self._client.publish(self._newest.reply, b"+ACK")

    async def _hear(self, msg: Msg) -> None:
        self._heard.append(msg)
        self._more.set()

    async def _ask(self) -> None:
        request = {
            "batch": _BATCH,
            "max_bytes": _BATCH_BYTES,
            "expires": _PULL_S * _NS,
            "idle_heartbeat": _BEAT_S * _NS,
        }
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._consumer}"
        await self._client.publish(subject, msgspec.json.encode(request), reply=self._inbox)
        self._asked += _BATCH

    def _heed(self, headers: dict[str, str]) -> None:
        """What the hub says beside messages: it lives, a request has ended, or a consumer has."""
        status, told = headers[_STATUS], headers.get("Description", "")
        if status == _BEAT:
            return
        if status in {_NOTHING, _EXPIRED} or told.startswith(_DONE):
            # What was asked for and does not come of this request any more.
            self._asked -= int(headers.get("Nats-Pending-Messages", 0))
            return
        raise BusError(f"{self._consumer}: {status} {told}")


def _from(start: int, subject: str) -> api.ConsumerConfig:
    return api.ConsumerConfig(
        filter_subject=subject,
        deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
        opt_start_seq=max(start, 1),
        # One acknowledgement for a batch: everything before it is committed as well.
        ack_policy=api.AckPolicy.ALL,
        ack_wait=_ACK_WAIT_S,
        max_ack_pending=4 * _AHEAD,
        inactive_threshold=_UNUSED_S,
        num_replicas=1,
        mem_storage=True,
    )


def parse_batch(messages: Sequence[Msg]) -> Batch:
    """The events in messages of a consumer.

    Args:
        messages: at least one.
    """
    events: list[Carried] = []
    nonsense: list[Fault] = []
    for msg in messages:
        try:
            events.append(carried_of(msg.subject, msg.headers, msg.data))
        except InputError as error:
            origin = ".".join(msg.subject.split(".")[4:6]).replace(".", "/")
            nonsense.append(Fault(origin, "nonsense", 0, str(error)))
    newest = messages[-1]
    place = Place(newest.metadata.sequence.stream, _hash_in(newest.headers))
    return Batch(events, nonsense, place, newest.metadata.num_pending)


def _hash_in(headers: dict[str, str] | None) -> bytes:
    try:
        return bytes.fromhex((headers or {}).get(HASH, ""))
    except ValueError:
        return b""


async def begin_at(js: JetStreamContext, place: Place) -> tuple[int, str]:
    """From which sequence on a partition must be read, and when the stream was made.

    A hub that was wiped, or restored from an old copy and filled again, counts its messages anew:
    then everything is read again, and what is archived is dropped.

    Raises:
        nats.errors.Error: the hub does not answer, or there is no stream yet.
    """
    found = await js.stream_info(EVENTS)
    state, stream = found.state, str(found.created)
    if place.sequence == 0 or place.sequence > state.last_seq or place.stream != stream:
        return 1, stream
    if place.sequence < state.first_seq:
        return place.sequence + 1, stream  # the hub has dropped what it held longest
    try:
        there = await js.get_msg(EVENTS, place.sequence)
    except NotFoundError:
        return 1, stream
    return (place.sequence + 1 if _hash_in(there.headers) == place.hash else 1), stream
