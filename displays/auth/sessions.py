"""The sessions of logged-in people, in memory, and in a file that outlives a restart.

The server creates a session's token at login and never takes one from a browser, which prevents
session fixation. It keeps only the token's hash. A session ends by logout, inactivity or age, or
when its account is removed or gets another password.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from displays.auth.accounts import UserAccount
from displays.auth.session_store import KeptSessions, SessionStore, StoredSession
from events.clock import Clock

__all__ = ["SESSIONS_EACH", "SESSIONS_MOST", "SHIFT_SECONDS", "SecondsLeft", "Session", "Sessions"]

# A shift with overtime: the next person has to log in.
SHIFT_SECONDS: Final = 12 * 3600
# Far more than the people at one table; a further login ends the most inactive session.
SESSIONS_MOST: Final = 256
# Most sessions of one person, so that nobody can end others' sessions by logging in.
SESSIONS_EACH: Final = 8
_US: Final = 1_000_000
# Seconds between two writes of when people were last seen; a restart forgets no more of it.
_SAVE_SECONDS: Final = 10


class Session(Struct, kw_only=True):
    """A person's session.

    Args:
        user: the account's name.
        password: what `_mark` makes of the account's hash at login; see `is_of`.
        csrf: the secret that every action of this session must repeat.
        began_us: monotonic microseconds.
        seen_us: time of the person's last action, monotonic microseconds.
    """

    user: str
    password: str
    csrf: str
    began_us: int
    seen_us: int

    def is_of(self, account: UserAccount | None, utc_ns: int) -> bool:
        """Return whether the account still has the hash of the login, and has not ended."""
        if account is None or account.has_ended(utc_ns):
            return False
        return self.password == _mark(account.password)


class SecondsLeft(NamedTuple):
    """How long a session has left, and whether doing something makes that longer."""

    seconds: int
    renewable: bool


class Sessions:
    """All sessions of the server.

    Args:
        clock: for ages.
        idle_s: seconds of inactivity that end a session.
        each: most sessions of one person; a further login ends the most inactive one.
        store: keeps them over a restart; None keeps them in memory alone.
    """

    def __init__(
        self,
        clock: Clock,
        idle_s: int,
        each: int = SESSIONS_EACH,
        store: SessionStore | None = None,
    ) -> None:
        self._each = each
        self._clock = clock
        self._idle_us = idle_s * _US
        self._store = store
        self._saved_us = clock.mono_us()
        self._open: dict[bytes, Session] = {}
        self._secret = secrets.token_bytes(32)
        if store is not None and (kept := store.load()) is not None:
            self._secret = kept.secret
            self._take_over(store, kept)

    def _take_over(self, store: SessionStore, kept: KeptSessions) -> None:
        now = self._clock.mono_us()
        for each in kept.sessions:
            age = store.age(each)
            session = Session(
                user=each.user,
                password=each.password,
                csrf=self._csrf(each.key),
                began_us=age.began_us,
                seen_us=age.seen_us,
            )
            if self._is_valid(session, now):
                self._open[each.key] = session

    def people(self, accounts: Mapping[str, UserAccount]) -> list[str]:
        """Return the person of each open session that is still of that person's account."""
        now = self._clock.utc_ns()
        return sorted(
            each.user for each in self._open.values() if each.is_of(accounts.get(each.user), now)
        )

    def _save(self) -> None:
        self._saved_us = self._clock.mono_us()
        if self._store is None:
            return
        stored = tuple(
            StoredSession(
                key=key,
                user=each.user,
                password=each.password,
                began_ns=self._store.utc_ns(each.began_us),
                seen_ns=self._store.utc_ns(each.seen_us),
            )
            for key, each in self._open.items()
        )
        self._store.save(KeptSessions(secret=self._secret, sessions=stored))

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
        key = _key(token)
        self._open[key] = Session(
            user=user,
            password=_mark(password),
            csrf=self._csrf(key),
            began_us=now,
            seen_us=now,
        )
        self._save()
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
            if now - self._saved_us >= _SAVE_SECONDS * _US:
                self._save()
        return session

    def end(self, token: str) -> None:
        """End a session."""
        if self._open.pop(_key(token), None) is not None:
            self._save()

    def left_s(self, token: str) -> SecondsLeft | None:
        """Return how long a session has left; None where it is over."""
        session = self.find(token, touch=False)
        if session is None:
            return None
        now = self._clock.mono_us()
        idle = self._idle_us - (now - session.seen_us)
        shift = SHIFT_SECONDS * _US - (now - session.began_us)
        return SecondsLeft(min(idle, shift) // _US, renewable=idle < shift)

    def _is_valid(self, session: Session, now: int) -> bool:
        return (
            now - session.seen_us < self._idle_us and now - session.began_us < SHIFT_SECONDS * _US
        )

    def _csrf(self, key: bytes) -> str:
        return hmac.new(self._secret, b"csrf" + key, hashlib.sha256).hexdigest()

    def login_token(self, nonce: str) -> str:
        """Return the token that a login form must send with its cookie `nonce`; stores nothing."""
        return hmac.new(self._secret, nonce.encode(), hashlib.sha256).hexdigest()


def _key(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _mark(password: str) -> str:
    """Return what tells an account's hash from another, and is of no use to a thief."""
    return hashlib.sha256(password.encode()).hexdigest()
