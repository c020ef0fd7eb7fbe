"""A console: sends requests to the table over the bus, and repeats each until it is answered.

The broker may lose a request or its answer. The console therefore sends the same transaction with
the same body until an answer comes; the table answers `exists` to a request that it has already
carried out. A refusal is an answer too, except `catching_up`: the table is still reading the shoe's
reports, and the console repeats the request a little later.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from events.commands.base import ANSWER_REFUSED, Answer, Command
from events.commands.registry import COMMAND_NAMES
from events.errors import MalformedJson, OurBug, TableError
from events.json_form import decode_json
from events.mqtt.bus import Bus, BusSettings, Handler, Message
from events.mqtt.topics import Topics

__all__ = ["CATCHING_UP", "Console", "ConsoleTimeouts", "RequestRefused", "refused"]

CATCHING_UP: Final = "catching_up"
_ANSWERS_KEPT: Final = 16  # unread answers to one request: one a try; more would be noise


class RequestRefused(TableError):  # noqa: N818 - named for what happened
    """The table refused a necessary request, for a reason that does not pass."""


class ConsoleTimeouts(Struct, frozen=True, kw_only=True):
    """Waiting times of a console, in seconds.

    Args:
        answer: for an answer, before the same request is sent again; well over the few milliseconds
            of a healthy table, short enough to bridge a broker's restart.
        back_off: before the first repetition when there is no broker, or the table catches up.
        back_off_most: the doubled back-off ends here.
    """

    answer: float = 1.0
    back_off: float = 0.05
    back_off_most: float = 1.0


def refused(answer: Answer) -> bool:
    """Return whether the table refused."""
    return answer.result == ANSWER_REFUSED


class Console:
    """Several users' requests over one connection.

    Args:
        settings: the broker and the login; one that may send requests for all `users`.
        topics: the table.
        users: the users whose answers it subscribes to.
        subscriptions: further topics, for a caller that also watches the table.
        on_connect: called after every connect; must not wait for an answer.
        waits: the waiting times.
    """

    def __init__(
        self,
        settings: BusSettings,
        topics: Topics,
        users: Sequence[str],
        *,
        subscriptions: Mapping[str, Handler] | None = None,
        on_connect: Callable[[], Awaitable[None]] | None = None,
        waits: ConsoleTimeouts | None = None,
    ) -> None:
        self.resent = 0
        self._topics = topics
        self._waits = waits or ConsoleTimeouts()
        self._users = {topics.response(user): user for user in users}
        self._asked: dict[tuple[str, str], asyncio.Queue[Answer]] = {}
        answers: dict[str, Handler] = dict.fromkeys(self._users, self._answered)
        self._bus = Bus(
            settings,
            subscriptions=answers | dict(subscriptions or {}),
            on_connect=on_connect,
        )

    @property
    def connected(self) -> bool:
        """Whether the broker is connected."""
        return self._bus.connected

    async def run(self) -> None:
        """Keep the connection open until cancelled."""
        await self._bus.run()

    async def request(self, user: str, command: Command) -> Answer:
        """Send `command` as `user`, repeat it as needed, and return the table's answer.

        Raises:
            OurBug: the same transaction is already in flight, or `user` is not this console's.
        """
        key = (user, command.transaction)
        if key in self._asked or user not in self._users.values():
            raise OurBug(
                f"{user} cannot ask for {command.transaction!r} here, or not twice at once"
            )
        answers = self._asked[key] = asyncio.Queue(_ANSWERS_KEPT)
        try:
            return await self._ask(
                self._topics.request(user, COMMAND_NAMES[type(command)]),
                msgspec.json.encode(command),
                answers,
            )
        finally:
            del self._asked[key]

    async def must(self, user: str, command: Command) -> Answer:
        """As `request`, for a command that must succeed.

        Raises:
            RequestRefused: the table refused.
        """
        answer = await self.request(user, command)
        if refused(answer):
            name = type(command).__name__
            raise RequestRefused(f"{name} {command.transaction}: {answer.code}: {answer.text}")
        return answer

    async def _ask(self, topic: str, body: bytes, answers: asyncio.Queue[Answer]) -> Answer:
        back_off = self._waits.back_off
        while True:
            taken = await self._bus.publish(topic, body)
            answer = await _next(answers, self._waits.answer if taken else back_off)
            while answer is not None and answer.code == CATCHING_UP:
                answer = await _next(answers, back_off)
            if answer is not None:
                return answer
            self.resent += 1
            back_off = min(2 * back_off, self._waits.back_off_most)

    async def _answered(self, message: Message) -> None:
        try:
            answer = decode_json(message.payload, Answer)
        except MalformedJson:
            return  # junk from the bus answers nothing; the request is sent again
        asked = self._asked.get((self._users[message.topic], answer.transaction))
        if asked is not None and not asked.full():
            asked.put_nowait(answer)


async def _next(answers: asyncio.Queue[Answer], wait_s: float) -> Answer | None:
    try:
        async with asyncio.timeout(wait_s):
            return await answers.get()
    except TimeoutError:
        return None
