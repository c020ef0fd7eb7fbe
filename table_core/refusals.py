"""Refusals, made short: a stable code for programs, one line for a person."""

from events.commands.base import Refusal
from events.types.table import TableEvent

__all__ = ["Decision", "another_coup", "first_of", "refuse"]

Decision = tuple[TableEvent, ...] | Refusal
"""What a command comes to: events (none when it holds already), or a refusal."""


def refuse(code: str, text: str) -> Refusal:
    """A refusal with this code and this line."""
    return Refusal(code=code, text=text)


def another_coup(meant: str | None, present: str) -> Refusal:
    """The refusal of a command that was meant for a coup which is not the present one."""
    return refuse("another_coup", f"this was meant for coup {meant}; the table is at {present}")


def first_of(*reasons: tuple[bool, str, str]) -> Refusal | None:
    """The first reason (does it hold, code, text) that holds; None when none does."""
    for holds, code, text in reasons:
        if holds:
            return refuse(code, text)
    return None
