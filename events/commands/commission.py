"""Commands about commission that seats owe: collect, give up, recover.

Each takes the debts of a seat, oldest first; `patron` and `coup` narrow them to those of one patron
(an empty text for wagers without one) or of one coup. A part of what several patrons owe is refused
until one is named.
"""

from events.commands.base import Command

__all__ = ["CollectCommission", "MarkUncollected", "RecoverCommission"]


class CollectCommission(Command, frozen=True, kw_only=True):
    """Record commission that a seat has paid.

    Args:
        seat: whose; None for every seat that owes any.
        amount: minor units; None for all that is outstanding.
        patron: the wagers' opaque reference; None for every patron of the seat.
        coup: the coup's id; None for every coup.
    """

    seat: int | None = None
    amount: int | None = None
    patron: str | None = None
    coup: str | None = None


class MarkUncollected(Command, frozen=True, kw_only=True):
    """Give up a seat's outstanding commission (the patron has left, for example)."""

    seat: int
    reason: str
    patron: str | None = None
    coup: str | None = None


class RecoverCommission(Command, frozen=True, kw_only=True):
    """Record commission that was paid after it had been given up, in minor units."""

    seat: int
    amount: int
    patron: str | None = None
    coup: str | None = None
