"""The table's history client: it asks the history process for the past that a command needs.

The client passes a query on with the position up to which the reader must have read. For a command
about a coup that the state does not hold, the reader recalls that coup. The table then decides on
the recalled coup in its own process and against its present state. If an event since is about the
coup's shoe, the client first recalls the coup again. So only the user who asked waits for a disk,
and no decision is made on an outdated coup.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from events.commands.base import ANSWER_ACCEPTED, Answer, Command, Refusal
from events.commands.previews import Preview, ShowCoup
from events.commands.queries import Query
from events.commands.registry import COMMAND_NAMES
from events.errors import UnreadableEvent
from table_core.decide.authority import authorise
from table_core.fold.corrections import find_past_coup
from table_core.fold.snapshot import decode_state
from table_core.service.coup_recall import RecalledCoup
from table_core.service.history_child import HistoryQuestion
from table_core.service.repeated_requests import refusal_answer
from table_core.service.table_writer import OF_A_COUP, Table, parse_command
from table_core.state.table import TableState

__all__ = ["RECALL", "DecideNow", "HistoryClient", "HistoryReader"]

RECALL: Final = "recall"
"""The question that recalls a coup for a correction: the answer is an encoded state, or `null`."""

# Recalls of one coup, where each time an event about its shoe precedes the decision.
_ATTEMPTS: Final = 3

DecideNow = Callable[[RecalledCoup | None], Answer]
"""Decides on the command now, with the coup recalled for it."""


class HistoryReader(Protocol):
    """Reads the past; see `table_core.service.history_child`."""

    async def ask(self, question: HistoryQuestion) -> bytes | Refusal:
        """Return the answer's bytes, or the refusal."""

    async def run(self) -> None:
        """Serve until cancelled."""


class HistoryClient:
    """Knows which commands need the past, and asks the history reader for it.

    Args:
        table: decides on commands.
        reader: reads the past; None where the table reads it itself.
    """

    def __init__(self, table: Table, reader: HistoryReader | None) -> None:
        self._table = table
        self._reader = reader
        self._out: set[tuple[str, str, bytes]] = set()

    async def run(self) -> None:
        """Keep the reader running until cancelled."""
        if self._reader is not None:
            await self._reader.run()

    def needs(self, user: str, command: Command) -> bool:
        """Return whether a command waits for the reader; one its user may not give never does."""
        if self._reader is None:
            return False
        table = self._table
        of_actor = frozenset() if command.actor is None else table.roles(command.actor)
        if authorise(table.roles(user), command, of_actor) is not None:
            return False
        return isinstance(command, Query) or self._missing(command) is not None

    def is_waiting(self, user: str, transaction: str) -> bool:
        """Return whether a user's command still waits for the reader, so its outcome is unknown."""
        return any(key[:2] == (user, transaction) for key in self._out)

    async def answer(self, user: str, command: Command, act: DecideNow) -> Answer | None:
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
                return await self._shown(command)
            return await self._on_record(command, act)
        finally:
            self._out.discard(key)

    async def _shown(self, query: Query) -> Answer:
        position = self._table.state.position
        said = await self._ask(COMMAND_NAMES[type(query)], position, query)
        if isinstance(said, Refusal):
            return refusal_answer(query.transaction, said)
        return Answer(
            transaction=query.transaction,
            result=ANSWER_ACCEPTED,
            position=position,
            shown=msgspec.Raw(said),
        )

    async def _on_record(self, command: Command, act: DecideNow) -> Answer:
        recalled: RecalledCoup | None = None
        for _ in range(_ATTEMPTS):
            coup = self._missing(command)
            if coup is None:
                return act(None)
            if recalled is not None and recalled.holds(self._table.read(recalled.position + 1)):
                return act(recalled)
            position = self._table.state.position
            said = await self._ask(RECALL, position, coup)
            if isinstance(said, Refusal):
                return refusal_answer(command.transaction, said)
            state = _state(said)
            if isinstance(state, Refusal):
                return refusal_answer(command.transaction, state)
            recalled = RecalledCoup(coup, position, state)
        if recalled is not None and recalled.holds(self._table.read(recalled.position + 1)):
            return act(recalled)
        text = "what is on record of that shoe keeps changing; ask again"
        return refusal_answer(command.transaction, "busy", text)

    async def _ask(self, name: str, position: int, body: Any) -> bytes | Refusal:
        assert self._reader is not None  # noqa: S101 - else nothing needs it
        return await self._reader.ask(HistoryQuestion(name, position, body))

    def _missing(self, command: Command) -> str | None:
        """Return the coup that a command is about, where the state does not hold it."""
        if isinstance(command, Preview):
            asked = parse_command(command.command, msgspec.json.encode(command.body))
            return None if isinstance(asked, Answer | Preview) else self._missing(asked)
        if not isinstance(command, (*OF_A_COUP, ShowCoup)) or command.coup is None:
            return None
        state = self._table.state
        last = state.coup is not None and state.coup.id == command.coup
        if find_past_coup(state, command.coup) or (
            last and (state.in_progress or isinstance(command, ShowCoup))
        ):
            return None
        return command.coup


def _state(said: bytes) -> TableState | Refusal | None:
    if said == b"null":
        return None
    try:
        return decode_state(said)
    except UnreadableEvent as error:
        return Refusal(code="past_unavailable", text=str(error))
