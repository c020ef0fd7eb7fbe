"""The limits in a table's configuration: appended to the log once, and again when they change.

A table that was killed continues with the limits it had. So the configured limits do not override
limits that a supervisor has set since: they are due only when the configuration has changed. A
cursor of the log names the event that last recorded them.
"""

from typing import Final

from events.log.store import EventLog
from events.types.envelope import decode_data, decode_envelope
from events.types.wagers import LimitsSet
from table_core.state.table import TableState

__all__ = ["ConfiguredLimits"]

_CURSOR: Final = "core/limits"


class ConfiguredLimits:
    """Decides whether the configured limits are due.

    Args:
        log: the open log.
        limits: the configured limits; None where the configuration leaves them to people.
    """

    def __init__(self, log: EventLog, limits: LimitsSet | None) -> None:
        self._log = log
        self._limits = limits
        self._due = limits is not None and limits != self._last_said()

    def due(self, state: TableState) -> tuple[LimitsSet, ...]:
        """Return the event to append now; nothing while a coup is in progress."""
        return (self._limits,) if self._due and self._limits and not state.in_progress else ()

    def said(self, position: int) -> None:
        """Note that the limits were appended at `position`.

        Raises:
            LogUnwritable: the disk refused the cursor; a later start appends the limits again.
        """
        self._due = False
        self._log.move_cursor(_CURSOR, position)

    def _last_said(self) -> object:
        position = self._log.cursor(_CURSOR)
        stored = next(self._log.read(position, 1), None) if position else None
        return decode_data(decode_envelope(stored.stored)) if stored else None
