"""A request client of the table: sends requests, and matches the answers to them. Pure.

The broker may lose a request or its answer. A client therefore sends the same transaction with the
same body until an answer comes. The table carries it out once, and answers each repetition.
"""

from collections import deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec
from msgspec import Struct

from events.commands import Answer, Command
from events.commands.registry import COMMAND_NAMES
from events.errors import MalformedJson
from events.json_form import decode_json
from events.mqtt.messages import Message
from events.mqtt.peer_keys import PeerKeys
from events.mqtt.process import LogLine, Publish, Signal, Steps, Wait
from events.mqtt.topics import Topics

__all__ = ["CATCHING_UP", "USUAL_RETRY", "PendingRequest", "RequestClient", "Retry"]

CATCHING_UP: Final = "catching_up"
"""The refusal of a table that still reads the shoe's reports."""

# Unread answers to one request: one a try; more would be noise.
_ANSWERS_KEPT: Final = 16


class Retry(Struct, frozen=True, kw_only=True):
    """When a request is sent again.

    Args:
        answer_s: seconds to wait for an answer: far longer than a healthy table's few milliseconds,
            short enough to bridge a broker's restart.
        back_off_s: first wait in seconds after the broker did not take the request, or the table
            refused it for a reason that passes. It doubles with each repetition.
        back_off_most_s: its largest value.
        passing: codes of refusals that pass: they answer nothing.
    """

    answer_s: float = 1.0
    back_off_s: float = 0.05
    back_off_most_s: float = 1.0
    passing: Collection[str] = (CATCHING_UP,)


USUAL_RETRY: Final = Retry()


class PendingRequest:
    """A request that is in flight.

    Args:
        topic: the request's topic.
        body: the encoded command.
    """

    def __init__(self, topic: str, body: bytes) -> None:
        self.topic, self.body = topic, body
        self._answers: deque[Answer] = deque(maxlen=_ANSWERS_KEPT)
        self._came = Signal()

    def add(self, answer: Answer) -> None:
        """Add an answer, and wake the steps that wait for it."""
        self._answers.append(answer)
        self._came.set()

    def next_answer(self, seconds: float) -> Steps[Answer | None]:
        """Wait for the next answer; return None when the time is over."""
        if not self._answers:
            self._came.clear()
            yield from Wait(seconds, self._came)
        return self._answers.popleft() if self._answers else None


class RequestClient:
    """The requests of some users to one table, and the answers.

    Args:
        topics: the table's topics.
        keys: of the users; without, nothing is proved and every answer counts.

    Attributes:
        resent: repetitions since the start.
    """

    def __init__(self, topics: Topics, keys: PeerKeys | None = None) -> None:
        self.resent = 0
        self._topics = topics
        self._keys = keys or PeerKeys()
        self._pending: dict[tuple[str, str], list[PendingRequest]] = {}

    @property
    def in_flight(self) -> int:
        """The number of requests without an answer."""
        return sum(map(len, self._pending.values()))

    def is_pending(self, user: str, command: Command) -> bool:
        """Whether a request of the user with the command's transaction is in flight."""
        return (self._topics.response(user), command.transaction) in self._pending

    @contextmanager
    def pending(self, user: str, command: Command) -> Iterator[PendingRequest]:
        """Keep a request in flight; each of several with one transaction gets the answer."""
        topic = self._topics.request(user, COMMAND_NAMES[type(command)])
        request = PendingRequest(topic, msgspec.json.encode(command))
        key = self._topics.response(user), command.transaction
        waiting = self._pending.setdefault(key, [])
        waiting.append(request)
        try:
            yield request
        finally:
            waiting.remove(request)
            if not waiting:
                del self._pending[key]

    def authenticated(self, request: PendingRequest) -> Steps[bytes]:
        """Return a request as it is to be published now; each sending proves itself anew."""
        return self._keys.authenticated(request.topic, request.body)

    def ask(
        self, user: str, command: Command, retry: Retry = USUAL_RETRY, step: str = ""
    ) -> Steps[Answer]:
        """Send `command` as `user` until the table answers, and return the answer."""
        back_off_s = retry.back_off_s
        with self.pending(user, command) as request:
            while True:
                sent = yield from Publish(
                    request.topic, (yield from self.authenticated(request)), step=step
                )
                wait_s = retry.answer_s if sent else back_off_s
                while (answer := (yield from request.next_answer(wait_s))) is not None:
                    if answer.code not in retry.passing:
                        return answer
                    wait_s = back_off_s
                self.resent += 1
                back_off_s = min(2 * back_off_s, retry.back_off_most_s)

    def on_answer(self, message: Message) -> Steps[None]:
        """Handle a message on `response/<user>`."""
        body = yield from self._keys.checked(message.topic, message.payload)
        if body is None:
            fields = {"topic": message.topic, "count": self._keys.refused}
            yield from LogLine("error", "answer.forged", fields)
            return
        try:
            answer = decode_json(body, Answer)
        except MalformedJson as error:
            fields = {"topic": message.topic, "reason": str(error)}
            yield from LogLine("error", "answer.unreadable", fields)
            return
        for request in self._pending.get((message.topic, answer.transaction), ()):
            request.add(answer)
