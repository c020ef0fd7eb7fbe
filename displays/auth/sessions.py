"""Who is logged in. Kept in memory: a restart logs everybody out, which is safe.

A session's token is made by us at login and never taken from a browser, so nobody can fix one
beforehand; we keep only its hash. It ends by logging out, by time without anything being done, by
age, or when the account is gone or has another password.
"""

import hashlib
import hmac
import secrets
from typing import Final

from msgspec import Struct

from events.clock import Clock

__all__ = ["SESSIONS_EACH", "SESSIONS_MOST", "SHIFT_SECONDS", "Session", "Sessions"]

# A working day and its overtime: whoever comes after has to log in.
SHIFT_SECONDS: Final = 12 * 3600
# Far above the people at one table; when it is full, the one who did nothing for longest goes.
SESSIONS_MOST: Final = 256
# Of one person: some screens and what was left open. Nobody can log others out by logging in.
SESSIONS_EACH: Final = 8
_US: Final = 1_000_000


class Session(Struct, kw_only=True):
    """A person at a screen.

    Args:
        user: their name.
        password: the hash that they logged in by; another one in the account ends it.
        csrf: the secret that every action of this session repeats.
        began_us: monotonic.
        seen_us: when the person last did something, monotonic.
    """

    user: str
    password: str
    csrf: str
    began_us: int
    seen_us: int


class Sessions:
    """All of them.

    Args:
        clock: for ages.
        idle_s: seconds without anything being done after which a session is over.
    """

    def __init__(self, clock: Clock, idle_s: int) -> None:
        self._clock = clock
        self._idle_us = idle_s * _US
        self._open: dict[bytes, Session] = {}
        self._secret = secrets.token_bytes(32)

    def begin(self, user: str, *, password: str, instead_of: str | None = None) -> str:
        """Log in: the token of a new session. The one that the browser had before is over.

        Args:
            user: their name.
            password: the account's hash.
            instead_of: the token that the browser brought.
        """
        if instead_of is not None:
            self.end(instead_of)
        now = self._clock.mono_us()
        self._open = {key: each for key, each in self._open.items() if self._lasts(each, now)}
        theirs = {key: each for key, each in self._open.items() if each.user == user}
        for most, among in ((SESSIONS_EACH, theirs), (SESSIONS_MOST, self._open)):
            if len(among) >= most:
                del self._open[min(among, key=lambda key: self._open[key].seen_us)]
        token = secrets.token_urlsafe(32)
        self._open[_key(token)] = Session(
            user=user,
            password=password,
            csrf=secrets.token_urlsafe(32),
            began_us=now,
            seen_us=now,
        )
        return token

    def find(self, token: str, *, touch: bool) -> Session | None:
        """The session of this token, if it is one and lasts.

        Args:
            token: from the cookie.
            touch: the person did something; a stream that merely goes on is nothing done.
        """
        session = self._open.get(_key(token))
        now = self._clock.mono_us()
        if session is None:
            return None
        if not self._lasts(session, now):
            self.end(token)
            return None
        if touch:
            session.seen_us = now
        return session

    def end(self, token: str) -> None:
        """Log out."""
        self._open.pop(_key(token), None)

    def _lasts(self, session: Session, now: int) -> bool:
        return (
            now - session.seen_us < self._idle_us and now - session.began_us < SHIFT_SECONDS * _US
        )

    def login_token(self, nonce: str) -> str:
        """What a login form must bring beside its cookie `nonce`: nothing is kept for it."""
        return hmac.new(self._secret, nonce.encode(), hashlib.sha256).hexdigest()


def _key(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
