"""The right book of a consumer, its actual book, and the difference between the two. Pure.

A book has, by seat, the sums of `staked`, `paid` and `commission` over the settlements in force;
one that a later revision names in `reverses` is not in force. Stakes of wagers that were never
settled are in no book of settlements. A token of kind `promo` counts no stake.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from cage.reports.outside_book import BookRow
from events.errors import InputError, MalformedJson
from events.json_form import decode_json_once
from events.types import Refund, Settlement, SettlementLine

__all__ = [
    "ConsumerBook",
    "SeatSums",
    "book_of_rows",
    "difference",
    "likely_mistake",
    "read_book",
    "right_book",
]

_SUMS: Final = ("staked", "paid", "commission")
_Row: TypeAlias = tuple[int, int, int, int]
"""Seat, staked, paid and commission."""


class SeatSums(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One seat's sums, minor units."""

    staked: int = 0
    paid: int = 0
    commission: int = 0


class ConsumerBook(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A consumer's book.

    Args:
        seats: by seat, `"1"` to `"99"`; one without sums may be left out.
        settlements: the ids in force, if the consumer reports them; then a difference can be named.
    """

    seats: dict[Annotated[str, Meta(pattern=r"\A[1-9][0-9]?\Z")], SeatSums]
    settlements: tuple[str, ...] | None = None


def read_book(text: bytes) -> ConsumerBook:
    """Read a book from JSON.

    Raises:
        InputError: it is not a book; names the fault.
    """
    try:
        return decode_json_once(text, ConsumerBook)
    except MalformedJson as error:
        raise InputError(
            f"the book is not read: {error}; it looks like "
            '{"seats": {"3": {"staked": 2500, "paid": 0, "commission": 0}}}'
        ) from error


def right_book(settlements: Iterable[Settlement]) -> ConsumerBook:
    """Return the book of a consumer that has booked all of these once, whatever their order."""
    counting = _in_force(_once(settlements))
    names = tuple(settlement.settlement_id for settlement in counting)
    return ConsumerBook(seats=_book(_rows(counting)).seats, settlements=names)


def book_of_rows(rows: Iterable[BookRow]) -> ConsumerBook:
    """Return the sums of a book of rows."""
    return _book((row.seat, row.staked, row.paid, row.commission) for row in rows)


def difference(right: ConsumerBook, theirs: ConsumerBook) -> str | None:
    """Return the first difference in one line, or None where the books agree."""
    if theirs.settlements is not None and right.settlements is not None:
        for name in theirs.settlements:
            if name not in right.settlements:
                return f"settlement {name} counts in the book, and is not in force"
            if theirs.settlements.count(name) > 1:
                return f"settlement {name} counts more than once in the book"
        for name in right.settlements:
            if name not in theirs.settlements:
                return f"settlement {name} is not in the book"
    for seat in sorted(right.seats.keys() | theirs.seats.keys(), key=int):
        ours, its = right.seats.get(seat, SeatSums()), theirs.seats.get(seat, SeatSums())
        for name in _SUMS:
            if getattr(ours, name) != getattr(its, name):
                return f"seat {seat}: {name} {getattr(its, name)}, right is {getattr(ours, name)}"
    return None


def likely_mistake(
    theirs: ConsumerBook,
    settlements: Sequence[Settlement],
    delivered: Mapping[str, Sequence[Settlement]],
    returned: Mapping[str, Sequence[Refund]] = MappingProxyType({}),
) -> str | None:
    """Return the mistake that would turn the feed into exactly this book, if there is one.

    Args:
        theirs: the wrong book.
        settlements: all of the log's.
        delivered: the settlements as they arrived, with repetitions, by their topic.
        returned: the stakes that went back without a settlement, by the type of event.
    """
    bare, right = ConsumerBook(seats=theirs.seats), right_book(settlements)
    return next(
        (
            said
            for said, rows in _mistakes(settlements, delivered, returned)
            if difference(right, (book := _book(rows))) and not difference(book, bare)
        ),
        None,
    )


def _mistakes(
    settlements: Sequence[Settlement],
    delivered: Mapping[str, Sequence[Settlement]],
    returned: Mapping[str, Sequence[Refund]],
) -> Iterator[tuple[str, Iterable[_Row]]]:
    """Yield each known mistake with the book that it makes."""
    counting, changes = _in_force(settlements), list(_changes(settlements))
    yield "it does not take back what a revision reverses", _rows(settlements)
    yield "it leaves out revisions", _rows(each for each in settlements if each.revision == 1)
    for booked in (
        _rows(counting),
        _rows(settlements),
        _rows(each for each in counting if each.revision == 1),
    ):
        says = "it books a revision twice: as the reversal of a settlement and by its `difference`"
        yield says, [*booked, *changes]
    for phase in (1, 2):
        of = (each for each in counting if each.phase != phase)
        yield f"it leaves out the settlements of phase {phase}", _rows(of)
    for says, read in _MISREAD.items():
        yield says, _rows(counting, read)
    kept = {name: [(each.seat, each.stake, 0, 0) for each in of] for name, of in returned.items()}
    for name, stakes in kept.items():
        yield f"it keeps the stakes that `{name}` gives back", [*_rows(counting), *stakes]
    every = [row for stakes in kept.values() for row in stakes]
    yield "it keeps the stakes of wagers that were never settled", [*_rows(counting), *every]
    for way, came in delivered.items():
        yield f"it goes on behind a gap, on {way}", _rows(_in_force(_once(came)))
        booked_by = (_rows(_in_force(came)), _reversing(came), _changes(came, of_all=True))
        for twice in booked_by:
            yield f"it books what comes twice, from {way}", twice
        says = f"it books every message, from {way}, and takes back nothing"
        yield says, _rows(came)


def _right(line: SettlementLine) -> _Row:
    return line.seat, 0 if line.kind == "promo" else line.stake, line.paid, line.commission


_MISREAD: Final[Mapping[str, Callable[[SettlementLine], _Row | None]]] = {
    "it counts the stakes of promo tokens as money": lambda line: (
        (line.seat, line.stake, line.paid, line.commission)
    ),
    "it gives the stakes of promo tokens back": lambda line: _plus(
        line, line.stake if line.kind == "promo" and line.result != "lose" else 0
    ),
    "it adds the commission to `paid`, which the house keeps": lambda line: _plus(
        line, line.commission
    ),
    "it takes the commission off `paid` once more": lambda line: _plus(line, -line.commission),
    "it books the winnings as paid, without the stakes that go back": lambda line: _plus(
        line, line.winnings - line.paid
    ),
    "it leaves out the stakes that go back": lambda line: _plus(
        line, line.winnings - line.commission - line.paid
    ),
    "it books no commission": lambda line: (*_right(line)[:3], 0),
    "it leaves out wagers that lose": lambda line: _unless(line, "lose"),
    "it leaves out wagers that push": lambda line: _unless(line, "push"),
    "it leaves out wagers that are void": lambda line: _unless(line, "void"),
}
"""By the mistake, how a line of a settlement is then read."""


def _plus(line: SettlementLine, more: int) -> _Row:
    seat, staked, paid, commission = _right(line)
    return seat, staked, paid + more, commission


def _unless(line: SettlementLine, result: str) -> _Row | None:
    return None if line.result == result else _right(line)


def _rows(
    settlements: Iterable[Settlement],
    read: Callable[[SettlementLine], _Row | None] = _right,
) -> list[_Row]:
    lines = (line for settlement in settlements for line in settlement.lines)
    return [row for row in map(read, lines) if row is not None]


def _once(settlements: Iterable[Settlement]) -> list[Settlement]:
    return list({each.settlement_id: each for each in settlements}.values())


def _in_force(settlements: Sequence[Settlement]) -> list[Settlement]:
    reversed_ = {each.reverses for each in settlements}
    return [each for each in settlements if each.settlement_id not in reversed_]


def _reversing(settlements: Sequence[Settlement]) -> Iterator[_Row]:
    """Yield the rows of a book that answers each revision with rows of the opposite sign."""
    known = {each.settlement_id: each for each in settlements}
    for each in settlements:
        yield from _rows([each])
        if each.reverses in known:
            for seat, *sums in _rows([known[each.reverses]]):
                staked, paid, commission = (-amount for amount in sums)
                yield seat, staked, paid, commission


def _changes(settlements: Iterable[Settlement], *, of_all: bool = False) -> Iterator[_Row]:
    """Yield the differences of revisions; `of_all`, and the lines of first settlements."""
    for each in settlements:
        if each.reverses is not None:
            for d in each.difference or ():
                yield d.seat, d.staked, d.paid, d.commission
        elif of_all:
            yield from _rows([each])


def _book(rows: Iterable[_Row]) -> ConsumerBook:
    seats: dict[int, list[int]] = {}
    for seat, *sums in rows:
        before = seats.get(seat, [0, 0, 0])
        seats[seat] = [old + new for old, new in zip(before, sums, strict=True)]
    return ConsumerBook(
        seats={
            str(seat): SeatSums(staked=sums[0], paid=sums[1], commission=sums[2])
            for seat, sums in sorted(seats.items())
        }
    )
