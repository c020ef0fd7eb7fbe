"""Answers requests that append no event: replays, acknowledgements, previews, queries."""

import re
from typing import Final

from events.commands.base import ANSWER_ACCEPTED, Answer, Refusal
from events.commands.consumers import Ack, Replay
from events.commands.previews import Preview, ShowCoup, ShowRequest
from events.commands.queries import Query
from table_core.decide.authority import authorise
from table_core.service.consumer_health import ConsumerHealth
from table_core.service.coup_recall import RecalledCoup
from table_core.service.event_replays import Replays, Spawn
from table_core.service.previews import answer_preview
from table_core.service.repeated_requests import refusal_answer
from table_core.service.table_writer import Table

__all__ = ["ConsumerRequests", "ReadOnlyCommand"]

ReadOnlyCommand = Replay | Ack | ShowCoup | ShowRequest | Preview | Query
"""Commands that append nothing."""

_NO_READER: Final = Refusal(code="past_unavailable", text="the past is not read at this table")
_FIRST_POSITION: Final = 1
_CONSUMER: Final = re.compile(r"[a-z0-9_-]{1,64}\Z")


class ConsumerRequests:
    """Answers replays and acknowledgements; none of them is an event of the table.

    Args:
        table: the source of the events.
        feed: tracks each consumer's position.
        replays: send events again.
    """

    def __init__(self, table: Table, feed: ConsumerHealth, replays: Replays) -> None:
        self._table = table
        self._feed = feed
        self._replays = replays

    def serve(
        self,
        user: str,
        command: ReadOnlyCommand,
        spawn: Spawn,
        recalled: RecalledCoup | None = None,
    ) -> Answer:
        """Return the answer for `user`; a replay continues in a task that `spawn` makes.

        Raises:
            LogUnwritable: the acknowledgement could not be stored.
        """
        if isinstance(command, Query):  # authorised ones go to the history reader, if there is one
            of_actor = frozenset() if command.actor is None else self._table.roles(command.actor)
            refusal = authorise(self._table.roles(user), command, of_actor)
            return refusal_answer(command.transaction, refusal or _NO_READER)
        if isinstance(command, ShowCoup | ShowRequest | Preview):
            return answer_preview(self._table, user, command, recalled)
        refusal = authorise(self._table.roles(user), command)
        if refusal is not None:
            return refusal_answer(command.transaction, refusal)
        if isinstance(command, Ack):
            return self._acknowledge(user, command)
        head = self._table.state.position
        first = max(_FIRST_POSITION, command.start)
        if not self._replays.start(user, first, head, spawn):
            return refusal_answer(command.transaction, "too_many_replays", "try again later")
        return Answer(transaction=command.transaction, result=ANSWER_ACCEPTED, position=head)

    def _acknowledge(self, user: str, command: Ack) -> Answer:
        head = self._table.state.position
        if not _CONSUMER.match(command.consumer):
            text = "a consumer's name is 1 to 64 of a-z, 0-9, - and _"
            return refusal_answer(command.transaction, "invalid_consumer", text)
        if not 0 <= command.position <= head:
            text = f"position {command.position} is not in the log, which ends at {head}"
            return refusal_answer(command.transaction, "unknown_position", text)
        name = f"{user}/{command.consumer}"
        if not self._feed.admits(name):
            return refusal_answer(
                command.transaction, "too_many_consumers", "retire one of them first"
            )
        if command.retired:
            self._feed.retired(name)
        else:
            self._feed.acknowledged(name, command.position)
        return Answer(transaction=command.transaction, result=ANSWER_ACCEPTED, position=head)
