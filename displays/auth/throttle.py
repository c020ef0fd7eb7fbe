"""How often something may be tried, and by whom. Bounded in memory, by an injected clock."""

import ipaddress
from collections import OrderedDict
from typing import Final

from msgspec import Struct

from events.clock import Clock

__all__ = [
    "FAILURES_MOST",
    "FORGOTTEN_SECONDS",
    "LOCKED_SECONDS",
    "Lockout",
    "Rate",
    "is_here",
    "neighbourhood",
]

# A person mistypes twice; a guesser needs thousands.
FAILURES_MOST: Final = 5
LOCKED_SECONDS: Final = 300
# Failures are in a row while no more than this lies between two.
FORGOTTEN_SECONDS: Final = 3600
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
    """In a row, the last one, and until when it is locked (monotonic; 0 is not)."""

    count: int = 0
    last_us: int = 0
    until_us: int = 0


class Lockout:
    """Locks a key for a while after failures in a row; each further failure locks it anew.

    Args:
        clock: for how long.
        most: failures in a row.
    """

    def __init__(self, clock: Clock, *, most: int = FAILURES_MOST) -> None:
        self._clock = clock
        self._most = most
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def locked_s(self, key: str) -> int:
        """For how many seconds more it is locked; 0 when it is not."""
        found = self._failures.get(key)
        left = found.until_us - self._clock.mono_us() if found else 0
        return max(0, -(-left // _US))

    def failed(self, key: str) -> None:
        """It was tried in vain."""
        now = self._clock.mono_us()
        found = self._failures.pop(key, None) or _Failures()
        if now - found.last_us > FORGOTTEN_SECONDS * _US:
            found.count = 0
        self._failures[key] = found
        while len(self._failures) > _KNOWN_MOST:
            self._failures.popitem(last=False)
        found.count, found.last_us = found.count + 1, now
        if found.count >= self._most:
            found.until_us = now + LOCKED_SECONDS * _US

    def succeeded(self, key: str) -> None:
        """It went well: forgiven."""
        self._failures.pop(key, None)


def neighbourhood(host: str) -> str:
    """Who counts as one: an address, of IPv6 the network of 2^64 that one machine may use.

    Args:
        host: the address that a connection comes from; whatever is none counts as itself.
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address.packed, 64), strict=False))


def is_here(host: str) -> bool:
    """Whether a connection comes from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
