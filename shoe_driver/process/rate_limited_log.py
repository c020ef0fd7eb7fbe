"""A rate-limited log: the driver logs every kind of transition, and never floods the log. Pure."""

from typing import Final

from msgspec import Struct

from events.mqtt.process import LogLine, Now, Steps

__all__ = ["RateLimitedLog"]

# A bad cable may come and go twice a second, for a weekend. The first few lines give all the facts.
# After them one line a minute reports that it goes on, and how often it happened meanwhile.
_AT_ONCE: Final = 6.0
_AGAIN_US: Final = 60_000_000


class _Quota(Struct):
    left: float = _AT_ONCE
    at_us: int = 0
    unsaid: int = 0


class RateLimitedLog:
    """Logs each kind of event a few times at once, and then rarely."""

    def __init__(self) -> None:
        self._said: dict[str, _Quota] = {}

    def info(self, event: str, **fields: object) -> Steps[None]:
        """Log a normal event."""
        yield from self._say("info", event, fields)

    def warning(self, event: str, **fields: object) -> Steps[None]:
        """Log an event that a person may have to act on."""
        yield from self._say("warning", event, fields)

    def _say(self, level: str, event: str, fields: dict[str, object]) -> Steps[None]:
        now = (yield from Now()).mono_us
        said = self._said.setdefault(event, _Quota(at_us=now))
        said.left = min(_AT_ONCE, said.left + (now - said.at_us) / _AGAIN_US)
        said.at_us = now
        if said.left < 1:
            said.unsaid += 1
            return
        said.left -= 1
        more = {"unsaid": said.unsaid} if said.unsaid else {}
        said.unsaid = 0
        yield from LogLine(level, event, {**fields, **more})
