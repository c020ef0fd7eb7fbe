"""The limits that the configuration gives a table: in the log when they have changed, and once.

A table that was killed stands where it stood. So what the configuration says is not laid over what
a supervisor has set since: it is due only when it says something else than it last did. A cursor
of the log names the event in which it last did.
"""

from typing import Final

from events.log.store import EventLog
from events.types.envelope import decode_data, decode_envelope
from events.types.wagers import LimitsSet
from table_core.state.table import TableState

__all__ = ["SiteLimits"]

_CURSOR: Final = "core/limits"


class SiteLimits:
    """Knows whether the configuration's limits are due.

    Args:
        log: the open log.
        limits: what the configuration says; None where it leaves them to people.
    """

    def __init__(self, log: EventLog, limits: LimitsSet | None) -> None:
        self._log = log
        self._limits = limits
        self._due = limits is not None and limits != self._last_said()

    def due(self, state: TableState) -> tuple[LimitsSet, ...]:
        """What is to be appended now; nothing while a coup is in progress."""
        return (self._limits,) if self._due and self._limits and not state.in_progress else ()

    def said(self, position: int) -> None:
        """It was appended, at `position`.

        Raises:
            LogUnwritable: the disk refused to remember it; a later start appends it again.
        """
        self._due = False
        self._log.move_cursor(_CURSOR, position)

    def _last_said(self) -> object:
        position = self._log.cursor(_CURSOR)
        stored = next(self._log.read(position, 1), None) if position else None
        return decode_data(decode_envelope(stored.stored)) if stored else None
