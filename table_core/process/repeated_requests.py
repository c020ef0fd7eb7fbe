"""Recognises a repeated request by its transaction, and compares it with the first one. Pure."""

import msgspec

from events.commands import ANSWER_EXISTS, ANSWER_REFUSED, Answer, Command, Refusal
from events.commands.registry import COMMAND_NAMES
from events.types import AcceptedRequest

__all__ = ["encode_request_body", "refusal_answer", "repeated_answer"]


def refusal_answer(transaction: str, why: Refusal | str, text: str = "") -> Answer:
    """Return the answer that refuses, from a refusal or from a code and its text."""
    refusal = why if isinstance(why, Refusal) else Refusal(code=why, text=text)
    return Answer(
        transaction=transaction, result=ANSWER_REFUSED, code=refusal.code, text=refusal.text
    )


def encode_request_body(command: Command) -> bytes:
    """Return the bytes that a repeated request must equal: the command's name and its fields."""
    fields: dict[str, object] = msgspec.to_builtins(command)
    return msgspec.json.encode({"command": COMMAND_NAMES[type(command)], **fields})


def repeated_answer(command: Command, body: bytes, known: AcceptedRequest) -> Answer:
    """Answer a command whose transaction is `known`: by its first result, or by the difference."""
    if body == known.body:
        return Answer(
            transaction=command.transaction, result=ANSWER_EXISTS, position=known.position
        )
    mine: dict[str, object] = msgspec.json.decode(body)
    first: dict[str, object] = msgspec.json.decode(known.body)
    field = next((key for key in {**first, **mine} if first.get(key) != mine.get(key)), "command")
    text = f"transaction {command.transaction!r} was given before with another {field}"
    return refusal_answer(
        command.transaction, Refusal(code=f"exists_with_different_{field}", text=text)
    )
