"""What is asked beside the table's course: events again, acknowledgements, a look at a coup."""

import re
from typing import Final

from events.commands import ANSWER_ACCEPTED, Ack, Answer, Preview, Replay, ShowCoup
from events.log import EventLog
from events.queries import Query
from table_core.authority import authorise
from table_core.shell.looking import look
from table_core.shell.replays import Replays, Spawn
from table_core.shell.table import Table, refused

__all__ = ["Ask", "Consumers"]

Ask = Replay | Ack | ShowCoup | Preview | Query
"""Commands that append nothing."""

_FIRST_POSITION: Final = 1
_CONSUMER: Final = re.compile(r"[a-z0-9_-]{1,64}\Z")


class Consumers:
    """Answers replays and acknowledgements; nothing of it is an event of the table.

    Args:
        table: whose events they read.
        log: keeps how far each has come.
        replays: send events again.
    """

    def __init__(self, table: Table, log: EventLog, replays: Replays) -> None:
        self._table = table
        self._log = log
        self._replays = replays

    def serve(self, user: str, command: Ask, spawn: Spawn) -> Answer:
        """The answer for `user`; a replay runs on in a task that `spawn` makes.

        Raises:
            LogUnwritable: the acknowledgement could not be kept.
        """
        if isinstance(command, Query):
            return refused(command.transaction, "past_unavailable", "the past cannot be read now")
        if isinstance(command, ShowCoup | Preview):
            return look(self._table, user, command)
        refusal = authorise(self._table.roles(user), command)
        if refusal is not None:
            return refused(command.transaction, refusal)
        if isinstance(command, Ack):
            return self._acknowledge(user, command)
        head = self._table.state.position
        first = max(_FIRST_POSITION, command.start)
        if not self._replays.start(user, first, head, spawn):
            return refused(command.transaction, "too_many_replays", "try again later")
        return Answer(transaction=command.transaction, result=ANSWER_ACCEPTED, position=head)

    def _acknowledge(self, user: str, command: Ack) -> Answer:
        head = self._table.state.position
        if not _CONSUMER.match(command.consumer):
            text = "a consumer's name is 1 to 64 of a-z, 0-9, - and _"
            return refused(command.transaction, "invalid_consumer", text)
        if not 0 <= command.position <= head:
            text = f"position {command.position} is not in the log, which ends at {head}"
            return refused(command.transaction, "unknown_position", text)
        self._log.move_cursor(f"consumer/{user}/{command.consumer}", command.position)
        return Answer(transaction=command.transaction, result=ANSWER_ACCEPTED, position=head)
