"""The chart of accounts, as data. Pure.

The house keeps the books: a debit is positive, and every entry sums to zero. Amounts are minor
units. The balance of `seat` is what the house holds of a seat's chips, and so what that seat has
lost.
"""

from typing import Final, Literal

from msgspec import Struct

__all__ = ["ACCOUNTS", "LAID", "Account", "Nature"]

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
