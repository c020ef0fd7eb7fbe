"""Rotation: a log continues in a new file after the snapshot anchor of a shoe, as configured.

The new file begins only right after the anchor (`books_closed`), with no event after it. Where
somebody reads the file at that moment, the rotation is tried again until another event is appended;
where the disk refuses, not before the next anchor. Until then the log continues in its file.
"""

from collections.abc import Callable
from typing import Final

import structlog

from events.clock import Clock, rfc3339
from events.errors import LogRefused, LogUnwritable
from events.log.store import EventLog
from events.types.snapshot_anchor import BooksClosed
from table_core.service.options import RotationPolicy

__all__ = ["Rotation"]

_DATE: Final = len("2026-11-27")

_log: Final = structlog.get_logger()


class Rotation:
    """Starts a new file of a log when it is due.

    Args:
        log: the open log.
        when: the configured policy.
        clock: for the day.
        probe: called with the name of each step.
    """

    def __init__(
        self, log: EventLog, when: RotationPolicy, clock: Clock, probe: Callable[[str], None]
    ) -> None:
        self._log = log
        self._when = when
        self._clock = clock
        self._probe = probe
        self._looked = 0
        self._base, self._day = 0, ""

    def look(self) -> None:
        """Rotate the log if it is due; called often.

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
            return  # somebody reads it: try again in a second
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
