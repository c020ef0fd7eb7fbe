"""Rotation: a log continues in a new file after the snapshot anchor of a shoe, as configured.

The new file begins only right after the anchor (`books_closed`), with no event after it. If a
reader prevents the rotation, the table tries again until it appends another event. If the disk
refuses, the table waits for the next anchor. Until then the log continues in its file. Pure.
"""

from collections.abc import Callable
from typing import Final

from events.clock import rfc3339
from events.errors import LogRefused, LogUnwritable
from events.mqtt.process import LogLine, Now, Steps
from events.types import BooksClosed
from table_core.process.log_effects import DescribeLog, LogTail, ReadLog, RotateLog
from table_core.process.options import RotationPolicy

__all__ = ["Rotation"]

_DATE: Final = len("2026-11-27")


class Rotation:
    """Starts a new file of a log when it is due.

    Args:
        when: the configured policy.
    """

    def __init__(self, when: RotationPolicy) -> None:
        self._when = when
        self._looked = 0
        self._base, self._day = 0, ""

    def look(self, position: int, sign: Callable[[], Steps[None]]) -> Steps[None]:
        """Rotate the log, which ends at `position`, if it is due; called often.

        `sign` comes first: a closed file ends with nothing that the table has yet to sign.

        Raises:
            LogUnwritable: the log must be opened again.
        """
        if self._when == "never" or self._looked == position:
            return
        if not (yield from self._due((yield from DescribeLog()))):
            self._looked = position
            return
        try:
            yield from sign()
            closed = yield from RotateLog()
        except (LogRefused, LogUnwritable) as error:
            if (yield from DescribeLog()).closed:
                raise
            yield from LogLine("error", "log.no_new_file", {"reason": str(error)})
            self._looked = position
            return
        if closed is None:
            return  # somebody reads it: try again in a second
        yield from LogLine("info", "log.new_file", {"closed": closed})
        self._looked = position

    def _due(self, tail: LogTail) -> Steps[bool]:
        if tail.position <= tail.base:
            return False
        (newest,) = yield from ReadLog(tail.position, 1)
        if newest.type != BooksClosed.TYPE:
            return False
        if self._base != tail.base:
            (first,) = yield from ReadLog(tail.base, 1)
            self._base, self._day = tail.base, first.at[:_DATE]
        return self._when == "shoe" or rfc3339((yield from Now()).utc_ns)[:_DATE] > self._day
