"""The table's history client: it asks the history process for the past that a command needs. Pure.

The client passes a query on with the position up to which the reader must have read. For a command
about a coup that the state does not hold, the reader recalls that coup. The table then decides on
the recalled coup in its own process and against its present state. If an event since is about the
coup's shoe, the client first recalls the coup again. So only the user who asked waits for a disk,
and no decision is made on an outdated coup.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from events.commands import ANSWER_ACCEPTED, Answer, Command, Preview, Query, Refusal, ShowCoup
from events.commands.registry import COMMAND_NAMES
from events.errors import UnreadableEvent
from events.mqtt.process import Effect, Steps
from table_core.decide.authority import authorise
from table_core.fold.corrections import find_whole_coup
from table_core.fold.snapshot import decode_state
from table_core.process.coup_recall import RecalledCoup
from table_core.process.log_effects import ReadLog
from table_core.process.repeated_requests import refusal_answer
from table_core.process.table_writer import OF_A_COUP, TableWriter, parse_command
from table_core.state.table import TableState

__all__ = [
    "ANSWER_BYTES",
    "RECALL",
    "AskHistory",
    "DecideNow",
    "HistoryClient",
    "HistoryQuestion",
]

ANSWER_BYTES: Final = 4 * 1024 * 1024
"""The maximum size of an answer: half of what a broker carries."""

RECALL: Final = "recall"
"""The question that recalls a coup for a correction: the answer is an encoded state, or `null`."""

# Recalls of one coup, where each time an event about its shoe precedes the decision.
_ATTEMPTS: Final = 3

DecideNow = Callable[[RecalledCoup | None], Steps[Answer]]
"""Decides on the command now, with the coup recalled for it."""


class HistoryQuestion(Struct, frozen=True):
    """A question to the reader.

    Args:
        name: of the query, or `recall`.
        to: the position up to which the reader must have read.
        body: the query.
    """

    name: str
    to: int
    body: Any


class AskHistory(Effect[bytes | Refusal], frozen=True):
    """Return the reader's answer to a question, or its refusal. Waits."""

    question: HistoryQuestion


class HistoryClient:
    """Knows which commands need the past, and asks the history reader for it.

    Args:
        writer: decides on commands.
        has_reader: whether there is a history reader; else the table reads its log itself.
    """

    def __init__(self, writer: TableWriter, *, has_reader: bool) -> None:
        self._writer = writer
        self._has_reader = has_reader
        self._out: set[tuple[str, str, bytes]] = set()

    def needs(self, user: str, command: Command) -> bool:
        """Return whether a command waits for the reader; one its user may not give never does."""
        if not self._has_reader:
            return False
        writer = self._writer
        of_actor = frozenset() if command.actor is None else writer.roles(command.actor)
        if authorise(writer.roles(user), command, of_actor) is not None:
            return False
        return isinstance(command, Query) or self._missing(command) is not None

    def is_waiting(self, user: str, transaction: str) -> bool:
        """Return whether a user's command still waits for the reader, so its outcome is unknown."""
        return any(key[:2] == (user, transaction) for key in self._out)

    def answer(self, user: str, command: Command, act: DecideNow) -> Steps[Answer | None]:
        """Return the answer for a command that `needs` the past; None where the same one waits.

        A client without an answer in time sends the same command again, and it is not read twice.
        """
        encoded = msgspec.json.encode([COMMAND_NAMES[type(command)], command])
        key = user, command.transaction, encoded
        if key in self._out:
            return None
        self._out.add(key)
        try:
            if isinstance(command, Query):
                return (yield from self._shown(command))
            return (yield from self._on_record(command, act))
        finally:
            self._out.discard(key)

    def _shown(self, query: Query) -> Steps[Answer]:
        position = self._writer.state.position
        question = HistoryQuestion(COMMAND_NAMES[type(query)], position, query)
        said = yield from AskHistory(question)
        if isinstance(said, Refusal):
            return refusal_answer(query.transaction, said)
        return Answer(
            transaction=query.transaction,
            result=ANSWER_ACCEPTED,
            position=position,
            shown=msgspec.Raw(said),
        )

    def _on_record(self, command: Command, act: DecideNow) -> Steps[Answer]:
        recalled: RecalledCoup | None = None
        for _ in range(_ATTEMPTS):
            coup = self._missing(command)
            if coup is None:
                return (yield from act(None))
            if recalled is not None and (yield from _still_holds(recalled)):
                return (yield from act(recalled))
            position = self._writer.state.position
            said = yield from AskHistory(HistoryQuestion(RECALL, position, coup))
            if isinstance(said, Refusal):
                return refusal_answer(command.transaction, said)
            state = _state(said)
            if isinstance(state, Refusal):
                return refusal_answer(command.transaction, state)
            recalled = RecalledCoup(coup, position, state)
        if recalled is not None and (yield from _still_holds(recalled)):
            return (yield from act(recalled))
        text = "what is on record of that shoe keeps changing; ask again"
        return refusal_answer(command.transaction, "busy", text)

    def _missing(self, command: Command) -> str | None:
        """Return the coup that a command is about, where the state does not hold it."""
        if isinstance(command, Preview):
            asked = parse_command(command.command, msgspec.json.encode(command.body))
            return None if isinstance(asked, Answer | Preview) else self._missing(asked)
        if not isinstance(command, (*OF_A_COUP, ShowCoup)) or command.coup is None:
            return None
        state = self._writer.state
        last = state.coup is not None and state.coup.id == command.coup
        if find_whole_coup(state, command.coup) or (
            last and (state.in_progress or isinstance(command, ShowCoup))
        ):
            return None
        return command.coup


def _still_holds(recalled: RecalledCoup) -> Steps[bool]:
    return recalled.holds((yield from ReadLog(recalled.position + 1)))


def _state(said: bytes) -> TableState | Refusal | None:
    if said == b"null":
        return None
    try:
        return decode_state(said)
    except UnreadableEvent as error:
        return Refusal(code="past_unavailable", text=str(error))
