"""Commands about commission that seats owe: collect, give up, recover."""

from events.commands.base import Command

__all__ = ["CollectCommission", "MarkUncollected", "RecoverCommission"]


class CollectCommission(Command, frozen=True, kw_only=True):
    """A seat has paid commission that it owed.

    Args:
        seat: whose; None for every seat that owes any.
        amount: minor units; None for all that is outstanding.
    """

    seat: int | None = None
    amount: int | None = None


class MarkUncollected(Command, frozen=True, kw_only=True):
    """A seat's outstanding commission cannot be collected (the patron has left, for example)."""

    seat: int
    reason: str


class RecoverCommission(Command, frozen=True, kw_only=True):
    """Commission that had been marked uncollected was paid after all, in minor units."""

    seat: int
    amount: int
