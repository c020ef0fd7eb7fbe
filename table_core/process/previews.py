"""Answers requests that only show something: a coup on record, a preview, a request's outcome.

Nothing changes. A preview is the decision itself: the same `decide` on the same state, not
appended. Its digest binds the command that follows: the table refuses it where it would do
something else by then. A preview is given only for commands that correct a coup, because everybody
at the table has seen such a coup. Other previews could reveal a face, for example that of an excess
card. Pure.
"""

import msgspec
from msgspec import Struct

from events.commands import ANSWER_ACCEPTED, Answer, Preview, ShowCoup, ShowRequest
from events.mqtt.process import Steps
from events.types import Settlement, TableEvent
from table_core.decide.authority import authorise
from table_core.process.coup_recall import RecalledCoup
from table_core.process.publishers import SEALED
from table_core.process.repeated_requests import refusal_answer
from table_core.process.table_writer import (
    OF_A_COUP,
    TableWriter,
    decision_digest,
    parse_command,
)
from table_core.projections.pay_list import Move, pay_list
from table_core.projections.table_document import CoupView, project_coup

__all__ = ["CoupOnRecord", "RequestOnRecord", "answer_preview"]


class CoupOnRecord(Struct, frozen=True, kw_only=True):
    """A coup as it stands now.

    Args:
        coup: as a display shows it.
        rulebook: by which it is played or was settled.
        rulebook_hash: SHA-256 of its file.
        settlements: those in force, one a phase.
        moves: what a dealer takes, pays and returns by them.
    """

    coup: CoupView
    rulebook: str
    rulebook_hash: str
    settlements: tuple[Settlement, ...]
    moves: tuple[Move, ...] = ()


class RequestOnRecord(Struct, frozen=True, kw_only=True):
    """What became of a request.

    Args:
        carried_out: the last event that it caused; null where it changed nothing, or never came.
    """

    carried_out: int | None


def answer_preview(
    writer: TableWriter,
    user: str,
    command: ShowCoup | ShowRequest | Preview,
    recalled: RecalledCoup | None = None,
) -> Steps[Answer]:
    """Return the answer for `user`, with the requested document in `shown`.

    Args:
        writer: holds the state, and reads the log.
        user: the user who asks.
        command: the request.
        recalled: the coup, where the state does not hold it and it was recalled already.
    """
    of_actor = frozenset() if command.actor is None else writer.roles(command.actor)
    refusal = authorise(writer.roles(user), command, of_actor)
    if refusal is not None:
        return refusal_answer(command.transaction, refusal)
    if isinstance(command, Preview):
        return (yield from _preview(writer, user, command, recalled))
    if isinstance(command, ShowRequest):
        position = yield from writer.outcome_of_request(user, command.request)
        return _shown(writer, command.transaction, RequestOnRecord(carried_out=position))
    coup = yield from writer.coup_on_record(command.coup, recalled)
    if coup is None:
        text = f"no coup {command.coup!r} was played at this table"
        return refusal_answer(command.transaction, "unknown_coup", text)
    books = (writer.rulebook, *writer.library)
    record = CoupOnRecord(
        coup=project_coup(coup),
        rulebook=coup.rulebook,
        rulebook_hash=coup.rulebook_hash,
        settlements=coup.settlements,
        moves=pay_list(coup, {book.hash: book for book in books}.get, corrected=True),
    )
    return _shown(writer, command.transaction, record)


def _preview(
    writer: TableWriter, user: str, command: Preview, recalled: RecalledCoup | None
) -> Steps[Answer]:
    asked = parse_command(command.command, msgspec.json.encode(command.body))
    if isinstance(asked, Answer):
        return msgspec.structs.replace(asked, transaction=command.transaction)
    if not isinstance(asked, OF_A_COUP):
        text = f"there is no preview of {command.command}; only of what puts a coup right"
        return refusal_answer(command.transaction, "no_preview", text)
    asked = msgspec.structs.replace(asked, actor=command.actor)
    decision = yield from writer.preview(user, asked, recalled)
    if isinstance(decision, Answer):
        return msgspec.structs.replace(decision, transaction=command.transaction)
    events = [_event(event) for event in decision]
    digest = decision_digest(user, asked, decision)
    return _shown(writer, command.transaction, {"events": events, "digest": digest})


def _event(event: TableEvent) -> dict[str, object]:
    sealed = event.TYPE in SEALED
    return {"type": event.TYPE, "v": event.VERSION, "data": None if sealed else event}


def _shown(writer: TableWriter, transaction: str, shown: object) -> Answer:
    return Answer(
        transaction=transaction,
        result=ANSWER_ACCEPTED,
        position=writer.state.position,
        shown=shown,
    )
