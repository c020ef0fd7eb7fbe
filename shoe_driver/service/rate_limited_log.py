"""A rate-limited logger: the driver logs every kind of transition, and never floods the log."""

from collections.abc import Callable
from typing import Any, Final

import structlog
from msgspec import Struct

from events.clock import Clock

__all__ = ["RateLimitedLogger"]

# A bad cable may come and go twice a second, for a weekend. The first few lines give all the facts.
# After them one line a minute reports that it goes on, and how often it happened meanwhile.
_AT_ONCE: Final = 6.0
_AGAIN_US: Final = 60_000_000

_log: Final = structlog.get_logger()


class _Quota(Struct):
    left: float = _AT_ONCE
    at_us: int = 0
    unsaid: int = 0


class RateLimitedLogger:
    """Logs each kind of event a few times at once, and then rarely.

    Args:
        clock: measures the interval.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._said: dict[str, _Quota] = {}

    def info(self, event: str, **fields: Any) -> None:
        """Log a normal event."""
        self._say(_log.info, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Log an event that a person may have to act on."""
        self._say(_log.warning, event, fields)

    def _say(self, say: Callable[..., Any], event: str, fields: dict[str, Any]) -> None:
        now = self._clock.mono_us()
        said = self._said.setdefault(event, _Quota(at_us=now))
        said.left = min(_AT_ONCE, said.left + (now - said.at_us) / _AGAIN_US)
        said.at_us = now
        if said.left < 1:
            said.unsaid += 1
            return
        said.left -= 1
        more = {"unsaid": said.unsaid} if said.unsaid else {}
        said.unsaid = 0
        say(event, **fields, **more)
