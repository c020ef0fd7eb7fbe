"""What every command and every answer has in common.

A command is imperative, frozen, and carries a transaction id. Its name is the last segment of its
topic, `request/<user>/<command>`; its body is its struct as JSON. The same transaction with the
same body is answered `exists`; with another body it is refused with
`exists_with_different_<field>`.
"""

from typing import Any, Final

from msgspec import Struct

from events.errors import MalformedJson
from events.json_form import decode_json

__all__ = [
    "ANSWER_ACCEPTED",
    "ANSWER_EXISTS",
    "ANSWER_REFUSED",
    "Answer",
    "Command",
    "Refusal",
    "transaction_of",
]

ANSWER_ACCEPTED: Final = "accepted"
ANSWER_EXISTS: Final = "exists"
ANSWER_REFUSED: Final = "refused"


class Command(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The root of all commands.

    Args:
        transaction: made by the client, unique for ever, 1 to 128 characters.
        actor: the person on whose behalf a delegate (a console service) asks.
    """

    transaction: str
    actor: str | None = None


class Refusal(Struct, frozen=True, kw_only=True):
    """A command that changes nothing, and why.

    Args:
        code: stable, for programs.
        text: one line for a person.
    """

    code: str
    text: str


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`response/<user>`: what became of a command; `shown` is what it only asked to see."""

    transaction: str
    result: str
    position: int | None = None
    code: str | None = None
    text: str | None = None
    shown: Any = None


class _Sent(Struct):
    """The transaction of a body; other fields are skipped, however many there are."""

    transaction: str = ""


def transaction_of(body: bytes) -> str:
    """Return the transaction of an otherwise invalid body, so that its sender can be answered."""
    try:
        return decode_json(body, _Sent).transaction
    except MalformedJson:
        return ""
