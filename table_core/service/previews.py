"""Answers requests that only show something: a coup on record, a preview, a request's outcome.

Nothing changes. A preview is the decision itself: the same `decide` on the same state, not
appended. It is given only for commands that correct a coup, because everybody at the table has seen
such a coup. Other previews could reveal a face, for example that of an excess card.
"""

import msgspec
from msgspec import Struct

from events.commands.base import ANSWER_ACCEPTED, Answer
from events.commands.previews import Preview, ShowCoup, ShowRequest
from events.types.table import Settlement, TableEvent
from table_core.decide.authority import authorise
from table_core.projections.table_document import CoupView, project_coup
from table_core.service.coup_recall import RecalledCoup
from table_core.service.publishers import SEALED
from table_core.service.repeated_requests import refusal_answer
from table_core.service.table_writer import OF_A_COUP, Table, parse_command

__all__ = ["CoupOnRecord", "RequestOnRecord", "answer_preview"]


class CoupOnRecord(Struct, frozen=True, kw_only=True):
    """A coup as it stands now.

    Args:
        coup: as a display shows it.
        rulebook: by which it is played or was settled.
        rulebook_hash: SHA-256 of its file.
        settlements: those in force, one a phase.
    """

    coup: CoupView
    rulebook: str
    rulebook_hash: str
    settlements: tuple[Settlement, ...]


class RequestOnRecord(Struct, frozen=True, kw_only=True):
    """What became of a request.

    Args:
        carried_out: the last event that it caused; null where it changed nothing, or never came.
    """

    carried_out: int | None


def answer_preview(
    table: Table,
    user: str,
    command: ShowCoup | ShowRequest | Preview,
    recalled: RecalledCoup | None = None,
) -> Answer:
    """Return the answer for `user`, with the requested document in `shown`.

    Args:
        table: holds the state and the log.
        user: the user who asks.
        command: the request.
        recalled: the coup, where the state does not hold it and it was recalled already.
    """
    of_actor = frozenset() if command.actor is None else table.roles(command.actor)
    refusal = authorise(table.roles(user), command, of_actor)
    if refusal is not None:
        return refusal_answer(command.transaction, refusal)
    if isinstance(command, Preview):
        return _preview(table, user, command, recalled)
    if isinstance(command, ShowRequest):
        record_of = RequestOnRecord(carried_out=table.outcome_of_request(user, command.request))
        return _shown(table, command.transaction, record_of)
    coup = table.coup_on_record(command.coup, recalled)
    if coup is None:
        text = f"no coup {command.coup!r} was played at this table"
        return refusal_answer(command.transaction, "unknown_coup", text)
    record = CoupOnRecord(
        coup=project_coup(coup),
        rulebook=coup.rulebook,
        rulebook_hash=coup.rulebook_hash,
        settlements=coup.settlements,
    )
    return _shown(table, command.transaction, record)


def _preview(table: Table, user: str, command: Preview, recalled: RecalledCoup | None) -> Answer:
    asked = parse_command(command.command, msgspec.json.encode(command.body))
    if isinstance(asked, Answer):
        return msgspec.structs.replace(asked, transaction=command.transaction)
    if not isinstance(asked, OF_A_COUP):
        text = f"there is no preview of {command.command}; only of what puts a coup right"
        return refusal_answer(command.transaction, "no_preview", text)
    asked = msgspec.structs.replace(asked, actor=command.actor)
    decision = table.preview(user, asked, recalled)
    if isinstance(decision, Answer):
        return msgspec.structs.replace(decision, transaction=command.transaction)
    events = [_event(event) for event in decision]
    return _shown(table, command.transaction, {"events": events})


def _event(event: TableEvent) -> dict[str, object]:
    sealed = event.TYPE in SEALED
    return {"type": event.TYPE, "v": event.VERSION, "data": None if sealed else event}


def _shown(table: Table, transaction: str, shown: object) -> Answer:
    return Answer(
        transaction=transaction,
        result=ANSWER_ACCEPTED,
        position=table.state.position,
        shown=shown,
    )
