"""A request client of the table: repeats each request until the table answers.

The broker may lose the request or the answer.
"""

import asyncio
from typing import Final

import msgspec
import structlog

from events.commands.base import Answer, Command
from events.commands.registry import COMMAND_NAMES
from events.errors import MalformedJson
from events.json_form import decode_json
from events.mqtt.bus import Bus, Message
from events.mqtt.topics import Topics

__all__ = ["CageRequestClient"]

# Far longer than a healthy table's few milliseconds, short enough to bridge a broker's restart.
_ANSWER_S: Final = 1.0

_encoder: Final = msgspec.json.Encoder()
_log: Final = structlog.get_logger()


class CageRequestClient:
    """Sends requests to one table as one user.

    Args:
        topics: the table's topics.
        user: the login's name.
    """

    def __init__(self, topics: Topics, user: str) -> None:
        self._topics = topics
        self._user = user
        self._waiting: dict[str, asyncio.Future[Answer]] = {}

    async def ask(self, bus: Bus, command: Command) -> Answer:
        """Send `command` once a second until the table answers, and return the answer."""
        topic = self._topics.request(self._user, COMMAND_NAMES[type(command)])
        body = _encoder.encode(command)
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[command.transaction] = answered
        try:
            while True:
                await bus.publish(topic, body)
                done, _ = await asyncio.wait({answered}, timeout=_ANSWER_S)
                if done:
                    return answered.result()
        finally:
            del self._waiting[command.transaction]

    async def on_answer(self, message: Message) -> None:
        """Handle a message on `response/<user>`."""
        try:
            answer = decode_json(message.payload, Answer)
        except MalformedJson as error:
            _log.error("answer.unreadable", topic=message.topic, reason=str(error))
            return
        waiting = self._waiting.get(answer.transaction)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)
