"""The login policy: checks a name and a password, limits attempts, and locks after failures.

**Guessing.** Locks make it slow.

**Locking.** It must not become a way to keep a supervisor out, so it never bars everybody from a
name. A browser in which a person has logged in before is known by a cookie. Such a browser has its
own failure count, its own rate of attempts and a separate queue for hashing, and no failure
elsewhere locks it. Unknown browsers are locked by address, and all together if very many addresses
try a name.

The cookie is an HMAC with the account's hash as key. It outlives a restart, becomes invalid with
the password, and needs no other secret. It grants no access: it only assigns failures to a browser.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import re
import secrets
from collections import OrderedDict
from typing import Final, Literal

from msgspec import Struct

from displays.auth.accounts import UserAccount, UserAccounts
from displays.auth.passwords import password_matches
from events.clock import Clock

__all__ = [
    "FAILURES_MOST",
    "FORGOTTEN_SECONDS",
    "LOCKED_SECONDS",
    "STRANGERS_MOST",
    "Lockout",
    "LoginPolicy",
    "LoginResult",
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


LoginResult = Literal["ok", "wrong", "locked", "often", "expired"]
"""The result of an attempt to log in."""
# Enough for the handful of screens of a table.
_LOGINS_BURST: Final = 10
_LOGINS_PER_S: Final = 0.2
# Failures of one name in a row, from all addresses: what a guesser with many gets in an hour.
STRANGERS_MOST: Final = 50
_DEVICE: Final = re.compile(r"([0-9a-f]{32})\.([0-9a-f]{64})\Z")


class LoginPolicy:
    """Decides on attempts to log in.

    Args:
        accounts: the people who may log in.
        clock: for rates and locks.
        password_days: days after which a password lets nobody in; None for no end.
    """

    def __init__(
        self, accounts: UserAccounts, clock: Clock, password_days: int | None = None
    ) -> None:
        self._accounts = accounts
        self._clock, self._password_days = clock, password_days
        self._rate = RateLimit(clock, burst=_LOGINS_BURST, per_s=_LOGINS_PER_S)
        self._each = Lockout(clock)
        self._unknown_browsers = Lockout(clock, most=STRANGERS_MOST)
        # A hash takes 64 MiB and several processors for tens of milliseconds: one runs at a time.
        # Known browsers have a queue of their own and never wait for unknown ones.
        self._hashing = {known: asyncio.Semaphore(1) for known in (False, True)}

    async def judge(
        self, name: str, password: str, *, place: str, cookie: str | None
    ) -> LoginResult:
        """Decide on one attempt.

        Args:
            name: as typed.
            password: as typed.
            place: the browser's network, as returned by `neighbourhood`.
            cookie: the browser's device cookie, or None.
        """
        device = self._device(name, cookie)
        if not self._rate.allows(f"{name}#{device}" if device else place):
            return "often"
        key = f"{name}#{device}" if device else f"{name}@{place}"
        if self._locked(name, key, device):
            return "locked"
        async with self._hashing[device is not None]:
            # Check again: other attempts may have failed while this one waited.
            if self._locked(name, key, device):
                return "locked"
            account = self._accounts.get(name)
            now_ns = self._clock.utc_ns()
            if account is not None and account.has_ended(now_ns):
                account = None
            matches = await asyncio.to_thread(password_matches, account, password)
            if not self._counted(name, key, device, matches=matches):
                return "wrong"
            old = account is not None and account.is_too_old(self._password_days, now_ns)
            return "expired" if old else "ok"

    def locks(self, name: str, *, place: str, cookie: str | None) -> bool:
        """Return whether another attempt would find the name locked."""
        device = self._device(name, cookie)
        return self._locked(name, f"{name}#{device}" if device else f"{name}@{place}", device)

    def _locked(self, name: str, key: str, device: str | None) -> bool:
        return bool(
            self._each.locked_s(key) or (device is None and self._unknown_browsers.locked_s(name))
        )

    def _counted(self, name: str, key: str, device: str | None, *, matches: bool) -> bool:
        # A success from a known browser does not clear the failures of unknown ones.
        counted = (
            [(self._each, key)] if device else [(self._each, key), (self._unknown_browsers, name)]
        )
        for lockout, tried in counted:
            (lockout.succeeded if matches else lockout.failed)(tried)
        return matches

    def _device(self, name: str, cookie: str | None) -> str | None:
        """Return the browser's number if this person has logged in with it before, else None."""
        found = _DEVICE.match(cookie or "")
        account = self._accounts.get(name) if found else None
        if found is None or account is None:
            return None
        number, said = found.groups()
        return number if hmac.compare_digest(said, _sign(name, account, number)) else None

    def device_cookie(self, name: str, cookie: str | None) -> str:
        """Return the device cookie of a browser in which `name` has just logged in.

        Args:
            name: a person who has just given the right password.
            cookie: the browser's present cookie; its number stays if it is this person's.
        """
        account = self._accounts.get(name)
        if account is None:
            return ""
        number = self._device(name, cookie) or secrets.token_hex(16)
        return f"{number}.{_sign(name, account, number)}"


def _sign(name: str, account: UserAccount, number: str) -> str:
    text = f"device\0{name}\0{number}".encode()
    return hmac.new(account.password.encode(), text, hashlib.sha256).hexdigest()
