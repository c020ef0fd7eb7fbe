"""A deadline for stopping: a process that was told to stop and cannot is ended by force.

A disk or a driver's port may hang for ever, and a thread that waits for one keeps the interpreter
from ending. Force loses nothing that was promised: every event is on disk before it is
acknowledged.
"""

import os
import threading
import time
from typing import Final

from events.structured_log import structlog

__all__ = ["Deadline"]

_EXIT_HUNG: Final = 1
_POLL_S: Final = 1.0

_log: Final = structlog.get_logger()


class Deadline:
    """Ends this process a number of seconds after `start`, unless `settle` finds nothing running.

    Args:
        seconds: from being told to stop.
    """

    def __init__(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, _end, [seconds])
        self._timer.daemon = True

    def start(self) -> None:
        """Start the deadline: the process has been told to stop. May be repeated."""
        if not self._timer.is_alive() and not self._timer.finished.is_set():
            self._timer.start()

    def settle(self) -> None:
        """Cancel the deadline, or start it if a thread still keeps the process from ending."""
        end = time.monotonic() + _POLL_S
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join(max(0.0, end - time.monotonic()))
                if thread.is_alive():
                    self.start()
                    return
        self._timer.cancel()


def _end(seconds: float) -> None:
    _log.error("service.hung", reason=f"not ended {seconds:g} s after it was told to; by force now")
    os._exit(_EXIT_HUNG)
