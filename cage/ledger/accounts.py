"""The chart of accounts: what the ledger's sums are the sums of. Pure, and data.

The books are the house's, a debit is positive, and every entry sums to zero. Amounts are minor
units. `seat` is at once the house's side of what a patron has: what it holds of a seat's chips is
what that seat has lost by them.
"""

from typing import Final, Literal

from msgspec import Struct

__all__ = ["ACCOUNTS", "LAID", "Account", "Nature"]

Nature = Literal["asset", "liability", "income", "token"]


class Account(Struct, frozen=True):
    """One account.

    Args:
        nature: of which side of the books it is; `token` is no money.
        holds: what its balance is, in words; a credit balance is negative.
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
"""Kind of wager to (who gives it, where it lies)."""
