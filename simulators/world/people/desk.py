"""The people's console and screen, over the world's broker."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from events.commands import Answer, Command
from events.commands.registry import COMMAND_NAMES
from events.errors import OurBug
from events.mqtt.bus import BusSettings
from events.mqtt.messages import Message
from events.mqtt.peer_keys import PeerKeys
from events.mqtt.process import Effect, LogLine, Now, Publish, Signal, Steps, Wait
from events.mqtt.process_shell import AtOnce, clock_and_log_lines, perform_at_once
from events.mqtt.request_client import CATCHING_UP, Retry
from events.mqtt.topics import Topics
from simulators.people.console import Console
from simulators.people.view import TableSeen, TableView
from simulators.world.parts.broker import FakeBroker, FakeClient
from simulators.world.parts.clock import MICROSECONDS, WorldClock
from simulators.world.parts.waiting import FOREVER_US, Waiting

__all__ = ["WorldConsole", "WorldView"]

# A full disk may have room in a moment: the console repeats the request.
_RETRY: Final = Retry(back_off_most_s=0.05, passing=(CATCHING_UP, "log_unwritable"))
_NOWHERE: Final = BusSettings("world", 0, "people")

_encoder: Final = msgspec.json.Encoder()
_documents: Final = msgspec.json.Decoder(TableSeen)


class WorldView(TableView):
    """The people's screen; they wait in the world's time.

    Args:
        waiting: lets them wait.
    """

    def __init__(self, waiting: Waiting) -> None:
        super().__init__()
        self._waiting = waiting

    def hear(self, payload: bytes) -> None:
        """Take a `state` document; positions never fall."""
        seen = _documents.decode(payload)
        if self.seen is None or seen.position >= self.seen.position:
            self.seen = seen

    async def until(self, holds: Callable[[TableSeen], bool]) -> TableSeen:
        """See `TableView.until`."""
        seen = await self._within(holds, FOREVER_US)
        assert seen is not None  # noqa: S101 - there is no limit
        return seen

    async def within(self, holds: Callable[[TableSeen], bool], limit_s: float) -> TableSeen | None:
        """See `TableView.within`."""
        return await self._within(holds, round(limit_s * MICROSECONDS))

    async def _within(self, holds: Callable[[TableSeen], bool], limit_us: int) -> TableSeen | None:
        refused: TableSeen | None = None  # the same one holds no more the next time

        def came() -> bool:
            nonlocal refused
            if self.seen is None or self.seen is refused:
                return False
            refused = self.seen
            return holds(refused)

        return self.seen if await self._waiting.until(came, limit_us) else None


class WorldConsole(Console):
    """Several users' requests, repeated until they are answered.

    Args:
        topics: the table.
        users: the users whose answers it subscribes to.
        courier: the broker.
        waiting: lets people wait.
        view: the screen next to it.
        clock: the world's.
        keys: of all users.
    """

    def __init__(
        self,
        topics: Topics,
        users: Sequence[str],
        courier: FakeBroker,
        waiting: Waiting,
        view: WorldView,
        clock: WorldClock,
        keys: PeerKeys,
    ) -> None:
        super().__init__(_NOWHERE, topics, users, retry=_RETRY, keys=keys)
        self._keys = keys
        self._at_once: AtOnce = {**clock_and_log_lines(clock), LogLine: lambda _: None}
        self.client = FakeClient(courier, (topics.state, *map(topics.response, users)))
        self._topics = topics
        self._waiting, self._view = waiting, view

    @property
    def wakes_us(self) -> int:
        """Never: it acts only on messages."""
        return FOREVER_US

    def work(self) -> bool:
        """Take the messages that have come."""
        if not self.client.inbox:
            return False
        newest: bytes | None = None
        while self.client.inbox:
            message: Message = self.client.inbox.popleft()
            if message.topic == self._topics.state:
                newest = message.payload
            else:
                perform_at_once(self._requests.on_answer(message), self._at_once)
        if newest is not None:
            self._view.hear(newest)
        return True

    def connect(self) -> None:
        """Note that the broker is connected."""
        self.client.connect()

    def disconnected(self) -> None:
        """Note that the broker is not connected."""

    def post(self, user: str, command: Command) -> bool:
        """Send a request without waiting for an answer."""
        topic = self._topics.request(user, COMMAND_NAMES[type(command)])
        steps = self._keys.authenticated(topic, _encoder.encode(command))
        return self.client.post(topic, perform_at_once(steps, self._at_once))

    async def _perform(self, steps: Steps[Answer]) -> Answer:
        try:
            effect = next(steps)
            while True:
                effect = steps.send(await self._perform_effect(effect))
        except StopIteration as ended:
            answer: Answer = ended.value
            return answer
        finally:
            steps.close()

    async def _perform_effect(self, effect: Effect[Any]) -> object:
        match effect:
            case Now():
                return self._at_once[Now](effect)
            case Publish():
                return self.client.post(effect.topic, effect.payload)
            case Wait(seconds=float(seconds), signal=Signal() as signal):
                patience_us = round(seconds * MICROSECONDS)
                return await self._waiting.until(lambda: signal.is_set, patience_us)
            case _:
                raise OurBug(f"{type(effect).__name__}: a request does not need it")
