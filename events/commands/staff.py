"""Commands about the people at the table: who deals, and who has seen an alarm."""

from events.commands.base import Command

__all__ = ["AcknowledgeAlarm", "AssignDealer"]


class AssignDealer(Command, frozen=True, kw_only=True):
    """Name who answers for the coups from now on, by opaque staff references."""

    dealer: str
    supervisor: str | None = None


class AcknowledgeAlarm(Command, frozen=True, kw_only=True):
    """Clear an alarm that nothing else clears."""

    alarm: str
