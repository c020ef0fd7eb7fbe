"""The table's chips in the books: what the cage gave the table, and what its boxes held. Pure.

    float opened, filled     float +a    cage -a
    credited, closed         cage +a     float -a
    a drop box counted       drop +a     float -a
    a tray counted           nothing moves; the count is kept
    corrected, counted again the difference, the same way

What wagers move in the tray is booked with the wagers. So between two counts `float` is what the
tray must have lost to whoever bought chips or won: with a closing and the drop booked, the credit
that is left on it is the win by the count, to be held against the win by the wagers.

Each entry keeps its fact whole, as JSON, for the slips and pieces that a report prints.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from cage.ledger.entries import Entry, Posting
from events.errors import LedgerError
from events.types.chips import (
    MOVES,
    ChipFact,
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

__all__ = ["CHIP_FACTS", "chip_entry", "day_of", "fact_of"]

_DAY: Final = len("YYYYMMDD")


def chip_entry(event: ChipFact, *, ref: str, shoe: str) -> Entry:
    """What is booked for a fact about chips.

    Args:
        event: the fact.
        ref: the event's id.
        shoe: the one on the table, or empty.

    Raises:
        LedgerError: its amount is not what its pieces come to.
    """
    if amount_of(_pieces(event)) != event.amount:
        raise LedgerError(
            f"{event.TYPE} of float {event.float_id} says {event.amount}, and its pieces "
            f"come to {amount_of(_pieces(event))}"
        )
    to, of, amount = _RULES[type(event)](event)
    moved = (Posting(of, 0, "", "", -amount), Posting(to, 0, "", "", amount)) if amount else ()
    return Entry(
        ref=ref,
        kind=event.TYPE,
        coup="",
        shoe=shoe,
        day=day_of(event.float_id),
        detail=msgspec.json.encode(event).decode(),
        postings=tuple(sorted(moved)),
    )


def day_of(name: str) -> str:
    """The business day that a float's or a shoe's id begins with, YYYY-MM-DD."""
    digits = name[:_DAY]
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"


def fact_of(kind: str, detail: str) -> ChipFact:
    """The fact that an entry keeps.

    Raises:
        LedgerError: it was edited.
    """
    try:
        return _decoders[kind].decode(detail)
    except (msgspec.MsgspecError, KeyError) as error:
        raise LedgerError(f"an entry of kind {kind} does not hold its fact: {error}") from error


def _pieces(event: ChipFact) -> Iterable[Pieces]:
    found: tuple[Pieces, ...] = event.notes if isinstance(event, DropCounted) else event.chips  # type: ignore[attr-defined]  # all others
    return found


# (account debited, account credited, amount)
_Sides = tuple[str, str, int]


def _corrected(event: ChipsCorrected) -> _Sides:
    return "float", "cage", MOVES[event.move] * (event.amount - event.was)


_RULES: Final[dict[type[ChipFact], Callable[[Any], _Sides]]] = {
    FloatOpened: lambda event: ("float", "cage", event.amount),
    ChipsFilled: lambda event: ("float", "cage", event.amount),
    ChipsCredited: lambda event: ("cage", "float", event.amount),
    FloatClosed: lambda event: ("cage", "float", event.amount),
    ChipsCounted: lambda _: ("float", "cage", 0),
    DropCounted: lambda event: ("drop", "float", event.amount - event.was),
    ChipsCorrected: _corrected,
}
CHIP_FACTS: Final = tuple(_RULES)
"""The types of facts about chips."""
_decoders: Final = {kind.TYPE: msgspec.json.Decoder(kind) for kind in CHIP_FACTS}
