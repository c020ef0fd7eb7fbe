"""Commands about the people at the table: who deals, who is wanted, who has seen an alarm."""

from events.commands.base import Command

__all__ = ["AcknowledgeAlarm", "AssignDealer", "CallSupervisor"]


class AssignDealer(Command, frozen=True, kw_only=True):
    """Who answers for the coups from here on: opaque staff references, no names."""

    dealer: str
    supervisor: str | None = None


class CallSupervisor(Command, frozen=True, kw_only=True):
    """The dealer wants a supervisor at the table; an alarm says so until it is acknowledged."""

    reason: str = ""


class AcknowledgeAlarm(Command, frozen=True, kw_only=True):
    """A person has seen an alarm that nothing else will clear."""

    alarm: str
