"""Reads a table's floats from a ledger: every count, slip and drop box, corrections applied."""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import select

from cage.ledger.chip_posting import CHIP_EVENT_TYPES, decode_chip_event
from cage.ledger.reading import Filter, Ledger
from cage.ledger.sql_tables import BOOK, ENTRY
from events.errors import LedgerError
from events.types.chips import (
    ChipEvent,
    ChipsCorrected,
    ChipsCounted,
    ChipsCredited,
    ChipsFilled,
    DropCounted,
    FloatClosed,
    FloatOpened,
    Pieces,
)

__all__ = ["BoxLine", "FloatHistory", "MoveLine", "MoveRow", "read_floats", "sum_of"]

_KINDS: Final = tuple(kind.TYPE for kind in CHIP_EVENT_TYPES)


class MoveLine(Struct, frozen=True, kw_only=True):
    """A count or a slip, with its corrections applied.

    Args:
        move: `opening`, `fill`, `credit`, `count` or `closing`.
        slip: the slip's number; for a count, its occasion.
        reference: the cage's own reference, or empty.
        at: RFC 3339.
        amount: minor units.
        signed: the people who signed.
        was: the amount before the correction; None if there was none.
        reason: why somebody corrected it.
    """

    move: str
    slip: str = ""
    reference: str = ""
    at: str
    amount: int
    signed: tuple[str, ...]
    was: int | None = None
    reason: str = ""


class BoxLine(Struct, frozen=True, kw_only=True):
    """The last count of a drop box; `was` is the count before it, if any."""

    box: str
    at: str
    amount: int
    signed: tuple[str, ...]
    was: int | None = None
    reason: str = ""


class MoveRow(Struct, frozen=True, kw_only=True):
    """A count or a slip, its pieces, and its event's position in the log."""

    line: MoveLine
    chips: tuple[Pieces, ...]
    position: int


class FloatHistory:
    """One float, folded from its events in order.

    Attributes:
        book: the key of the table's book.
        float_id: `YYYYMMDD-NN`.
        currency: ISO 4217.
        rows: (move, slip's number or count's position) to the current row.
        boxes: drop boxes by number.
    """

    def __init__(self, book: int, opened: FloatOpened) -> None:
        self.book = book
        self.float_id, self.currency = opened.float_id, opened.currency
        self.rows: dict[tuple[str, str], MoveRow] = {}
        self.boxes: dict[str, BoxLine] = {}

    def take(self, event: ChipEvent, position: int, at: str) -> None:
        """Apply the next event.

        Raises:
            KeyError: it corrects a row that does not exist.
        """
        said: dict[str, Any] = {"at": at, "amount": event.amount, "signed": event.signed}
        match event:
            case FloatOpened() | FloatClosed():
                move = "opening" if isinstance(event, FloatOpened) else "closing"
                self._add(MoveLine(move=move, **said), "", event.chips, position)
            case ChipsFilled() | ChipsCredited():
                move = "fill" if isinstance(event, ChipsFilled) else "credit"
                line = MoveLine(move=move, slip=event.slip, reference=event.reference, **said)
                self._add(line, event.slip, event.chips, position)
            case ChipsCounted():
                line = MoveLine(move="count", slip=event.occasion, **said)
                self._add(line, str(position), event.chips, position)
            case ChipsCorrected():
                row = self.rows[event.move, event.slip]
                again = {"amount": event.amount, "was": event.was, "reason": event.reason}
                line = replace(row.line, signed=event.signed, **again)
                self.rows[event.move, event.slip] = replace(row, line=line, chips=event.chips)
            case DropCounted():
                was = event.was if event.reason else None
                self.boxes[event.box] = BoxLine(box=event.box, was=was, reason=event.reason, **said)

    def _add(self, line: MoveLine, key: str, chips: tuple[Pieces, ...], position: int) -> None:
        self.rows[line.move, key] = MoveRow(line=line, chips=chips, position=position)

    @property
    def opening(self) -> MoveRow:
        """The count at the opening."""
        return self.rows["opening", ""]

    @property
    def closing(self) -> MoveRow | None:
        """The count at the closing; None while the float is open."""
        return self.rows.get(("closing", ""))

    @property
    def last(self) -> MoveRow | None:
        """The closing, else the last count after the opening, else None."""
        counts = [row for (move, _), row in self.rows.items() if move == "count"]
        return self.closing or (counts[-1] if counts else None)

    @property
    def slips(self) -> list[tuple[str, str]]:
        """Return (move, number) of each fill and credit."""
        return [key for key in self.rows if key[0] in {"fill", "credit"}]

    def moved(self, move: str, end: int) -> list[MoveRow]:
        """Return the rows of a move up to a position of the log."""
        return [row for row in self.rows.values() if row.line.move == move and row.position <= end]


def read_floats(ledger: Ledger, table: str | None) -> dict[str, list[FloatHistory]]:
    """Return the floats of each table, in the order in which they were opened.

    Args:
        ledger: the snapshot to read.
        table: `<site>/<table>`; None for all.

    Raises:
        LedgerError: an entry does not hold its event, or names a float that was never opened.
    """
    asked = (
        select(BOOK.c.stream, BOOK.c.id, ENTRY.c.position, ENTRY.c.at, ENTRY.c.kind, ENTRY.c.detail)
        .select_from(ENTRY.join(BOOK, BOOK.c.id == ENTRY.c.book))
        .where(ENTRY.c.kind.in_(_KINDS), *Filter(table=table).conditions())
        .order_by(BOOK.c.stream, ENTRY.c.position)
    )
    found: dict[str, dict[str, FloatHistory]] = {}
    for stream, book, position, at, kind, detail in ledger.connection.execute(asked):
        event, floats = decode_chip_event(kind, detail), found.setdefault(stream, {})
        if isinstance(event, FloatOpened):
            floats[event.float_id] = FloatHistory(book, event)
        try:
            floats[event.float_id].take(event, position, at)
        except KeyError as error:
            raise LedgerError(
                f"{stream}: entry {position} is about {error} of a float, which was never booked"
            ) from error
    return {stream: list(floats.values()) for stream, floats in found.items()}


def sum_of(rows: Iterable[MoveRow]) -> int:
    """Return the sum of the rows, in minor units."""
    return sum(row.line.amount for row in rows)
