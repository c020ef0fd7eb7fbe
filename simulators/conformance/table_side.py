"""A table's side of the bus, for every kit: connection, heartbeat, proved requests and answers."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import msgspec

from events.clock import Clock
from events.commands import ANSWER_REFUSED, Answer
from events.errors import BusError, InputError
from events.json_form import decode_json
from events.mqtt.bus import Bus, BusSettings
from events.mqtt.messages import Message
from events.mqtt.presence import PresencePublisher
from events.mqtt.process_shell import Performer
from events.mqtt.topics import Topics
from events.proof.message_mac import MessageKey, add_mac, split_mac

__all__ = ["POLL_S", "TableSide", "refused"]

POLL_S: Final = 0.05
"""Between two looks at something that no event tells."""
_BEAT_S: Final = 0.5  # more often than a table: it wakes a consumer at the end
_CLEAR_S: Final = 2.0  # for the broker to forget what the kit had it retain
_ECHO_S: Final = 3.0  # to be connected, and for what it says itself to come back
_NS_IN_MS: Final = 1_000_000


class TableSide:
    """The kit as a table: what every kind of program under test is served with.

    Args:
        settings: the broker, as the core.
        topics: the table that is played.
        user: the tested program's login.
        clock: for the stamps of the status.
        keys: the program's message keys, the newest first: its requests must be proved by one of
            them, and what is told it is; without any, nothing is proved.
    """

    def __init__(
        self,
        settings: BusSettings,
        topics: Topics,
        user: str,
        *,
        clock: Clock,
        keys: Sequence[MessageKey] = (),
    ) -> None:
        self._topics, self._user, self._keys, self._clock = topics, user, keys, clock
        self._complaint: str | None = None
        self._settings, self._reached, self._echoed = settings, False, False
        self._presence = PresencePublisher(topics.status("table"), 1, clock.utc_ns())
        self._bus = Bus(
            settings,
            will=self._presence.will,
            subscriptions={
                topics.requests: self._asked,
                topics.status("table"): self._heard_status,
            },
            on_connect=self._connected,
        )
        self._performer = Performer(self._bus, clock)

    def _show(self) -> None:
        """Publish what is retained, at every connect."""

    def _answer_to(self, user: str, name: str, message: Message) -> Sequence[Answer]:
        """Return the answers to a proved request: none where it gets lost."""
        text = f"{user} asked for {name}, which it has no use for"
        self._complain(text)
        return (refused(_transaction(message.payload), "not_allowed", text),)

    @asynccontextmanager
    async def _served(self, *, beats: bool = True) -> AsyncIterator["asyncio.Task[None]"]:
        """Serve meanwhile; the task ends with the error that ended the bus."""
        tasks = [asyncio.create_task(self._bus.run())]
        if beats:
            tasks.append(asyncio.create_task(self._performer.perform(self._presence.beat(_BEAT_S))))
        try:
            yield tasks[0]
        finally:
            await self._clear()
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _clear(self) -> None:
        """Take back the retained documents; the Will says that the table is offline."""
        topics = self._topics
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLEAR_S):
                for topic in (topics.state, topics.display):
                    await self._bus.publish(topic, b"", retain=True)

    async def _until(
        self, condition: Callable[[], bool], seconds: float, running: "asyncio.Task[None]"
    ) -> bool:
        """Return whether the condition came to hold; raise the error that ended the bus."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not condition():
                    if running.done():
                        running.result()
                    await asyncio.sleep(POLL_S)
        return condition()

    async def _must_serve(self, running: "asyncio.Task[None]") -> None:
        """Raise a BusError unless the broker carries what the kit says as the table."""
        where = repr(self._settings)
        await self._until(lambda: self._reached or bool(self._bus.trouble), _ECHO_S, running)
        if not self._reached:
            why = self._bus.trouble or "no answer"
            raise BusError(f"the kit itself did not reach the broker: {where}: {why}")
        if not await self._until(lambda: self._echoed, _ECHO_S, running):
            login = self._settings.username
            raise BusError(
                f"the kit itself may not speak on {self._topics.status('table')} at {where} as "
                f"{login!r}: give it the login of the table's core"
            )

    async def _heard_status(self, message: Message) -> None:
        self._echoed = self._echoed or not message.retain

    async def _connected(self) -> None:
        self._reached = True
        self._performer.perform_at_once(self._presence.announce())
        self._show()

    async def _asked(self, message: Message) -> None:
        user, name = self._topics.parse_request(message.topic) or ("", "")
        if not user or not message.payload or message.retain:
            return
        received = split_mac(message.payload)
        now_ms = self._clock.utc_ns() // _NS_IN_MS
        if self._keys and received.key_among(message.topic, self._keys, now_ms) is None:
            text = f"request/{user}/{name} is not proved by a message key of {self._user}"
            self._complain(text)
            answer = refused(_transaction(received.body), "not_authenticated", text)
            self._bus.post(self._topics.response(user), msgspec.json.encode(answer))
            return
        topic = self._topics.response(user)
        for answer in self._answer_to(user, name, message._replace(payload=received.body)):
            self._bus.post(topic, self._proved(topic, msgspec.json.encode(answer)))

    def _proved(self, topic: str, body: bytes) -> bytes:
        """Return a message to the program with the code of its newest key, if it has one."""
        return add_mac(self._keys[0], topic, body, self._clock.utc_ns()) if self._keys else body

    def _complain(self, text: str) -> None:
        """Keep the first complaint: others may follow from it."""
        self._complaint = self._complaint or text


def _transaction(body: bytes) -> str:
    try:
        return str(decode_json(body, dict[str, Any]).get("transaction", ""))
    except InputError:
        return ""


def refused(transaction: str, code: str, text: str) -> Answer:
    """Return a refusal."""
    return Answer(transaction=transaction, result=ANSWER_REFUSED, code=code, text=text)
