"""Events about the house's commission, apart from the settlements: due, collected, returned.

A settlement's lines are net, whenever commission is taken. These events record when commission is
due and when its money moves. Each is about one coup, and names for each amount its seat and, where
one is known, its patron: together they are a debt. So at any moment, for each debt:

    accrued - reversed = collected + recovered + outstanding + still uncollected

A correction moves the debts of its coup by the difference alone. What had been taken and is owed no
longer leaves `collected` or `recovered` with `commission_reversed`, and `commission_refunded` says
to whom it goes back.
"""

from typing import ClassVar, Literal

from msgspec import Struct

from events.types.table import TableEvent

__all__ = [
    "CommissionAccrued",
    "CommissionCollected",
    "CommissionEvent",
    "CommissionPrepaid",
    "CommissionRecovered",
    "CommissionRefunded",
    "CommissionReturned",
    "CommissionReversed",
    "CommissionUncollected",
    "PayerAmount",
    "RefundMethod",
    "ReversedAmount",
    "SeatAmount",
]


class SeatAmount(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """So much of one seat, in minor units."""

    seat: int
    amount: int


class PayerAmount(
    Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """An amount of one payer, in minor units.

    Args:
        seat: the seat of the wagers.
        amount: above zero.
        patron: the wagers' opaque reference; None where they had none, or where an earlier build
            recorded the seat alone.
    """

    seat: int
    amount: int
    patron: str | None = None


class ReversedAmount(PayerAmount, frozen=True, gc=False, kw_only=True):
    """A reversed amount, and where it stood.

    Args:
        outstanding: the part of `amount` that was still owed.
        uncollected: the part that was given up.
        recovered: the part that was paid after it had been given up. The rest was collected.
    """

    outstanding: int = 0
    uncollected: int = 0
    recovered: int = 0


class CommissionEvent(TableEvent, frozen=True, kw_only=True):
    """The root of the commission's events.

    Args:
        coup: the coup whose debts move; empty where an old log does not say.
        currency: ISO 4217; empty in old logs.
    """

    coup: str
    currency: str


class CommissionAccrued(CommissionEvent, frozen=True, kw_only=True):
    """Winners owe commission, by the rulebook's `timing`; after a correction, so much more.

    Args:
        settlement_id: the settlement that they owe it by.
        timing: when it is taken, by that settlement's rulebook.
        amounts: per payer.
    """

    TYPE = "commission_accrued"
    VERSION: ClassVar[int] = 2
    settlement_id: str
    timing: str
    amounts: tuple[PayerAmount, ...]


class CommissionCollected(CommissionEvent, frozen=True, kw_only=True):
    """Commission was taken.

    Args:
        method: `deducted` from winnings, out of what was `prepaid`, or `paid` by the patron.
        amounts: per payer.
    """

    TYPE = "commission_collected"
    VERSION: ClassVar[int] = 2
    method: str
    amounts: tuple[PayerAmount, ...]


class CommissionPrepaid(CommissionEvent, frozen=True, kw_only=True):
    """Commission was laid next to Banker wagers before the hand (seed 3, the small circle)."""

    TYPE = "commission_prepaid"
    VERSION: ClassVar[int] = 2
    amounts: tuple[PayerAmount, ...]


class CommissionReturned(CommissionEvent, frozen=True, kw_only=True):
    """What was laid and is not owed went back."""

    TYPE = "commission_returned"
    VERSION: ClassVar[int] = 2
    amounts: tuple[PayerAmount, ...]


class CommissionReversed(CommissionEvent, frozen=True, kw_only=True):
    """A settlement was taken back, and with it commission that is no longer owed.

    Args:
        settlement_id: what was taken back.
        timing: how it had been taken, by the rulebook of that settlement; empty in old logs.
        amounts: per debt, with the parts that were still to be paid.
    """

    TYPE = "commission_reversed"
    VERSION: ClassVar[int] = 2
    settlement_id: str
    timing: str
    amounts: tuple[ReversedAmount, ...]


RefundMethod = Literal["deducted", "laid", "paid"]
"""How reversed commission goes back: within the corrected payment, beside its wager, by hand."""


class CommissionRefunded(CommissionEvent, frozen=True, kw_only=True):
    """Commission that was taken and is no longer owed goes back to those who paid it.

    Args:
        settlement_id: the settlement in force now.
        method: `deducted`: the corrected payment is net and contains it; `laid`: it lies beside
            its wager again; `paid`: the dealer hands it over.
        amounts: per debt; `recovered` is the part that had been paid after it was given up.
        reason: the correction's.
    """

    TYPE = "commission_refunded"
    settlement_id: str
    method: RefundMethod
    amounts: tuple[ReversedAmount, ...]
    reason: str


class CommissionUncollected(CommissionEvent, frozen=True, kw_only=True):
    """Commission of a coup could not be collected, and why; an old log does not say whose coup."""

    TYPE = "commission_uncollected"
    VERSION: ClassVar[int] = 2
    amounts: tuple[PayerAmount, ...]
    reason: str


class CommissionRecovered(CommissionEvent, frozen=True, kw_only=True):
    """Commission that had been given up was paid after all; an old log does not say whose coup."""

    TYPE = "commission_recovered"
    VERSION: ClassVar[int] = 2
    amounts: tuple[PayerAmount, ...]
