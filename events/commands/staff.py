"""Commands about the people at the table: who deals, who is wanted, who has seen an alarm."""

from events.commands.base import Command

__all__ = ["AcknowledgeAlarm", "AssignDealer", "CallSupervisor", "TakeTable"]


class AssignDealer(Command, frozen=True, kw_only=True):
    """Name who answers for the coups from now on, by opaque staff references."""

    dealer: str
    supervisor: str | None = None


class TakeTable(Command, frozen=True, kw_only=True):
    """The dealer who asks, by an account, deals from now on."""


class CallSupervisor(Command, frozen=True, kw_only=True):
    """The dealer wants a supervisor at the table; an alarm says so until it is acknowledged."""

    reason: str = ""


class AcknowledgeAlarm(Command, frozen=True, kw_only=True):
    """Clear an alarm that nothing else clears."""

    alarm: str
