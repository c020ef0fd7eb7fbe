"""When a log goes on in a new file: behind the books of a shoe, as the configuration has it.

Only right behind the books, with nothing after them: there the new file begins. Where somebody
reads the file just then, it is tried again, until something else happens at the table; where the
disk refuses, not before the next books. Until it is done, the log goes on in the file it has.
"""

from collections.abc import Callable
from typing import Final

import structlog

from events.clock import Clock, rfc3339
from events.errors import LogRefused, LogUnwritable
from events.log.store import EventLog
from events.types.snapshot_anchor import BooksClosed
from table_core.service.options import NewFile

__all__ = ["Closing"]

_DATE: Final = len("2026-11-27")

_log: Final = structlog.get_logger()


class Closing:
    """Closes a log's file when it is time.

    Args:
        log: the open log.
        when: it is time.
        clock: says which day it is.
        probe: told of each step.
    """

    def __init__(
        self, log: EventLog, when: NewFile, clock: Clock, probe: Callable[[str], None]
    ) -> None:
        self._log = log
        self._when = when
        self._clock = clock
        self._probe = probe
        self._looked = 0
        self._base, self._day = 0, ""

    def look(self) -> None:
        """Go on in a new file if it is time; told often.

        Raises:
            LogUnwritable: the log must be opened again.
        """
        log = self._log
        if self._when == "never" or self._looked == log.position:
            return
        if not self._due():
            self._looked = log.position
            return
        try:
            closed = log.new_file(self._probe)
        except (LogRefused, LogUnwritable) as error:
            if log.closed:
                raise
            _log.error("log.no_new_file", reason=str(error))
            self._looked = log.position
            return
        if closed is None:
            return  # somebody reads it: in a second again
        _log.info("log.new_file", closed=str(closed))
        self._looked = log.position

    def _due(self) -> bool:
        log = self._log
        if log.position <= log.base:
            return False
        (newest,) = log.read(log.position, 1)
        if newest.type != BooksClosed.TYPE:
            return False
        if self._base != log.base:
            (first,) = log.read(log.base, 1)
            self._base, self._day = log.base, first.at[:_DATE]
        return self._when == "shoe" or rfc3339(self._clock.utc_ns())[:_DATE] > self._day
