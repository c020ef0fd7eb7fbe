"""Handles requests from the bus: parses them strictly, decides or looks up, and answers. Pure."""

from collections.abc import Callable
from typing import Final

import msgspec

from events.commands import ANSWER_REFUSED, Answer, Command, ShowRequest, transaction_of
from events.commands.registry import COMMAND_NAMES
from events.commands.text_lengths import COMMAND_LENGTHS, MOST_IN_TRANSACTION
from events.errors import LogRefused, LogUnwritable
from events.free_text import find_forbidden, may_hold_forbidden
from events.json_form import repeated_key
from events.mqtt.messages import Message
from events.mqtt.process import Begin, LogLine, Post, Steps
from events.types import MAX_EVENT_BYTES
from table_core.process.consumer_requests import ConsumerRequests, ReadOnlyCommand
from table_core.process.coup_recall import RecalledCoup
from table_core.process.history_client import ANSWER_BYTES, HistoryClient
from table_core.process.log_health import LogHealth
from table_core.process.repeated_requests import refusal_answer
from table_core.process.table_writer import TableWriter, parse_command
from table_core.trust.bus_guard import BusGuard

__all__ = ["Requests"]

# Characters logged of a command name that may be invalid.
_NAME_MOST: Final = 40


class Requests:
    """Handles requests.

    Args:
        writer: decides on commands.
        consumers: answers requests that append no event.
        history: reads the past where a command needs it.
        health: is told what the disk refuses.
        guard: proves the answers.
        caught_up: whether the table has appended every event that the driver has numbered.
        changed: called when events were appended.
    """

    def __init__(
        self,
        writer: TableWriter,
        consumers: ConsumerRequests,
        history: HistoryClient,
        health: LogHealth,
        guard: BusGuard,
        *,
        caught_up: Callable[[], Steps[bool]],
        changed: Callable[[], None],
    ) -> None:
        self._topics = writer.topics
        self._writer = writer
        self._consumers = consumers
        self._history = history
        self._health = health
        self._guard = guard
        self._caught_up = caught_up
        self._changed = changed

    def hear(self, message: Message) -> Steps[None]:
        """Answer a request; where it needs the past, later, in steps of its own."""
        parsed = self._topics.parse_request(message.topic)
        if parsed is None or not message.payload:
            return  # an empty payload is the clearing of a retained request
        user, name = parsed
        if len(message.payload) > MAX_EVENT_BYTES:
            # The command could not be stored. Above 8 MB a broker does not even carry it.
            text = f"a request has at most {MAX_EVENT_BYTES:,} bytes"
            yield from self._refuse(
                user, name, refusal_answer(transaction_of(message.payload), "too_large", text)
            )
            return
        command = parse_command(name, message.payload)
        if message.retain:
            # Retained by the broker since an unknown time: refused, and cleared.
            yield from Post(message.topic, b"", retain=True)
            text = "a request must not be retained"
            yield from self._refuse(
                user, name, refusal_answer(command.transaction, "retained_request", text)
            )
        elif isinstance(command, Answer):
            yield from self._refuse(user, name, command)
        elif (unfit := (yield from self._unfit(user, command, message.payload))) is not None:
            yield from self._refuse(user, name, unfit)
        elif isinstance(command, ShowRequest) and self._history.is_waiting(user, command.request):
            text = "that request is still being decided; ask again"
            yield from self._refuse(user, name, refusal_answer(command.transaction, "busy", text))
        elif self._history.needs(user, command):
            yield from Begin(self._later(user, command))
        else:
            yield from self._say(user, (yield from self._act(user, command, None)))

    def _unfit(self, user: str, command: Command, body: bytes) -> Steps[Answer | None]:
        """Return the refusal of a body that reads two ways, or that a log must not hold, or None.

        Earlier builds accepted and carried out such bodies: the sender of one gets `exists`.
        """
        fault = None
        if may_hold_forbidden(body.decode()):
            fault = next(find_forbidden(command, lengths=COMMAND_LENGTHS), None)
        key = repeated_key(body)
        if key is not None:
            code, text = "invalid_request", f"the key {key!r:.40} is there twice; write it once"
        elif len(command.transaction) > MOST_IN_TRANSACTION:
            code = "invalid_transaction"
            text = f"a transaction id has 1 to {MOST_IN_TRANSACTION} characters"
        elif fault is not None:
            code, text = "invalid_text", ": ".join(fault)
        else:
            return None
        if (yield from self._writer.knows(user, command.transaction)):
            return None
        return refusal_answer(command.transaction, code, text)

    def _refuse(self, user: str, name: str, answer: Answer) -> Steps[None]:
        yield from _refused(user, name[:_NAME_MOST], answer)
        yield from self._say(user, answer)

    def _later(self, user: str, command: Command) -> Steps[None]:
        answer = yield from self._history.answer(
            user, command, lambda recalled: self._act(user, command, recalled)
        )
        if answer is not None:
            yield from self._say(user, answer)

    def _act(self, user: str, command: Command, recalled: RecalledCoup | None) -> Steps[Answer]:
        position = self._writer.state.position
        try:
            if isinstance(command, ReadOnlyCommand):
                return (yield from self._consumers.serve(user, command, recalled))
            caught_up = yield from self._caught_up()
            answer = yield from self._writer.ask(
                user, command, caught_up=caught_up, recalled=recalled
            )
        except LogUnwritable as error:
            yield from self._health.refuse(error)
            return refusal_answer(command.transaction, "log_unwritable", str(error))
        except LogRefused as error:  # a closed segment is missing or was changed
            yield from self._health.distrust(str(error))
            return refusal_answer(command.transaction, "log_unsound", str(error))
        if answer.result == ANSWER_REFUSED:
            yield from _refused(user, COMMAND_NAMES[type(command)], answer)
        if self._writer.state.position != position:
            yield from self._health.accept()
            self._changed()
        return answer

    def _say(self, user: str, answer: Answer) -> Steps[None]:
        document = msgspec.json.encode(answer)
        if len(document) > ANSWER_BYTES:
            text = f"the answer has {len(document):,} bytes, and {ANSWER_BYTES:,} are sent"
            document = msgspec.json.encode(refusal_answer(answer.transaction, "too_large", text))
        topic = self._topics.response(user)
        document = yield from self._guard.authenticated(user, topic, document)
        yield from Post(topic, document, step="answer")


def _refused(user: str, name: str, answer: Answer) -> Steps[None]:
    fields = {"user": user, "command": name, "code": answer.code}
    yield from LogLine("info", "command.refused", fields)
