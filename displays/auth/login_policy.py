"""Who gets in: judges a name and a password, and how often that may be tried.

**Guessing** is made slow by locking. **Locking** must not become a way to keep a supervisor out, so
it never bars everybody from a name. A browser in which this person has logged in before holds a
cookie that says so; failures from it count for it alone, it has a share of attempts and of hashing
of its own, and nothing that happens elsewhere locks it. Strangers are locked for each address they
come from, and, when a name is tried from very many, all together.

The cookie is an HMAC under the account's own hash, so that it outlives a restart, ends with the
password, and needs no further secret. It lets nobody in: it only says whose mistakes are whose.
"""

import asyncio
import hashlib
import hmac
import re
import secrets
from typing import Final, Literal

from displays.auth.accounts import Account, Accounts
from displays.auth.passwords import password_matches
from displays.auth.throttle import Lockout, Rate
from events.clock import Clock

__all__ = ["STRANGERS_MOST", "Gate", "Verdict"]

Verdict = Literal["ok", "wrong", "locked", "often"]
"""What became of an attempt."""

# A table has a handful of screens.
_LOGINS_BURST: Final = 10
_LOGINS_PER_S: Final = 0.2
# In a row, from all addresses together, of one name. A guesser with a network has so many an hour.
STRANGERS_MOST: Final = 50
_DEVICE: Final = re.compile(r"([0-9a-f]{32})\.([0-9a-f]{64})\Z")


class Gate:
    """Judges attempts to log in.

    Args:
        accounts: who may.
        clock: for how often.
    """

    def __init__(self, accounts: Accounts, clock: Clock) -> None:
        self._accounts = accounts
        self._rate = Rate(clock, burst=_LOGINS_BURST, per_s=_LOGINS_PER_S)
        self._each = Lockout(clock)
        self._strangers = Lockout(clock, most=STRANGERS_MOST)
        # A hash takes 64 MiB and some processors for tens of milliseconds: one at a time, and
        # whoever is known does not queue behind strangers.
        self._hashing = {known: asyncio.Semaphore(1) for known in (False, True)}

    async def judge(self, name: str, password: str, *, place: str, cookie: str | None) -> Verdict:
        """Judge one attempt.

        Args:
            name: as it was typed.
            password: as it was typed.
            place: where it comes from, by `neighbourhood`.
            cookie: of the device, as the browser brought it.
        """
        device = self._device(name, cookie)
        if not self._rate.allows(f"{name}#{device}" if device else place):
            return "often"
        key = f"{name}#{device}" if device else f"{name}@{place}"
        if self._locked(name, key, device):
            return "locked"
        async with self._hashing[device is not None]:
            # Asked for again: while this one waited, others may have been counted.
            if self._locked(name, key, device):
                return "locked"
            account = self._accounts.get(name)
            matches = await asyncio.to_thread(password_matches, account, password)
            return "ok" if self._counted(name, key, device, matches=matches) else "wrong"

    def _locked(self, name: str, key: str, device: str | None) -> bool:
        return bool(self._each.locked_s(key) or (device is None and self._strangers.locked_s(name)))

    def _counted(self, name: str, key: str, device: str | None, *, matches: bool) -> bool:
        # A success from a known browser says nothing of what strangers tried.
        counted = [(self._each, key)] if device else [(self._each, key), (self._strangers, name)]
        for lockout, tried in counted:
            (lockout.succeeded if matches else lockout.failed)(tried)
        return matches

    def _device(self, name: str, cookie: str | None) -> str | None:
        """The browser's own number, where this person has logged in with it before."""
        found = _DEVICE.match(cookie or "")
        account = self._accounts.get(name) if found else None
        if found is None or account is None:
            return None
        number, said = found.groups()
        return number if hmac.compare_digest(said, _sign(name, account, number)) else None

    def device_cookie(self, name: str, cookie: str | None) -> str:
        """What a browser is to hold after `name` has logged in with it.

        Args:
            name: of a person whose password was right a moment ago.
            cookie: what it held before; kept where it is theirs.
        """
        account = self._accounts.get(name)
        if account is None:
            return ""
        number = self._device(name, cookie) or secrets.token_hex(16)
        return f"{number}.{_sign(name, account, number)}"


def _sign(name: str, account: Account, number: str) -> str:
    text = f"device\0{name}\0{number}".encode()
    return hmac.new(account.password.encode(), text, hashlib.sha256).hexdigest()
