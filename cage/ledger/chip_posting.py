"""Books fills, credits, counts and drop boxes: from an event about chips to an entry. Pure.

    float opened, filled     float +a    cage -a
    credited, closed         cage +a     float -a
    a drop box counted       drop +a     float -a
    a tray counted           nothing moves; the count is kept
    corrected, counted again the difference, the same way

Chips that wagers move in the tray are booked with the wagers. Between two counts, `float` shows
the chips that the tray must have lost to patrons who bought chips or won. After a closing and the
drop are booked, the credit left on `float` is the win by the count. A report compares it with the
win by the wagers.

Each entry keeps its whole event as JSON, for the slips and pieces that a report prints.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from cage.ledger.entries import LedgerEntry, Posting
from events.errors import LedgerError
from events.types import (
    MOVES,
    ChipEvent,
    ChipsCorrected,
    ChipsCounted,
    ChipsCredited,
    ChipsFilled,
    DropCounted,
    FloatClosed,
    FloatOpened,
    Pieces,
    amount_of,
)

__all__ = ["CHIP_EVENT_TYPES", "business_day_of", "chip_entry", "decode_chip_event"]

_DAY: Final = len("YYYYMMDD")


def chip_entry(event: ChipEvent, *, ref: str, shoe: str) -> LedgerEntry:
    """Return the entry that books an event about chips.

    Args:
        event: what happened to the chips.
        ref: the event's id.
        shoe: the id of the shoe on the table, or empty.

    Raises:
        LedgerError: the event's amount is not the sum of its pieces.
    """
    if amount_of(_pieces(event)) != event.amount:
        raise LedgerError(
            f"{event.TYPE} of float {event.float_id} says {event.amount}, and its pieces "
            f"come to {amount_of(_pieces(event))}"
        )
    to, of, amount = _RULES[type(event)](event)
    moved = (Posting(of, 0, "", "", -amount), Posting(to, 0, "", "", amount)) if amount else ()
    return LedgerEntry(
        ref=ref,
        kind=event.TYPE,
        coup="",
        shoe=shoe,
        day=business_day_of(event.float_id),
        detail=msgspec.json.encode(event).decode(),
        postings=tuple(sorted(moved)),
    )


def business_day_of(name: str) -> str:
    """Return the business day that a float's or a shoe's id begins with, as YYYY-MM-DD."""
    digits = name[:_DAY]
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"


def decode_chip_event(kind: str, detail: str) -> ChipEvent:
    """Decode the event about chips that an entry keeps.

    Raises:
        LedgerError: somebody has edited the entry.
    """
    try:
        return _decoders[kind].decode(detail)
    except (msgspec.MsgspecError, KeyError) as error:
        raise LedgerError(f"an entry of kind {kind} does not hold its fact: {error}") from error


def _pieces(event: ChipEvent) -> Iterable[Pieces]:
    found: tuple[Pieces, ...] = event.notes if isinstance(event, DropCounted) else event.chips  # type: ignore[attr-defined]  # all others
    return found


# (account debited, account credited, amount)
_Sides = tuple[str, str, int]


def _corrected(event: ChipsCorrected) -> _Sides:
    return "float", "cage", MOVES[event.move] * (event.amount - event.was)


_RULES: Final[dict[type[ChipEvent], Callable[[Any], _Sides]]] = {
    FloatOpened: lambda event: ("float", "cage", event.amount),
    ChipsFilled: lambda event: ("float", "cage", event.amount),
    ChipsCredited: lambda event: ("cage", "float", event.amount),
    FloatClosed: lambda event: ("cage", "float", event.amount),
    ChipsCounted: lambda _: ("float", "cage", 0),
    DropCounted: lambda event: ("drop", "float", event.amount - event.was),
    ChipsCorrected: _corrected,
}
CHIP_EVENT_TYPES: Final = tuple(_RULES)
"""The types of events about chips."""
_decoders: Final = {kind.TYPE: msgspec.json.Decoder(kind) for kind in CHIP_EVENT_TYPES}
