"""The sessions of logged-in people, in memory: a restart logs everybody out, which is safe.

The server creates a session's token at login and never takes one from a browser, which prevents
session fixation. It keeps only the token's hash. A session ends by logout, inactivity or age, or
when its account is removed or gets another password.
"""

import hashlib
import hmac
import secrets
from typing import Final

from msgspec import Struct

from events.clock import Clock

__all__ = ["SESSIONS_EACH", "SESSIONS_MOST", "SHIFT_SECONDS", "Session", "Sessions"]

# A shift with overtime: the next person has to log in.
SHIFT_SECONDS: Final = 12 * 3600
# Far more than the people at one table; a further login ends the most inactive session.
SESSIONS_MOST: Final = 256
# Most sessions of one person, so that nobody can end others' sessions by logging in.
SESSIONS_EACH: Final = 8
_US: Final = 1_000_000


class Session(Struct, kw_only=True):
    """A person's session.

    Args:
        user: the account's name.
        password: the hash at login; another hash in the account ends the session.
        csrf: the secret that every action of this session must repeat.
        began_us: monotonic microseconds.
        seen_us: time of the person's last action, monotonic microseconds.
    """

    user: str
    password: str
    csrf: str
    began_us: int
    seen_us: int


class Sessions:
    """All sessions of the server.

    Args:
        clock: for ages.
        idle_s: seconds of inactivity that end a session.
        each: most sessions of one person; a further login ends the most inactive one.
    """

    def __init__(self, clock: Clock, idle_s: int, each: int = SESSIONS_EACH) -> None:
        self._each = each
        self._clock = clock
        self._idle_us = idle_s * _US
        self._open: dict[bytes, Session] = {}
        self._secret = secrets.token_bytes(32)

    def begin(self, user: str, *, password: str, instead_of: str | None = None) -> str:
        """Begin a session, end the browser's earlier one, and return the new token.

        Args:
            user: the account's name.
            password: the account's hash.
            instead_of: the token of the browser's earlier session, or None.
        """
        if instead_of is not None:
            self.end(instead_of)
        now = self._clock.mono_us()
        self._open = {key: each for key, each in self._open.items() if self._is_valid(each, now)}
        theirs = {key: each for key, each in self._open.items() if each.user == user}
        for most, among in ((self._each, theirs), (SESSIONS_MOST, self._open)):
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
        """Return the session of this token, or None if there is none or it has expired.

        Args:
            token: from the cookie.
            touch: whether the request is an action of the person; a running stream is not.
        """
        session = self._open.get(_key(token))
        now = self._clock.mono_us()
        if session is None:
            return None
        if not self._is_valid(session, now):
            self.end(token)
            return None
        if touch:
            session.seen_us = now
        return session

    def end(self, token: str) -> None:
        """End a session."""
        self._open.pop(_key(token), None)

    def _is_valid(self, session: Session, now: int) -> bool:
        return (
            now - session.seen_us < self._idle_us and now - session.began_us < SHIFT_SECONDS * _US
        )

    def login_token(self, nonce: str) -> str:
        """Return the token that a login form must send with its cookie `nonce`; stores nothing."""
        return hmac.new(self._secret, nonce.encode(), hashlib.sha256).hexdigest()


def _key(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
