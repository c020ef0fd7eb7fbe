"""What every command and every answer has in common.

A command is imperative, frozen, and carries a transaction id. Its name is the last segment of its
topic, `request/<user>/<command>`; its body is its struct as JSON. The same transaction with the
same body is answered `exists`; with another body it is refused with
`exists_with_different_<field>`.
"""

from typing import Any, Final

from msgspec import Struct

from events.errors import MalformedJson
from events.json_form import decode_json, replace_lone_surrogates

__all__ = [
    "ANSWER_ACCEPTED",
    "ANSWER_EXISTS",
    "ANSWER_REFUSED",
    "Answer",
    "Command",
    "Correction",
    "Previewed",
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
        during: the newest coup at the table when the person gave it, empty before the first; the
            table refuses it (`another_coup`) once another has begun. None: at any coup.
    """

    transaction: str
    actor: str | None = None
    during: str | None = None


class Previewed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The preview that a person has seen, from its answer.

    Args:
        position: of the log, that the preview was made at.
        digest: of what the command would do, as the preview said.
    """

    position: int
    digest: str


class Correction(Command, frozen=True, kw_only=True):
    """The root of the commands that put a coup right and can be previewed.

    Args:
        previewed: the table refuses it (`preview_outdated`) where it would do something else now;
            None without a preview.
        signed: who signed, where two people must; opaque references.
    """

    previewed: Previewed | None = None
    signed: tuple[str, ...] = ()


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
        return decode_json(replace_lone_surrogates(body.decode()), _Sent).transaction
    except (MalformedJson, UnicodeDecodeError):
        return ""
