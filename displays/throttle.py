"""How often something may be tried. Bounded in memory, by an injected clock."""

from collections import OrderedDict
from typing import Final

from msgspec import Struct

from events.clock import Clock

__all__ = ["FAILURES_MOST", "LOCKED_SECONDS", "Lockout", "Rate"]

# A person mistypes twice; a guesser needs thousands.
FAILURES_MOST: Final = 5
LOCKED_SECONDS: Final = 300
# Names or addresses that are remembered; the oldest is forgotten first.
_KNOWN_MOST: Final = 4096
_US: Final = 1_000_000


class _Bucket(Struct):
    """What is left, and when that was counted."""

    left: float
    at_us: int


class Rate:
    """A bucket of tokens for each key.

    Args:
        clock: refills them.
        burst: how many at once.
        per_s: how many come back each second.
    """

    def __init__(self, clock: Clock, *, burst: int, per_s: float) -> None:
        self._clock = clock
        self._burst = burst
        self._per_s = per_s
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def allows(self, key: str) -> bool:
        """Take one; False when there is none."""
        now = self._clock.mono_us()
        bucket = self._buckets.pop(key, None) or _Bucket(self._burst, now)
        self._buckets[key] = bucket
        while len(self._buckets) > _KNOWN_MOST:
            self._buckets.popitem(last=False)
        gained = (now - bucket.at_us) / _US * self._per_s
        bucket.left, bucket.at_us = min(self._burst, bucket.left + gained), now
        if bucket.left < 1:
            return False
        bucket.left -= 1
        return True


class _Failures(Struct):
    """In a row, and until when the account is locked (monotonic; 0 is not)."""

    count: int = 0
    until_us: int = 0


class Lockout:
    """Locks an account for a while after failures in a row; each further failure locks it anew.

    Args:
        clock: for how long.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def locked_s(self, name: str) -> int:
        """For how many seconds more it is locked; 0 when it is not."""
        found = self._failures.get(name)
        left = found.until_us - self._clock.mono_us() if found else 0
        return max(0, -(-left // _US))

    def failed(self, name: str) -> None:
        """A password was wrong, or there is no such name: both are counted alike."""
        found = self._failures.pop(name, None) or _Failures()
        self._failures[name] = found
        while len(self._failures) > _KNOWN_MOST:
            self._failures.popitem(last=False)
        found.count += 1
        if found.count >= FAILURES_MOST:
            found.until_us = self._clock.mono_us() + LOCKED_SECONDS * _US

    def succeeded(self, name: str) -> None:
        """Logged in: forgiven."""
        self._failures.pop(name, None)
