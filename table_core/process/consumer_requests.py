"""Answers requests that append no event: replays, acknowledgements, previews, queries. Pure."""

import re
from typing import Final

from msgspec.structs import replace

from events.commands import (
    ANSWER_ACCEPTED,
    Ack,
    Answer,
    Preview,
    Query,
    Refusal,
    Replay,
    ShowCoup,
    ShowRequest,
)
from events.mqtt.process import Steps
from table_core.decide.authority import authorise
from table_core.process.consumer_health import ConsumerHealth
from table_core.process.coup_recall import RecalledCoup
from table_core.process.event_replays import Replays
from table_core.process.previews import answer_preview
from table_core.process.repeated_requests import refusal_answer
from table_core.process.table_writer import TableWriter

__all__ = ["ConsumerRequests", "ReadOnlyCommand"]

ReadOnlyCommand = Replay | Ack | ShowCoup | ShowRequest | Preview | Query
"""Commands that append nothing."""

_NO_READER: Final = Refusal(code="past_unavailable", text="the past is not read at this table")
_FIRST_POSITION: Final = 1
_CONSUMER: Final = re.compile(r"[a-z0-9_-]{1,64}\Z")


class ConsumerRequests:
    """Answers replays and acknowledgements; none of them is an event of the table.

    Args:
        writer: the source of the events.
        feed: tracks each consumer's position.
        replays: send events again.
    """

    def __init__(self, writer: TableWriter, feed: ConsumerHealth, replays: Replays) -> None:
        self._writer = writer
        self._feed = feed
        self._replays = replays

    def serve(
        self,
        user: str,
        command: ReadOnlyCommand,
        recalled: RecalledCoup | None = None,
    ) -> Steps[Answer]:
        """Return the answer for `user`; a replay continues in steps of its own.

        Raises:
            LogUnwritable: the acknowledgement could not be stored.
        """
        if isinstance(command, Query):  # authorised ones go to the history reader, if there is one
            of_actor = frozenset() if command.actor is None else self._writer.roles(command.actor)
            refusal = authorise(self._writer.roles(user), command, of_actor)
            return refusal_answer(command.transaction, refusal or _NO_READER)
        if isinstance(command, ShowCoup | ShowRequest | Preview):
            return (yield from answer_preview(self._writer, user, command, recalled))
        refusal = authorise(self._writer.roles(user), command)
        if refusal is not None:
            return refusal_answer(command.transaction, refusal)
        if isinstance(command, Ack):
            return (yield from self._acknowledge(user, command))
        return (yield from self._replay(user, command))

    def _replay(self, user: str, command: Replay) -> Steps[Answer]:
        head = self._writer.state.position
        if command.start > head + 1:  # the reader of a longer log than this one
            text = f"the log ends at {head}, before {command.start}: it was cut or restored"
            refused = refusal_answer(command.transaction, "unknown_position", text)
            return replace(refused, position=head)
        if not (yield from self._replays.start(user, max(_FIRST_POSITION, command.start), head)):
            return refusal_answer(command.transaction, "too_many_replays", "try again later")
        return Answer(transaction=command.transaction, result=ANSWER_ACCEPTED, position=head)

    def _acknowledge(self, user: str, command: Ack) -> Steps[Answer]:
        head = self._writer.state.position
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
            yield from self._feed.retired(name)
        else:
            yield from self._feed.acknowledged(name, command.position)
        return Answer(transaction=command.transaction, result=ANSWER_ACCEPTED, position=head)
