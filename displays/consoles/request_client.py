"""Sends what a person asks for to the table, as the delegate `console`, and brings the answer.

Every command goes out as `request/console/<command>` with the person as `actor`; whether that
person may is the table's to decide. No answer in time is not a refusal: the page sends the same
transaction again and gets the first answer.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from events.commands.play import Ack, Answer, Replay
from events.commands.registry import COMMANDS
from events.mqtt.topics import Topics

__all__ = ["ANSWER_SECONDS", "USER", "Desk", "MalformedCommand", "NoAnswer"]

USER: Final = "console"
ANSWER_SECONDS: Final = 3.0
# Of all people at all screens of a table.
_WAITING_MOST: Final = 64
_TRANSACTION: Final = re.compile(r"[A-Za-z0-9-]{8,64}\Z")


class MalformedCommand(ValueError):  # noqa: N818 - named for what it is
    """The body is no such command; `str()` of it is one line."""


class NoAnswer(Exception):  # noqa: N818 - named for what happened
    """The table is not there, or did not answer in time: nobody knows whether it was done."""


class Desk:
    """Asks the table on behalf of people.

    Args:
        topics: the table.
        post: sends; False when the broker is not there.
    """

    def __init__(self, topics: Topics, post: Callable[[str, bytes], bool]) -> None:
        self._topics = topics
        self._post = post
        self._waiting: dict[str, set[asyncio.Future[Answer]]] = {}

    async def ask(self, actor: str, name: str, fields: Mapping[str, object]) -> Answer:
        """What the table answers.

        Args:
            actor: the person.
            name: of the command.
            fields: its body, with the page's own `transaction`.

        Raises:
            MalformedCommand: no such command, or no such body.
            NoAnswer: nobody knows.
        """
        kind = COMMANDS.get(name)
        if kind is None or kind in {Ack, Replay}:
            raise MalformedCommand(f"there is no command {name[:40]!r} here")
        own = fields.get("transaction")
        if not isinstance(own, str) or not _TRANSACTION.match(own):
            raise MalformedCommand("transaction: 8 to 64 letters, digits and -")
        # Two people may choose the same transaction; the delegate's are one user's own.
        transaction = f"{actor}.{own}"
        try:
            command = msgspec.convert({**fields, "transaction": transaction, "actor": actor}, kind)
        except msgspec.ValidationError as error:
            raise MalformedCommand(str(error)) from error
        answer = await self._exchange(name, transaction, msgspec.json.encode(command))
        return msgspec.structs.replace(answer, transaction=own)

    async def _exchange(self, name: str, transaction: str, body: bytes) -> Answer:
        if sum(map(len, self._waiting.values())) >= _WAITING_MOST:
            raise NoAnswer("too many commands wait for the table")
        waiting = self._waiting.setdefault(transaction, set())
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        waiting.add(answered)
        try:
            if not self._post(self._topics.request(USER, name), body):
                raise NoAnswer("the table cannot be reached: nothing was sent")
            async with asyncio.timeout(ANSWER_SECONDS):
                return await answered
        except TimeoutError as error:
            raise NoAnswer("the table has not answered: send the same again") from error
        finally:
            waiting.discard(answered)
            if not waiting:
                self._waiting.pop(transaction, None)

    def heard(self, payload: bytes) -> None:
        """An answer came on `response/console`."""
        try:
            answer = msgspec.json.decode(payload, type=Answer)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return
        for waiting in self._waiting.get(answer.transaction, ()):
            if not waiting.done():
                waiting.set_result(answer)
