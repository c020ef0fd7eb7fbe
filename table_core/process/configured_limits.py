"""The limits in a table's configuration: appended to the log once, and again when they change.

A table that was killed continues with the limits it had. So the configured limits do not override
limits that a supervisor has set since: they are due only when the configuration has changed. A
cursor of the log names the event that last recorded them. Pure.
"""

from typing import Final

from events.mqtt.process import Steps
from events.types import LimitsSet, decode_data, decode_envelope
from table_core.process.log_effects import MoveCursor, ReadCursor, ReadLog
from table_core.state.table import TableState

__all__ = ["ConfiguredLimits"]

_CURSOR: Final = "core/limits"


class ConfiguredLimits:
    """Decides whether the configured limits are due.

    Args:
        limits: the configured limits; None where the configuration leaves them to people.
    """

    def __init__(self, limits: LimitsSet | None) -> None:
        self._limits = limits
        self._due = False

    def start(self) -> Steps[None]:
        """Compare the configured limits with those that were recorded last."""
        self._due = self._limits is not None and self._limits != (yield from self._last_said())

    def due(self, state: TableState) -> tuple[LimitsSet, ...]:
        """Return the event to append now; nothing while a coup is in progress."""
        return (self._limits,) if self._due and self._limits and not state.in_progress else ()

    def said(self, position: int) -> Steps[None]:
        """Note that the limits were appended at `position`.

        Raises:
            LogUnwritable: the disk refused the cursor; a later start appends the limits again.
        """
        self._due = False
        yield from MoveCursor(_CURSOR, position)

    def _last_said(self) -> Steps[object]:
        position = yield from ReadCursor(_CURSOR)
        stored = (yield from ReadLog(position, 1)) if position else ()
        return decode_data(decode_envelope(stored[0].stored)) if stored else None
