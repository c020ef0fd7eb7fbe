"""Reads the hub's streams: a partition after a position, one whole table, or the newest messages.

The hub keeps no state for a reader. A reader requests the messages after its sequence by batched
direct gets (ADR-31 of NATS), and repeats an empty request a moment later. The archive stores the
reader's position in the same transaction as the events.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, NamedTuple, Self

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from events.errors import BusError, InputError
from property.archive.batch import FeedFault
from property.archive.store import StreamPosition
from property.hub.replicated_event import HASH, ReplicatedEvent, parse_replicated_event
from property.hub.subjects import API, EVENTS, split_origin, stored_subject

__all__ = [
    "HUB_ERRORS",
    "STAMP",
    "ParsedBatch",
    "StreamMessage",
    "StreamReader",
    "creation_time",
    "parse_batch",
    "reader_jetstream",
    "resume_sequence",
]

HUB_ERRORS: Final = (nats.errors.Error, BusError, TimeoutError, OSError)
"""The errors of the hub or of the connection to it."""

_BATCH: Final = 1000
# Most bytes of one request's messages. A large event is 4 MiB.
_BATCH_BYTES: Final = 16 * 1024 * 1024
# Seconds to wait for an answer. By then another node answers for one that was cut off.
_SILENT_S: Final = 4.0
# Seconds between two requests while there are no messages: the first pause, and the longest.
_IDLE_S: Final = (0.01, 0.1)
# The same where the hub gives notice of messages: a request that only makes up for a lost notice.
_NOTICED_S: Final = (0.2, 1.0)
# Where so many messages come at once, and so many seconds after it, a reader does without notices.
_MANY: Final = 50
_MANY_S: Final = 1.0
# Seconds between two checks that the stream is still the same.
_LOOK_S: Final = 5.0
_ALL: Final = "property.v1.>"

# The server puts these after a message's own headers, so that a sender cannot forge them: of two
# headers with one name the library returns the last.
_SUBJECT, _SEQUENCE = "Nats-Subject", "Nats-Sequence"
STAMP: Final = "Nats-Time-Stamp"
"""The header of a message's time at the hub."""
_BEFORE, _BEHIND = "Nats-Last-Sequence", "Nats-Num-Pending"
_STATUS: Final = "Status"
_END, _NOTHING = "204", "404"


class StreamMessage(NamedTuple):
    """A message of a stream.

    Args:
        subject: the subject that it is stored under.
        headers: the message's and the server's.
        data: the body.
        sequence: in the stream.
    """

    subject: str
    headers: dict[str, str]
    data: bytes
    sequence: int


class ParsedBatch(NamedTuple):
    """A batch of messages, parsed.

    Args:
        events: the replicated events, in order.
        nonsense: faults of the other messages.
        place: the stream position after the batch.
    """

    events: list[ReplicatedEvent]
    nonsense: list[FeedFault]
    place: StreamPosition


class _Reply(NamedTuple):
    """Messages, the last one's sequence (0 if there is none), and whether more follow."""

    messages: list[StreamMessage]
    last: int
    more: bool


def reader_jetstream(client: Client) -> JetStreamContext:
    """Return the JetStream API that a reader's login may use."""
    return client.jetstream(prefix=API)


class _Notices:
    """Waits for the hub's notice that it has stored a message.

    One notice is asked for at a time, before the request that reads what was stored until then. A
    hub that gives no notices, as one with the files of an earlier build, is waited for in vain.

    Attributes:
        heard: whether there was a notice yet.
    """

    def __init__(self, client: Client, subject: str) -> None:
        self.heard = False
        self._client, self._subject = client, subject
        self._notice: asyncio.Future[Msg] | None = None
        self._subscription: Subscription | None = None

    async def wait(self, longest_s: float) -> bool:
        """Wait for the notice asked for, if any, and ask for the next; return whether it came."""
        asked = self._notice
        if asked is not None:
            await asyncio.wait((asked,), timeout=longest_s)
            if not asked.done():
                return False
            self.heard = True
        self._notice = asyncio.get_running_loop().create_future()
        before = self._subscription
        # The library drops further messages. The server must not end the subscription by itself:
        # its other nodes would go on sending there, for each subscription that has ended so.
        self._subscription = await self._client.subscribe(
            self._subject, future=self._notice, max_msgs=1
        )
        if before is not None:  # afterwards, so that no node ever hears that nobody listens
            await before.unsubscribe()
        return asked is not None

    async def end(self) -> None:
        """Ask for no notice any more, until `wait` asks again."""
        standing, self._subscription, self._notice = self._subscription, None, None
        if standing is not None:
            with suppress(*HUB_ERRORS):
                await standing.unsubscribe()


