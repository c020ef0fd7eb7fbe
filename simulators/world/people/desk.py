"""The people's console and screen, over the world's broker."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from events.commands.base import Answer, Command
from events.commands.registry import COMMAND_NAMES
from events.mqtt.bus import BusSettings
from events.mqtt.messages import Message
from events.mqtt.topics import Topics
from simulators.people.console import CATCHING_UP, Console
from simulators.people.view import TableSeen, TableView
from simulators.world.parts.broker import FakeBroker, FakeClient
from simulators.world.parts.clock import MICROSECONDS
from simulators.world.parts.waiting import FOREVER_US, Waiting

__all__ = ["WorldConsole", "WorldView"]

_ANSWER_US: Final = MICROSECONDS
_BACK_OFF_US: Final = MICROSECONDS // 20
# A full disk may have room in a moment: the console repeats the request.
_PASSING: Final = frozenset({CATCHING_UP, "log_unwritable"})
_NOWHERE: Final = BusSettings("world", 0, "people")

_encoder: Final = msgspec.json.Encoder()
_answers: Final = msgspec.json.Decoder(Answer)
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
        def came() -> bool:
            return self.seen is not None and holds(self.seen)

        return self.seen if await self._waiting.until(came, limit_us) else None


class WorldConsole(Console):
    """Several users' requests, repeated until they are answered.

    Args:
        topics: the table.
        users: the users whose answers it subscribes to.
        courier: the broker.
        waiting: lets people wait.
        view: the screen next to it.
    """

    def __init__(
        self,
        topics: Topics,
        users: Sequence[str],
        courier: FakeBroker,
        waiting: Waiting,
        view: WorldView,
    ) -> None:
        super().__init__(_NOWHERE, topics, users)
        self.client = FakeClient(courier, (topics.state, *map(topics.response, users)))
        self._state = topics.state
        self._waiting, self._view = waiting, view
        self._came: dict[str, list[Answer]] = {}

    @property
    def wakes_us(self) -> int:
        """Never: it acts only on messages."""
        return FOREVER_US

    @property
    def busy(self) -> bool:
        """Whether a message has come."""
        return bool(self.client.inbox)

    def work(self) -> None:
        """Take the messages that have come."""
        newest: bytes | None = None
        while self.client.inbox:
            message: Message = self.client.inbox.popleft()
            if message.topic == self._state:
                newest = message.payload
            else:
                self._hear_answer(message.payload)
        if newest is not None:
            self._view.hear(newest)

    def connect(self) -> None:
        """Note that the broker is connected."""
        self.client.connect()

    def disconnected(self) -> None:
        """Note that the broker is not connected."""

    def post(self, user: str, command: Command) -> bool:
        """Send a request without waiting for an answer."""
        topic = self._topics.request(user, COMMAND_NAMES[type(command)])
        return self.client.post(topic, _encoder.encode(command))

    async def request(self, user: str, command: Command) -> Answer:
        """See `Console.request`."""
        answers = self._came[command.transaction] = []
        try:
            while True:
                taken = self.post(user, command)
                patience = _ANSWER_US if taken else _BACK_OFF_US
                if await self._waiting.until(lambda: bool(answers), patience):
                    answer = answers.pop()
                    if answer.code not in _PASSING:
                        return answer
                    await self._waiting.pause(_BACK_OFF_US)
                self.resent += 1
        finally:
            del self._came[command.transaction]

    def _hear_answer(self, payload: bytes) -> None:
        answer = _answers.decode(payload)
        if (waiting := self._came.get(answer.transaction)) is not None:
            waiting.append(answer)
