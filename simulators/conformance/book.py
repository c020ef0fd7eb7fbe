"""The right book of a consumer, its actual book, and the difference between the two. Pure.

A book has, by seat, the sums of `staked`, `paid` and `commission` over the settlements in force;
one that a later revision names in `reverses` is not in force. Stakes of wagers that were never
settled are in no book of settlements. A token of kind `promo` counts no stake.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final

from msgspec import Meta, Struct

from cage.reports.outside_book import BookRow
from events.errors import InputError, MalformedJson
from events.json_form import decode_json
from events.types.table import Settlement

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

    seats: dict[Annotated[str, Meta(pattern="^[1-9][0-9]?$")], SeatSums]
    settlements: tuple[str, ...] | None = None


def read_book(text: bytes) -> ConsumerBook:
    """Read a book from JSON.

    Raises:
        InputError: it is not a book; names the fault.
    """
    try:
        return decode_json(text, ConsumerBook)
    except MalformedJson as error:
        raise InputError(
            f"the book is not read: {error}; it looks like "
            '{"seats": {"3": {"staked": 2500, "paid": 0, "commission": 0}}}'
        ) from error


def right_book(settlements: Iterable[Settlement]) -> ConsumerBook:
    """Return the book of a consumer that has booked all of these once, whatever their order."""
    every = {settlement.settlement_id: settlement for settlement in settlements}
    reversed_ = {settlement.reverses for settlement in every.values()}
    return _summed([its for name, its in every.items() if name not in reversed_])


def book_of_rows(rows: Iterable[BookRow]) -> ConsumerBook:
    """Return the sums of a book of rows."""
    seats: dict[str, SeatSums] = {}
    for row in rows:
        old = seats.get(str(row.seat), SeatSums())
        seats[str(row.seat)] = SeatSums(
            staked=old.staked + row.staked,
            paid=old.paid + row.paid,
            commission=old.commission + row.commission,
        )
    return ConsumerBook(seats=seats)


def _summed(settlements: Sequence[Settlement]) -> ConsumerBook:
    seats: dict[str, SeatSums] = {}
    for line in (line for settlement in settlements for line in settlement.lines):
        before = seats.get(str(line.seat), SeatSums())
        seats[str(line.seat)] = SeatSums(
            staked=before.staked + (0 if line.kind == "promo" else line.stake),
            paid=before.paid + line.paid,
            commission=before.commission + line.commission,
        )
    return ConsumerBook(
        seats=dict(sorted(seats.items(), key=lambda seat: int(seat[0]))),
        settlements=tuple(settlement.settlement_id for settlement in settlements),
    )


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
) -> str | None:
    """Return the mistake that would turn the feed into exactly this book, if there is one.

    Args:
        theirs: the wrong book.
        settlements: all of the log's.
        delivered: the settlements as they arrived, with repetitions, by their topic.
    """
    mistakes = {"it does not take back what a revision reverses": _summed(settlements)}
    for way, came in delivered.items():
        known = {each.reverses for each in came}
        in_force = [each for each in came if each.settlement_id not in known]
        mistakes[f"it goes on behind a gap, on {way}"] = right_book(came)
        mistakes[f"it books what comes twice, from {way}"] = _summed(in_force)
    bare = ConsumerBook(seats=theirs.seats)
    return next((said for said, book in mistakes.items() if not difference(book, bare)), None)
