"""What the driver says to its log: every transition, and never a flood."""

from collections.abc import Callable
from typing import Any, Final

import structlog
from msgspec import Struct

from events.clock import Clock

__all__ = ["Voice"]

# A bad cable may come and go twice a second, for a weekend. The first few times tell what there is
# to tell; after them a line a minute says that it goes on, and how often it happened meanwhile.
_AT_ONCE: Final = 6.0
_AGAIN_US: Final = 60_000_000

_log: Final = structlog.get_logger()


class _Said(Struct):
    left: float = _AT_ONCE
    at_us: int = 0
    unsaid: int = 0


class Voice:
    """Says each kind of thing at once a few times, and then seldom.

    Args:
        clock: measures how seldom.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._said: dict[str, _Said] = {}

    def info(self, event: str, **fields: Any) -> None:
        """Something that is as it should be."""
        self._say(_log.info, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Something that a person may have to do something about."""
        self._say(_log.warning, event, fields)

    def _say(self, say: Callable[..., Any], event: str, fields: dict[str, Any]) -> None:
        now = self._clock.mono_us()
        said = self._said.setdefault(event, _Said(at_us=now))
        said.left = min(_AT_ONCE, said.left + (now - said.at_us) / _AGAIN_US)
        said.at_us = now
        if said.left < 1:
            said.unsaid += 1
            return
        said.left -= 1
        more = {"unsaid": said.unsaid} if said.unsaid else {}
        said.unsaid = 0
        say(event, **fields, **more)
