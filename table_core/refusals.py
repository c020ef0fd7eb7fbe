"""Refusals: helpers that build one from a stable code and a line for a person."""

from events.commands import Refusal
from events.types import TableEvent

__all__ = ["Decision", "first_refusal", "refuse", "refuse_another_coup"]

Decision = tuple[TableEvent, ...] | Refusal
"""The result of a command: its events (none where it already holds), or a refusal."""


def refuse(code: str, text: str) -> Refusal:
    """Return a refusal with this code and text."""
    return Refusal(code=code, text=text)


def refuse_another_coup(meant: str | None, present: str) -> Refusal:
    """Refuse a command that was meant for another coup than the present one."""
    return refuse("another_coup", f"this was meant for coup {meant}; the table is at {present}")


def first_refusal(*reasons: tuple[bool, str, str]) -> Refusal | None:
    """Return the first of the reasons (does it hold, code, text) that holds; else None."""
    for holds, code, text in reasons:
        if holds:
            return refuse(code, text)
    return None