class StreamReader:
    """Reads a stream's messages in order, one batch ahead of its caller.

    `table` and `newest` create one for these; `resume_sequence` returns a partition's `made` and
    `start`.

    Args:
        client: a connection with a reader's login.
        stream: the stream's name.
        made: the stream's creation time.
        start: the first sequence.
        subject: of the messages to read.
        pause_s: seconds between two requests where nothing follows: who can wait asks less often.
        notices: the subject filter of the notices that such a message is stored; empty for none.

    Attributes:
        until: the newest sequence at the start, as set by `table`; else 0.
    """

    def __init__(
        self, client: Client, stream: str, made: str, start: int = 1, subject: str = _ALL,
        pause_s: float = 0.0, notices: str = "",
    ) -> None:  # fmt: skip
        self.until = 0
        self._client = client
        self._stream = stream
        self._made = made
        self._subject = subject
        self._cursor = max(start, 1) - 1
        self._stamp = ""
        self._held: list[StreamMessage] = []
        self._ahead: asyncio.Task[_Reply] | None = None
        self._pauses = max(pause_s, _IDLE_S[0]), max(pause_s, _IDLE_S[1])
        self._idle_s = 0.0
        self._quiet = self._told = False
        self._notices = _Notices(client, notices) if notices else None
        self._many_until = 0.0
        self._next_check = asyncio.get_running_loop().time() + _LOOK_S

    @classmethod
    async def table(cls, client: Client, origin: str) -> Self | None:
        """Read all of a table's events on the hub; return None if there are none.

        Raises:
            nats.errors.Error: the hub refuses, or does not answer.
        """
        subject = stored_subject(*split_origin(origin))
        reader = cls(client, EVENTS, await creation_time(client, EVENTS), subject=subject)
        try:  # by the stream's leader: a follower may not have the newest yet
            newest = await reader_jetstream(client).get_last_msg(EVENTS, subject)
        except NotFoundError:
            return None
        reader.until = newest.seq or 0
        return reader

    @classmethod
    async def newest(cls, client: Client, stream: str, pause_s: float = 0.0) -> Self:
        """Read the newest message of each subject, and then those that follow.

        Args:
            client: a connection with a reader's login.
            stream: the stream's name.
            pause_s: seconds between two requests.

        Raises:
            BusError, nats.errors.Error: the hub refuses, or does not answer.
        """
        reader = cls(client, stream, await creation_time(client, stream), pause_s=pause_s)
        held: dict[str, StreamMessage] = {}
        more = True
        while more:
            answer = await reader._ask()
            held |= {each.subject: each for each in answer.messages}
            reader._moved(answer)
            more = answer.more
        reader._held = sorted(held.values(), key=lambda each: each.sequence)
        return reader

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self._ahead is not None:
            self._ahead.cancel()
            await asyncio.gather(self._ahead, return_exceptions=True)
        if self._notices is not None:
            await self._notices.end()

    async def next(self) -> list[StreamMessage]:
        """Return the next messages; an empty list if there are none yet.

        Raises:
            BusError: the stream was replaced, or the hub does not answer.
            nats.errors.Error: the connection is lost.
        """
        if self._held:
            held, self._held = self._held, []
            return held
        if self._ahead is None:
            await self._rest()
        await self._look()
        answer = await (self._ahead or self._ask())
        self._ahead = None
        self._moved(answer)
        self._quiet = not answer.last
        first, longest = await self._use_notices(len(answer.messages))
        if self._quiet:
            # After a notice, a copy of the stream that is behind has answered: ask again at once.
            first = self._pauses[0] if self._told else max(2 * self._idle_s, self._pauses[0])
        self._idle_s = min(first, longest)
        if answer.more:
            self._ahead = asyncio.create_task(self._ask())
        return answer.messages

    async def _use_notices(self, count: int) -> tuple[float, float]:
        """Return the pauses after so many messages; where they are many, end the notices.

        A table that catches up would have the hub give notice of thousands a second.
        """
        now = asyncio.get_running_loop().time()
        if self._notices is None:
            return self._pauses
        if count >= _MANY:
            self._many_until = now + _MANY_S
            await self._notices.end()
        return _NOTICED_S if self._notices.heard and now >= self._many_until else self._pauses

    async def _rest(self) -> None:
        """Wait a moment, or until there is notice of a message."""
        if self._notices is None or asyncio.get_running_loop().time() < self._many_until:
            self._told = False
            await asyncio.sleep(self._idle_s)
        else:
            self._told = await self._notices.wait(self._idle_s)

    def _moved(self, answer: _Reply) -> None:
        if answer.last:
            self._cursor = answer.last
            self._stamp = _stamp_at(answer.last, answer.messages[-1:])

    async def _ask(self) -> _Reply:
        """Return the messages after the cursor, of the stream that was read up to the cursor.

        A stream that was replaced may already be longer than the cursor. The request therefore
        begins with the cursor's own message: one copy of one stream sends the whole reply, and
        this message's time stamp tells which stream it is.

        Raises:
            BusError: the stream was replaced, or the hub does not answer.
        """
        if self._quiet and not self._told:
            # An idle reader does not request the cursor's message, of up to 4 MiB, each time.
            first = await self._get(self._cursor + 1, self._subject, 1)
            if not first.last:
                return first
        answer = await self._get(max(self._cursor, 1), self._subject)
        same = self._is_same(answer)
        if same is None and answer.last > self._cursor:
            await self._check()
        self._require(same is not False)
        if answer.last <= self._cursor:
            return _Reply([], 0, more=False)
        messages = [each for each in answer.messages if each.sequence > self._cursor]
        return answer._replace(messages=messages)

    async def _get(self, start: int, subject: str, most: int = _BATCH) -> _Reply:
        return await _get(self._client, self._stream, start, subject, most)

    async def _look(self) -> None:
        """Check now and then that nobody has created or restored the stream again."""
        if asyncio.get_running_loop().time() >= self._next_check:
            await self._check()

    async def _check(self) -> None:
        """Check that the stream is the same, by its creation time, length and cursor's message."""
        self._next_check = asyncio.get_running_loop().time() + _LOOK_S
        info = await reader_jetstream(self._client).stream_info(self._stream)
        self._require(str(info.created) == self._made and info.state.last_seq >= self._cursor)
        if self._stamp:
            # Of any subject: another stream may have another partition's message there.
            self._require(self._is_same(await self._get(self._cursor, _ALL, 1)) is not False)

    def _is_same(self, answer: _Reply) -> bool | None:
        """Return whether a reply has the cursor's message as it was read; None if not to tell."""
        there = _stamp_at(self._cursor, answer.messages[:1])
        return there == self._stamp if there and self._stamp else None

    def _require(self, same: bool) -> None:
        if not same:
            raise BusError(f"{self._stream}: it is another than the one that was read")


