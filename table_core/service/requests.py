"""Handles requests from the bus: parses them strictly, decides or looks up, and answers."""

from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec
import structlog

from events.commands.base import ANSWER_REFUSED, Answer, Command
from events.commands.previews import ShowRequest
from events.commands.registry import COMMAND_NAMES
from events.errors import LogRefused, LogUnwritable
from events.free_text import find_forbidden, may_hold_forbidden
from events.mqtt.messages import Message
from events.mqtt.topics import Topics
from events.types.envelope import MAX_EVENT_BYTES
from table_core.service.consumer_requests import ConsumerRequests, ReadOnlyCommand
from table_core.service.coup_recall import RecalledCoup
from table_core.service.event_replays import Spawn
from table_core.service.history_child import ANSWER_BYTES
from table_core.service.history_client import HistoryClient
from table_core.service.repeated_requests import refusal_answer, transaction_of
from table_core.service.table_writer import Table, parse_command

__all__ = ["RequestCallbacks", "Requests"]

# Characters logged of a command name that may be invalid.
_NAME_MOST: Final = 40

_log: Final = structlog.get_logger()


class RequestCallbacks(NamedTuple):
    """Callbacks for the results of a request.

    Args:
        disk_refuses: called when nothing could be stored.
        disk_takes: called when something was stored.
        unsound: called with the fault of the log, in one line.
        changed: called when events were appended.
    """

    disk_refuses: Callable[[LogUnwritable], None]
    disk_takes: Callable[[], None]
    unsound: Callable[[str], None]
    changed: Callable[[], None]


class Requests:
    """Handles requests.

    Args:
        topics: of requests and answers.
        table: decides on commands.
        consumers: answers requests that append no event.
        back: reads the past where a command needs it.
        post: sends a message; where the broker loses it, the client asks again.
        caught_up: whether the table has appended every event that the driver has numbered.
        told: called with the result.
        probe: called with the name of each step.
    """

    def __init__(
        self,
        topics: Topics,
        table: Table,
        consumers: ConsumerRequests,
        back: HistoryClient,
        *,
        post: Callable[[str, bytes, bool], object],
        caught_up: Callable[[], bool],
        told: RequestCallbacks,
        probe: Callable[[str], None],
    ) -> None:
        self._topics = topics
        self._table = table
        self._consumers = consumers
        self._back = back
        self._post = post
        self._caught_up = caught_up
        self._told = told
        self._probe = probe

    def hear(self, message: Message, spawn: Spawn) -> None:
        """Answer a request; where it needs the past, later, in a task that `spawn` makes."""
        parsed = self._topics.parse_request(message.topic)
        if parsed is None or not message.payload:
            return  # an empty payload is the clearing of a retained request
        user, name = parsed
        if len(message.payload) > MAX_EVENT_BYTES:
            # The command could not be stored. Above 8 MB a broker does not even carry it.
            text = f"a request has at most {MAX_EVENT_BYTES:,} bytes"
            self._refuse(
                user, name, refusal_answer(transaction_of(message.payload), "too_large", text)
            )
            return
        command = parse_command(name, message.payload)
        if message.retain:
            # Retained by the broker since an unknown time: refused, and cleared.
            self._post(message.topic, b"", True)
            text = "a request must not be retained"
            self._refuse(user, name, refusal_answer(command.transaction, "retained_request", text))
        elif isinstance(command, Answer):
            self._refuse(user, name, command)
        elif (unfit := self._unfit(user, command, message.payload)) is not None:
            self._refuse(user, name, unfit)
        elif isinstance(command, ShowRequest) and self._back.is_waiting(user, command.request):
            text = "that request is still being decided; ask again"
            self._refuse(user, name, refusal_answer(command.transaction, "busy", text))
        elif self._back.needs(user, command):
            spawn(self._later(user, command, spawn))
        else:
            self._say(user, self._act(user, command, spawn, None))

    def _unfit(self, user: str, command: Command, body: bytes) -> Answer | None:
        """Return the refusal of a text that a log must not hold; None where there is none.

        Earlier builds accepted and carried out such texts: the sender of one gets `exists`.
        """
        fault = next(find_forbidden(command), None) if may_hold_forbidden(body.decode()) else None
        if fault is None or self._table.knows(user, command.transaction):
            return None
        return refusal_answer(command.transaction, "invalid_text", ": ".join(fault))

    def _refuse(self, user: str, name: str, answer: Answer) -> None:
        _log.info("command.refused", user=user, command=name[:_NAME_MOST], code=answer.code)
        self._say(user, answer)

    async def _later(self, user: str, command: Command, spawn: Spawn) -> None:
        answer = await self._back.answer(
            user, command, lambda recalled: self._act(user, command, spawn, recalled)
        )
        if answer is not None:
            self._say(user, answer)

    def _act(
        self, user: str, command: Command, spawn: Spawn, recalled: RecalledCoup | None
    ) -> Answer:
        position = self._table.state.position
        try:
            if isinstance(command, ReadOnlyCommand):
                return self._consumers.serve(user, command, spawn, recalled)
            answer = self._table.ask(user, command, caught_up=self._caught_up(), recalled=recalled)
        except LogUnwritable as error:
            self._told.disk_refuses(error)
            return refusal_answer(command.transaction, "log_unwritable", str(error))
        except LogRefused as error:  # a closed segment is missing or was changed
            self._told.unsound(str(error))
            return refusal_answer(command.transaction, "log_unsound", str(error))
        if answer.result == ANSWER_REFUSED:
            name = COMMAND_NAMES[type(command)]
            _log.info("command.refused", user=user, command=name, code=answer.code)
        if self._table.state.position != position:
            self._told.disk_takes()
            self._told.changed()
        return answer

    def _say(self, user: str, answer: Answer) -> None:
        document = msgspec.json.encode(answer)
        if len(document) > ANSWER_BYTES:
            text = f"the answer has {len(document):,} bytes, and {ANSWER_BYTES:,} are sent"
            document = msgspec.json.encode(refusal_answer(answer.transaction, "too_large", text))
        self._probe("answer.before")
        self._post(self._topics.response(user), document, False)
        self._probe("answer.after")
