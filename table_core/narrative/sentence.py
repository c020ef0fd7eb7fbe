"""What the words for an event are made of: a sentence, its details, and what it is about. Pure."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from events.types.table import TableEvent
from table_core.replay.coup_events import Moment

__all__ = ["Told", "Tone", "Words", "fields_of", "plain"]

Tone = Literal["plain", "card", "money", "trouble", "decision"]
"""What a line is about: `trouble` went wrong, a `decision` was taken by a person."""


class Told(Struct, frozen=True):
    """An event in words.

    Args:
        says: what happened, in a sentence.
        details: what belongs to it, a line each.
        tone: what it is about.
    """

    says: str
    details: tuple[str, ...] = ()
    tone: Tone = "plain"


Words = Callable[[Any, Moment, str], Told]
"""Words for one type of event: the event, the table around it, and the currency."""


def plain(says: Callable[[Any], str], tone: Tone = "plain") -> Words:
    """Words for an event that a sentence tells whole."""
    return lambda event, _, __: Told(says(event), (), tone)


def fields_of(event: TableEvent, _: Moment, __: str) -> Told:
    """Words for an event that has none of its own: its name and all its fields."""
    details = tuple(
        f"{name.replace('_', ' ')}: {msgspec.to_builtins(getattr(event, name))}"
        for name in event.__struct_fields__
    )
    return Told(f"{event.TYPE.replace('_', ' ').capitalize()}.", details)
