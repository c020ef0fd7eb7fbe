"""The parts of a narrated event: a sentence, its details, and its subject. Pure."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from events.types.table import TableEvent
from table_core.replay.coup_events import Moment

__all__ = ["EventWords", "Tone", "WordsOf", "list_fields", "plain_words"]

Tone = Literal["plain", "card", "money", "trouble", "decision"]
"""The subject of a line: in `trouble` something went wrong, in a `decision` a person decided."""


class EventWords(Struct, frozen=True):
    """An event in words.

    Args:
        says: the event as a sentence.
        details: further lines.
        tone: its subject.
    """

    says: str
    details: tuple[str, ...] = ()
    tone: Tone = "plain"


WordsOf = Callable[[Any, Moment, str], EventWords]
"""Makes the words of one type of event from the event, the moment around it, and the currency."""


def plain_words(says: Callable[[Any], str], tone: Tone = "plain") -> WordsOf:
    """Return a function for an event that one sentence describes completely."""
    return lambda event, _, __: EventWords(says(event), (), tone)


def list_fields(event: TableEvent, _: Moment, __: str) -> EventWords:
    """Return the words of an event that has no function of its own: its name and all its fields."""
    details = tuple(
        f"{name.replace('_', ' ')}: {msgspec.to_builtins(getattr(event, name))}"
        for name in event.__struct_fields__
    )
    return EventWords(f"{event.TYPE.replace('_', ' ').capitalize()}.", details)
