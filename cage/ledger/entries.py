"""The ledger's data types: postings, entries, and the state between two events. Pure.

The chart of accounts, as data. The house keeps the books: a debit is positive, and every entry sums
to zero. Amounts are minor units. The balance of `seat` is what the house holds of a seat's chips,
and so what that seat has lost.
"""

from typing import Final, Literal

import msgspec
from msgspec import Struct

from events.errors import LedgerError
from events.types import Wager

__all__ = [
    "ACCOUNTS",
    "LAID",
    "Account",
    "LedgerEntry",
    "Nature",
    "Posting",
    "PostingState",
    "SeatCommission",
    "read_state",
]

Nature = Literal["asset", "liability", "income", "token"]


class Account(Struct, frozen=True):
    """One account.

    Args:
        nature: the account's side of the books; `token` accounts hold no money.
        holds: what the balance means, in words; a credit balance is negative.
    """

    nature: Nature
    holds: str


ACCOUNTS: Final[dict[str, Account]] = {
    "seat": Account("asset", "chips handed over by seats, less what they were handed"),
    "tokes": Account("asset", "the same of wagers for the dealers"),
    "pool": Account("liability", "wagers on the layout"),
    "laid": Account("liability", "commission laid beside wagers before the hand"),
    "win": Account("income", "stakes lost, less winnings before commission"),
    "commission": Account("income", "commission accrued, less reversed"),
    "outstanding": Account("asset", "commission owed by seats"),
    "collected": Account("asset", "commission taken, in any way"),
    "uncollected": Account("asset", "commission given up and still unpaid"),
    "recovered": Account("asset", "commission paid after it had been given up"),
    "refundable": Account("liability", "commission reversed after it was taken, to be given back"),
    "float": Account("asset", "chips counted into the tray, less counted out and dropped"),
    "cage": Account("liability", "chips that the table had of the cage, less those given back"),
    "drop": Account("asset", "what the counted drop boxes held"),
    "promo": Account("token", "tokens handed over by seats, less those handed back"),
    "promo_laid": Account("token", "tokens on the layout"),
    "promo_used": Account("token", "tokens forfeited"),
}
LAID: Final[dict[str, tuple[str, str]]] = {
    "chips": ("seat", "pool"),
    "toke": ("tokes", "pool"),
    "promo": ("promo", "promo_laid"),
}
"""Kind of wager to (account that gives the stake, account that holds it)."""


class Posting(Struct, frozen=True, order=True):
    """An amount on one account, in minor units; a debit is positive.

    Args:
        account: a key of `ACCOUNTS`.
        seat: 1 to 99; 0 for no seat.
        bet: the bet's id, or empty.
        result: the result of a settled wager; else empty.
        amount: never zero.
        patron: the wager's opaque reference, or empty.
    """

    account: str
    seat: int
    bet: str
    result: str
    amount: int
    patron: str = ""


class LedgerEntry(Struct, frozen=True, kw_only=True):
    """A ledger entry: the balanced postings of one event, booked together or not at all.

    Args:
        ref: unique in the book: the settlement's id, or the event's.
        kind: the event's type, or `reversal`.
        coup: the coup's id, or empty.
        shoe: the coup's shoe, or the shoe on the table; empty before the first.
        phase: the settlement's phase; else 0.
        rulebook: the settlement's rulebook; else empty.
        reverses: the id of the settlement that the entry reverses, or empty.
        day: the business day that the event names; empty to use the shoe's.
        detail: the event about chips, as JSON; else empty.
        currency: ISO 4217; empty for chips of the tray, and in all entries of old.
        postings: sum to zero; none where no value moves, such as for a void coup without wagers.
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
    currency: str = ""
    postings: tuple[Posting, ...]


class SeatCommission(Struct, frozen=True):
    """One seat's commission balances by a log of 0.1.0, in minor units."""

    seat: int
    outstanding: int = 0
    uncollected: int = 0
    collected: int = 0
    recovered: int = 0


class PostingState(Struct, frozen=True, kw_only=True):
    """The state that posting keeps between two events.

    Args:
        shoe: the id of the shoe on the table, or empty.
        layout: the wagers of the coup opened last, settled ones included.
        owing: the seats with commission by events of 0.1.0, in seat order.
        currency: of the rulebook in force, ISO 4217; empty in logs of old.
    """

    shoe: str = ""
    layout: tuple[Wager, ...] = ()
    owing: tuple[SeatCommission, ...] = ()
    currency: str = ""


def read_state(text: str) -> PostingState:
    """Return a stored state.

    Raises:
        LedgerError: it is none that a booking has stored.
    """
    try:
        return msgspec.json.decode(text, type=PostingState)
    except (ValueError, RecursionError) as error:
        raise LedgerError(f"the ledger's state is not what a booking stores: {error}") from error
