"""Commands about the people at the table: who deals, is wanted, saw an alarm, has logged in."""

from events.commands.base import Command

__all__ = ["AcknowledgeAlarm", "AssignDealer", "CallSupervisor", "NoteLogins", "TakeTable"]


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


class NoteLogins(Command, frozen=True, kw_only=True):
    """The screens' service states how far its record of logins reaches; no person gives it.

    Args:
        entries: how many entries there are.
        chain: the hash of the record's chain after the last of them, hex.
    """

    entries: int
    chain: str
