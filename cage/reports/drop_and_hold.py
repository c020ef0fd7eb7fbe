"""The float report: a table's chip inventory, drop and hold, compared with the wagers.

Between two counts of the tray, chips move in three ways only: to and from the cage, by slips; with
wagers won and lost; and to patrons who bought chips and whose money is in the drop box. So

    movement = closing + credits - opening - fills     what the tray gained apart from cage slips
    won      = stakes lost - winnings + commission taken, while the float was open
    drop due = won - movement                          what the boxes must hold, by the wagers
    win      = movement + drop                         by the count
    difference = win - won = drop - drop due           zero, or somebody must explain it
    hold     = win / drop                              by the count, else won / drop due

Casinos compute their win the same way, as closing + credits + drop - opening - fills.
docs/money/ledger.md works an example. An open float is reported as of its last count.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import func, select

from cage.ledger.chip_posting import CHIP_EVENT_TYPES, business_day_of, decode_chip_event
from cage.ledger.reading import Filter, Ledger
from cage.ledger.sql_tables import BOOK, ENTRY, POSTING
from events.errors import LedgerError
from events.types import (
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

__all__ = [
    "BoxLine",
    "DenominationLine",
    "FloatHistory",
    "FloatReport",
    "MoveLine",
    "MoveRow",
    "float_reports",
    "read_floats",
]

_WON: Final = {"win": -1, "collected": 1, "recovered": 1}
"""The accounts whose chips reach the tray with wagers, and the sign of each."""
_EVER: Final = 2**63  # after every position


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


class DenominationLine(Struct, frozen=True, kw_only=True):
    """Pieces of one denomination; `closing` is None before the first count after the opening."""

    denomination: int
    opening: int
    fills: int
    credits: int
    closing: int | None


class FloatReport(Struct, frozen=True, kw_only=True):
    """The report of one float. Amounts are minor units; None if a count is missing.

    Args:
        table: `<site>/<table>`.
        float_id: `YYYYMMDD-NN`.
        day: business day.
        currency: ISO 4217.
        opened: time of the opening, RFC 3339.
        counted: time of the count in `closing`; empty before the first.
        closed: whether that count closed the float.
        opening: the count at the opening.
        fills: what the cage delivered.
        credits: what the cage took back.
        closing: the closing count, or the last one; None before the first count.
        movement: closing and credits less opening and fills.
        won: the win by the wagers up to `counted`, including commission taken.
        drop_due: what the boxes must hold by the wagers.
        drop: what the boxes held; None until one is counted.
        win: by the count of the boxes; None while the float is open.
        difference: win less won.
        hold: win divided by drop, to four places; None if nothing was dropped.
        opening_difference: opening less the closing of the float before; None for the first.
        repeated: slips whose number another float of this table also has.
        denominations: pieces, by size.
        moves: every count and slip, in order.
        boxes: every drop box.
    """

    table: str
    float_id: str
    day: str
    currency: str
    opened: str
    counted: str
    closed: bool
    opening: int
    fills: int
    credits: int
    closing: int | None
    movement: int | None
    won: int | None
    drop_due: int | None
    drop: int | None
    win: int | None
    difference: int | None
    hold: float | None
    opening_difference: int | None
    repeated: tuple[str, ...]
    denominations: tuple[DenominationLine, ...]
    moves: tuple[MoveLine, ...]
    boxes: tuple[BoxLine, ...]


def float_reports(ledger: Ledger, chosen: Filter) -> list[FloatReport]:
    """Return a report for each float, in order, table by table.

    Args:
        ledger: the snapshot to read.
        chosen: only its table and day count; a float has no shoes, seats or bets.

    Raises:
        LedgerError: an entry does not hold its event, or names a float that was never opened.
    """
    found: list[FloatReport] = []
    for table, floats in read_floats(ledger, chosen.table).items():
        used = Counter(key for each in floats for key in each.slips)
        before: FloatHistory | None = None
        for each in floats:
            if chosen.day in {None, business_day_of(each.float_id)}:
                found.append(_report(ledger, table, each, before, used))
            before = each
    return found


def _report(
    ledger: Ledger,
    table: str,
    each: FloatHistory,
    before: FloatHistory | None,
    used: Counter[tuple[str, str]],
) -> FloatReport:
    opening, last = each.opening.line.amount, each.last
    end = last.position if last else _EVER
    fills, credits_ = (
        sum(row.line.amount for row in each.moved(move, end)) for move in ("fill", "credit")
    )
    movement = last.line.amount + credits_ - opening - fills if last else None
    won = _won(ledger, each, last) if last else None
    due = None if won is None or movement is None else won - movement
    drop = sum(box.amount for box in each.boxes.values()) if each.boxes else None
    win = None if drop is None or movement is None or not each.closing else movement + drop
    left = before.closing if before else None
    return FloatReport(
        table=table,
        float_id=each.float_id,
        day=business_day_of(each.float_id),
        currency=each.currency,
        opened=each.opening.line.at,
        counted=last.line.at if last else "",
        closed=each.closing is not None,
        opening=opening,
        fills=fills,
        credits=credits_,
        closing=last.line.amount if last else None,
        movement=movement,
        won=won,
        drop_due=due,
        drop=drop,
        win=win,
        difference=None if win is None or won is None else win - won,
        hold=_ratio(won, due) if win is None else _ratio(win, drop),
        opening_difference=opening - left.line.amount if left else None,
        repeated=tuple(f"{move} {name}" for move, name in each.slips if used[move, name] > 1),
        denominations=tuple(_denominations(each, end)),
        moves=tuple(row.line for row in sorted(each.rows.values(), key=lambda row: row.position)),
        boxes=tuple(each.boxes.values()),
    )


def _ratio(win: int | None, drop: int | None) -> float | None:
    return round(win / drop, 4) if win is not None and drop and drop > 0 else None


def _won(ledger: Ledger, each: FloatHistory, last: MoveRow) -> int:
    """Return what wagers brought to the tray between the opening and a count."""
    asked = (
        select(POSTING.c.account, func.sum(POSTING.c.amount))
        .where(
            POSTING.c.book == each.book,
            POSTING.c.account.in_(_WON),
            POSTING.c.position > each.opening.position,
            POSTING.c.position < last.position,
        )
        .group_by(POSTING.c.account)
    )
    return sum(_WON[account] * int(amount) for account, amount in ledger.connection.execute(asked))


def _denominations(each: FloatHistory, end: int) -> Iterator[DenominationLine]:
    pieces: dict[str, Counter[int]] = {}
    for move in ("opening", "fill", "credit"):
        pieces[move] = Counter()
        for row in each.moved(move, end):
            pieces[move].update({chip.denomination: chip.pieces for chip in row.chips})
    last = each.last
    closing = None if last is None else {chip.denomination: chip.pieces for chip in last.chips}
    for size in sorted({*(s for counted in pieces.values() for s in counted), *(closing or ())}):
        yield DenominationLine(
            denomination=size,
            opening=pieces["opening"][size],
            fills=pieces["fill"][size],
            credits=pieces["credit"][size],
            closing=None if closing is None else closing.get(size, 0),
        )
