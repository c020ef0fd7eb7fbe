"""Tracks errors of the log's disk, and whether the log can be trusted. Pure."""

from collections.abc import Callable, Iterator

from events.errors import LogUnwritable
from events.mqtt.process import LogLine, Steps
from table_core.process.log_effects import DescribeLog
from table_core.process.table_writer import TableWriter
from table_core.state.table import Alarm

__all__ = ["LogHealth"]


class LogHealth:
    """Tracks the log's disk, and stops betting where the log is not what it was.

    Args:
        writer: of the log.
        changed: called when an alarm may have changed.
        unsigned: nobody signs the log, though somebody could: an alarm says so.
    """

    def __init__(
        self, writer: TableWriter, changed: Callable[[], None], *, unsigned: bool = False
    ) -> None:
        self._writer = writer
        self._unsigned = unsigned
        self._changed = changed
        self._unwritable: str | None = None

    def refuse(self, error: LogUnwritable) -> Steps[None]:
        """Report on every display that nothing was stored; the caller acknowledges nothing.

        Raises:
            LogUnwritable: the log must be opened again, which only a new start can do.
        """
        if (yield from DescribeLog()).closed:
            raise error
        if self._unwritable is None:
            yield from LogLine("error", "log.unwritable", {"reason": str(error)})
        self._unwritable = str(error)
        self._changed()

    def accept(self) -> Steps[None]:
        """Note that something was stored."""
        if self._unwritable is not None:
            yield from LogLine("info", "log.writable")
            self._unwritable = None

    def distrust(self, fault: str) -> Steps[None]:
        """Start the integrity lockdown."""
        yield from LogLine("error", "log.unsound", {"reason": fault})
        self._writer.start_lockdown(fault)
        self._changed()

    def alarms(self) -> Iterator[Alarm]:
        """Yield the alarms that cannot be in the log."""
        if self._unwritable:
            yield Alarm(name="log_unwritable", text=self._unwritable)
        if self._writer.fault:
            text = f"{self._writer.fault}; betting is stopped: keep the log, restore a backup"
            yield Alarm(name="log_unsound", text=text)
        if self._unsigned:
            text = "no key signs this table's log: a past that somebody rewrote would not show"
            yield Alarm(name="log_unsigned", text=text)
