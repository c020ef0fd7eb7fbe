"""Read a log file as the facts of a replay, streaming: few events are in memory at a time."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from events.clock import rfc3339
from events.errors import InputError
from events.free_text import whole_number
from events.log.editions import RULEBOOKS
from events.log.reader import LogReader
from events.money import MAX_AMOUNT
from table_core.fold.dispatch import fold_all
from table_core.projections.table_document import StateView, project_table
from table_core.replay.coup_events import LoggedEvent, Moment, decode_row, moments, stored_entry
from table_core.rules.rulebook import Rulebook
from table_core.state.table import TableState

__all__ = [
    "At",
    "facts",
    "missing_rulebook",
    "parse_at",
    "replay",
    "state_at",
    "view_of",
]

_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)\Z",
    re.ASCII,
)
_NANOSECONDS: Final = 9
_SHOWN: Final = 3  # decimals of the times that a person is shown
_BILLION: Final = 10**9
# Reading, decoding and folding many events in turns takes a tenth less time than one by one.
_BATCH: Final = 500

At = int | str
"""A position, or a time in the form of the log's own stamps."""


def facts(log: LogReader) -> Iterator[LoggedEvent]:
    """Yield every event of the log, decoded, in order.

    Raises:
        LogRefused: an event is missing, does not match its hash, or cannot be read by this build.
    """
    return map(decode_row, log.bare())


def replay(log: LogReader) -> Iterator[Moment]:
    """Yield the table before and after every event; the live table's own fold, without effects."""
    return moments(facts(log))


def parse_at(text: str) -> At:
    """Read a position, or a time by RFC 3339; a millisecond, as people are shown, is a whole one.

    Raises:
        InputError: it is neither.
    """
    position = whole_number(text, MAX_AMOUNT)
    if position == 0:
        raise InputError("--at 0: positions begin at 1")
    if position is not None:
        return position
    match = _TIME.match(text)
    if match is None:
        raise InputError(
            f"--at {text!r}: write a position such as 120, or a time with its zone such as "
            "2026-11-27T21:40:07Z or 2026-11-27T21:40:07.5+11:00"
        )
    day, clock, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{zone.upper().replace('Z', '+00:00')}")
        seconds = int(moment.astimezone(UTC).timestamp())
    except (ValueError, OverflowError) as error:
        raise InputError(f"--at {text!r}: no such time: {error}") from error
    decimals = fraction or "0"
    rest = "9" if len(decimals) == _SHOWN else "0"
    return rfc3339(seconds * _BILLION + int(decimals.ljust(_NANOSECONDS, rest)))


def state_at(log: LogReader, at: At) -> TableState:
    """Return the table as of a position, or of the newest event not later than a time.

    Raises:
        InputError: the log does not reach there.
        LogRefused: as `facts`.
    """
    if isinstance(at, int):
        if at > log.end:
            raise InputError(f"--at {at}: the log ends at position {log.end}")
        state, rows = TableState(), islice(log.bare(), at)
        while batch := list(islice(rows, _BATCH)):
            events = [stored_entry(position, stored).data for position, stored, _ in batch]
            state = fold_all(state, events)
        return state
    last, first = None, ""
    for moment in replay(log):
        first = first or moment.fact.at
        if (
            moment.fact.at <= at
        ):  # all stamps have one form and length, so their order as texts is their order in time
            last = moment.after
    if last is None:
        begins = f"its first event is of {first}" if first else "it has no events"
        raise InputError(f"--at {at}: the log is younger: {begins}")
    return last


def view_of(state: TableState, log: LogReader, books: Mapping[str, Rulebook]) -> StateView:
    """Return the `state` message that the live table publishes at that moment.

    Raises:
        InputError: the rulebook in force is not at hand.
    """
    book = books.get(state.rulebook_hash)
    if book is None:
        raise InputError(missing_rulebook(state.rulebook, state.rulebook_hash))
    table = log.origin.partition("/")[2]
    return project_table(state, table=table, rulebook=book, catching_up=False)


def missing_rulebook(name: str, digest: str) -> str:
    """Return the message for a rulebook that is needed and not at hand."""
    return (
        f"rulebook {name or '(none)'} with hash {digest or '(none)'} lies neither in the folder "
        f"{RULEBOOKS} beside the log nor in this build; name its file with --rulebook FILE.toml"
    )