def _stamp_at(sequence: int, messages: Sequence[StreamMessage]) -> str:
    """Return the time stamp of the message at a sequence; empty if these do not have it."""
    return next((each.headers[STAMP] for each in messages if each.sequence == sequence), "")


async def creation_time(client: Client, stream: str) -> str:
    """Return when the hub made a stream: a stream that was wiped and made again has another."""
    return str((await reader_jetstream(client).stream_info(stream)).created)


async def _get(client: Client, stream: str, start: int, subject: str, most: int = _BATCH) -> _Reply:
    """Return a stream's messages of a subject from a sequence on.

    Raises:
        BusError: the hub does not answer, or a part of its answer is missing.
        nats.errors.Error: the connection is lost.
    """
    heard: deque[Msg] = deque()
    more = asyncio.Event()

    async def hear(msg: Msg) -> None:
        heard.append(msg)
        more.set()

    # One inbox a request: when the inbox ends, the server drops the rest of the answer.
    inbox = client.new_inbox()
    subscription = await client.subscribe(inbox, cb=hear)
    try:
        request = {
            "seq": start, "batch": most, "max_bytes": _BATCH_BYTES, "next_by_subj": subject,
        }  # fmt: skip
        asked = f"{API}.DIRECT.GET.{stream}"
        await client.publish(asked, msgspec.json.encode(request), reply=inbox)
        parts = _ReplyParts(stream)
        while parts.answer is None:
            if not heard:
                more.clear()
                try:
                    # `wait_for` would lose a cancellation that arrives together with a message.
                    async with asyncio.timeout(_SILENT_S):
                        await more.wait()
                except TimeoutError as error:
                    raise BusError(f"{stream}: the hub is silent") from error
            parts.take(heard.popleft())
        return parts.answer
    finally:
        with suppress(*HUB_ERRORS):
            await subscription.unsubscribe()


