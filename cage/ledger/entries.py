"""What the ledger is made of: postings, entries, and what is known between two events. Pure."""

from msgspec import Struct

from events.types.table import Wager

__all__ = ["Books", "Entry", "Owing", "Posting"]


class Posting(Struct, frozen=True, order=True):
    """So much on one account, minor units; a debit is positive.

    Args:
        account: of `cage.accounts`.
        seat: 1 to 99; 0 where it is nobody's.
        bet: the bet's id, or empty.
        result: what became of the wager, where it was settled; else empty.
        amount: never nothing.
        patron: the wager's opaque reference, where there was one; else empty.
    """

    account: str
    seat: int
    bet: str
    result: str
    amount: int
    patron: str = ""


class Entry(Struct, frozen=True, kw_only=True):
    """What is booked for one fact, whole or not at all.

    Args:
        ref: unique in the book: the settlement's id, or the event's.
        kind: the event's type, or `reversal`.
        coup: the coup's id, or empty.
        shoe: the coup's shoe, or the one on the table; empty before the first.
        phase: of a settlement, else 0.
        rulebook: of a settlement, else empty.
        reverses: the settlement that it takes back, or empty.
        day: the business day, where the fact itself says it; empty for that of the shoe.
        detail: the fact about chips itself, as JSON; else empty.
        postings: sum to zero; none where nothing lay that could move, as when a coup without
            wagers is void.
    """

    ref: str
    kind: str
    coup: str
    shoe: str
    phase: int = 0
    rulebook: str = ""
    reverses: str = ""
    day: str = ""
    detail: str = ""
    postings: tuple[Posting, ...]


class Owing(Struct, frozen=True):
    """How one seat's commission stands, minor units."""

    seat: int
    outstanding: int = 0
    uncollected: int = 0
    collected: int = 0
    recovered: int = 0


class Books(Struct, frozen=True, kw_only=True):
    """What the next event needs to know of those before it.

    Args:
        shoe: on the table, or empty.
        layout: the wagers of the coup that was opened last, settled ones included.
        owing: the seats with commission, in seat order.
    """

    shoe: str = ""
    layout: tuple[Wager, ...] = ()
    owing: tuple[Owing, ...] = ()
