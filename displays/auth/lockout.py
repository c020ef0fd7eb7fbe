"""Rate limits and lock-outs by key, with bounded memory and an injected clock."""

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
    "RateLimit",
    "client_network",
    "is_here",
]

# A person mistypes twice; a guesser needs thousands of attempts.
FAILURES_MOST: Final = 5
LOCKED_SECONDS: Final = 300
# Longest time between two failures that count as in a row.
FORGOTTEN_SECONDS: Final = 3600
# Most keys remembered; the oldest is dropped first.
_KNOWN_MOST: Final = 4096
_US: Final = 1_000_000


class _Bucket(Struct):
    """The tokens left, and the time of that count."""

    left: float
    at_us: int


class RateLimit:
    """A rate limit: one token bucket for each key.

    Args:
        clock: for refilling.
        burst: a bucket's capacity.
        per_s: tokens refilled each second.
    """

    def __init__(self, clock: Clock, *, burst: int, per_s: float) -> None:
        self._clock = clock
        self._burst = burst
        self._per_s = per_s
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def allows(self, key: str) -> bool:
        """Take a token; return False if there is none."""
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
    """Failures in a row, the time of the last, and the end of the lock (monotonic; 0 for none)."""

    count: int = 0
    last_us: int = 0
    until_us: int = 0


class Lockout:
    """Locks a key for a while after failures in a row; each further failure locks it again.

    Args:
        clock: for the lock's duration.
        most: failures in a row that lock a key.
    """

    def __init__(self, clock: Clock, *, most: int = FAILURES_MOST) -> None:
        self._clock = clock
        self._most = most
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def locked_s(self, key: str) -> int:
        """Return the seconds until a key's lock ends; 0 if it is not locked."""
        found = self._failures.get(key)
        left = found.until_us - self._clock.mono_us() if found else 0
        return max(0, -(-left // _US))

    def failed(self, key: str) -> None:
        """Record a failure."""
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
        """Record a success, which clears the failures."""
        self._failures.pop(key, None)


def client_network(host: str) -> str:
    """Return the network that counts as one client: an IPv4 address, or an IPv6 /64.

    Args:
        host: the connection's peer address; any other text is returned as it is.
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
    """Return whether the address is this machine's."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