class _ReplyParts:
    """Assembles an answer from its parts; `answer` is set after the last part."""

    def __init__(self, stream: str) -> None:
        self.answer: _Reply | None = None
        self._stream = stream
        self._messages: list[StreamMessage] = []
        # None after a message with unreadable headers, which any table may send.
        self._before: int | None = 0

    def take(self, msg: Msg) -> None:
        """Add a part.

        Raises:
            BusError: the hub refuses, or a part is missing.
        """
        headers = msg.headers or {}
        status = headers.get(_STATUS)
        if _SEQUENCE in headers:
            self._follows(headers)
            self._before = int(headers[_SEQUENCE])
            self._messages.append(StreamMessage(headers[_SUBJECT], headers, msg.data, self._before))
        elif status == _END:
            self._follows(headers)
            last, behind = int(headers[_BEFORE]), int(headers[_BEHIND])
            self.answer = _Reply(self._messages, last, behind > 0)
        elif status == _NOTHING:
            self.answer = _Reply([], 0, more=False)
        elif status is not None:
            raise BusError(f"{self._stream}: {status} {headers.get('Description', '')}")
        else:
            self._before = None

    def _follows(self, headers: dict[str, str]) -> None:
        if self._before not in {None, int(headers[_BEFORE])}:
            raise BusError(f"{self._stream}: something of what the hub has said is missing")


def parse_batch(messages: Sequence[StreamMessage]) -> ParsedBatch:
    """Parse messages of the stream; there must be at least one."""
    events: list[ReplicatedEvent] = []
    nonsense: list[FeedFault] = []
    for msg in messages:
        try:
            events.append(parse_replicated_event(msg.subject, msg.headers, msg.data))
        except InputError as error:
            origin = ".".join(msg.subject.split(".")[4:6]).replace(".", "/")
            nonsense.append(FeedFault(origin, "nonsense", 0, str(error)))
    newest = messages[-1]
    return ParsedBatch(events, nonsense, StreamPosition(newest.sequence, _hash_in(newest.headers)))


def _hash_in(headers: dict[str, str] | None) -> bytes:
    try:
        return bytes.fromhex((headers or {}).get(HASH, ""))
    except ValueError:
        return b""


async def resume_sequence(js: JetStreamContext, place: StreamPosition) -> tuple[int, str]:
    """Return the sequence from which to read a partition, and the stream's creation time.

    A hub that was wiped, or restored from an old copy and filled again, numbers its messages again.
    The reader then starts at 1, and the archive drops the duplicates.

    Raises:
        nats.errors.Error: the hub does not answer, or there is no stream yet.
    """
    found = await js.stream_info(EVENTS)
    state, stream = found.state, str(found.created)
    if place.sequence == 0 or place.sequence > state.last_seq or place.stream != stream:
        return 1, stream
    if place.sequence < state.first_seq:
        return place.sequence + 1, stream  # the hub has dropped its oldest messages
    try:
        there = await js.get_msg(EVENTS, place.sequence)
    except NotFoundError:
        return 1, stream
    return (place.sequence + 1 if _hash_in(there.headers) == place.hash else 1), stream
