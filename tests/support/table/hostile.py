"""Texts that harm whoever takes them as they come, and a log that an earlier build filled with."""

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import msgspec

from events.clock import rfc3339
from events.log.reader import reading
from events.log.schema import OWN_ACTORS
from events.log.store import EventLog
from events.types import DealerAssigned, ShoeLoaded, TableEvent
from tests.support.log.logs import json_bytes, stored_bytes, to_append
from tests.support.property.logs import BEGIN_S
from tests.support.table.chip_day import chip_day

REFUSED: Final = {
    "line ends": "a\r\n\tb\n",
    "an escape": "\x1b[2J\x1b[1A\x07\x9b2K",
    "a NUL": "\0",
    "directions": "\u202e7\u2066\u200f",
    "separators": "\u2028\u2029\x85",
    "decomposed": "re\u0301",
    "decomposed Hangul": "\u1112\u1161\u11ab",
    "a little too long": "x" * 500,
    "huge": "x" * 200_000,
}
"""What is added to a text so that a command with it is refused."""

ACCEPTED: Final = {
    "look-alikes": "\u0440-17\u200b",  # a Cyrillic letter, and a space of no width
    "beyond 16 bits": "\U00020bb7\U0001f0a1",
    "marks": "x" + "\u0336" * 40,
    "markup": "<script>alert()</script>[/red]{{7}}%s",
    "SQL": "'); DROP TABLE posting; --",
    "a path": "../../etc/passwd",
    "topics": "+/#/$SYS",
    "escapes": r"\u0000 \n \x1b",
}
"""What is added so that a command with it is accepted."""

# Fields of events whose text people or devices wrote.
_FREE: Final = {
    *("patron", "reason", "slip", "reference", "signed", "occasion", "box"),
    *("dealer", "supervisor", "text", "detail"),
}


def places(tree: Any, *path: str | int) -> Iterator[tuple[str | int, ...]]:
    """Where texts stand in a body."""
    if isinstance(tree, str):
        yield path
    elif isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from places(value, *path, key)


def spoilt_body(body: dict[str, Any], path: tuple[str | int, ...], more: str) -> dict[str, Any]:
    """The body with more in one of its texts."""
    made = deepcopy(body)
    at: Any = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] += more
    return made


def _spoilt(tree: Any, more: str, *, free: bool) -> Any:
    if isinstance(tree, dict):
        return {key: _spoilt(each, more, free=key in _FREE) for key, each in tree.items()}
    if isinstance(tree, list | tuple):
        return [_spoilt(each, more, free=free) for each in tree]
    return f"{more}{tree}{more}" if free and isinstance(tree, str) and tree else tree


def _day(more: str) -> Sequence[TableEvent]:
    """A day of chips and wagers with more before and behind each text."""
    day = chip_day()
    begun = next(at for at, event in enumerate(day) if isinstance(event, ShoeLoaded))
    day.insert(begun, DealerAssigned(dealer="d-1", supervisor="s-1"))
    return [
        msgspec.convert(_spoilt(msgspec.to_builtins(event), more, free=False), type(event))
        for event in day
    ]


def rewrite_hostile(source: Path, path: Path, origin: str, more: str) -> None:
    """Write an honest log again, as a build wrote it that took any text.

    Args:
        source: the honest log.
        path: of the new one.
        origin: of both.
        more: what stands before and after each text that people wrote.
    """
    with reading(source) as honest, EventLog.open(path, origin) as log:
        told = [json.loads(each.stored) for each in honest.read()]
        for (actor, cause), group in groupby(told, key=itemgetter("actor", "cause")):
            events = [to_append(json_bytes(_spoilt(each, more, free=False))) for each in group]
            request = None if actor in OWN_ACTORS else (cause, b"{}")
            log.append(log.position, events, request)


def write_hostile_log(path: Path, origin: str, more: str) -> None:
    """The day in a log, as a build wrote it that took any text, actors and transactions too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    person = f"console:p-1{more[:1000]}"
    with EventLog.open(path, origin) as log:
        for position, event in enumerate(_day(more), 1):
            cause = f"{person}/t-{position}{more[:1000]}"
            stored = stored_bytes(
                event,
                position,
                stream=origin,
                actor=person,
                cause=cause,
                at=rfc3339((BEGIN_S + position) * 1_000_000_000),
                correlation=str(getattr(event, "coup", None) or ""),
            )
            log.append(position - 1, [to_append(stored)], (cause, b"{}"))
