"""Asks each visitor of the property's page for a name and a password of the users file.

The browser asks the person and sends both with every request (HTTP Basic). The page changes
nothing, so it needs no session. Verification is slow on purpose: what was right once is remembered
as a keyed hash while the account stays as it was, and one guess is judged at a time.
"""

import asyncio
import secrets
from base64 import b64decode
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from displays.auth.accounts import UserAccount, UserAccounts
from displays.auth.passwords import password_matches
from events.clock import Clock

__all__ = ["BoardLogin"]

_CHALLENGE: Final = {"www-authenticate": 'Basic realm="property", charset="UTF-8"'}
_ASK: Final = 401
_BUSY: Final = 503
_ANSWERS: Final = {
    _ASK: PlainTextResponse("log in\n", _ASK, _CHALLENGE),
    _BUSY: PlainTextResponse("others log in: try again in a moment\n", _BUSY),
}
# Seconds before a wrong password is answered, and how many may wait for that.
_PAUSE_S: Final = 1.0
_WAITING_MOST: Final = 8
_REMEMBERED_MOST: Final = 1000


class BoardLogin:
    """Middleware that lets in only whom the users file names.

    Args:
        app: the application.
        users: the accounts.
        clock: for accounts that end.
    """

    def __init__(self, app: ASGIApp, users: UserAccounts, clock: Clock) -> None:
        self._app, self._users, self._clock = app, users, clock
        self._key = secrets.token_bytes(32)
        self._right: dict[bytes, str] = {}
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application for who is known; ask all others."""
        if scope["type"] == "http":
            status = await self._refusal(Request(scope).headers)
            if status:
                await _ANSWERS[status](scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _refusal(self, headers: Mapping[str, str]) -> int:
        """Return the status of a refusal; 0 where the visitor may come in."""
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() != "basic":
            return _ASK
        try:
            name, colon, password = b64decode(given, validate=True).decode().partition(":")
        except ValueError:
            return _ASK
        account = self._users.get(name) if colon else None
        if account is not None and account.has_ended(self._clock.utc_ns()):
            account = None
        mark = blake2b(given.encode(), key=self._key).digest()
        if account is not None and self._right.get(mark) == account.password:
            return 0
        if self._waiting >= _WAITING_MOST:
            return _BUSY
        return await self._judged(account, password, mark)

    async def _judged(self, account: UserAccount | None, password: str, mark: bytes) -> int:
        self._waiting += 1
        try:
            async with self._turn:
                if await asyncio.to_thread(password_matches, account, password) and account:
                    if len(self._right) >= _REMEMBERED_MOST:
                        self._right.clear()
                    self._right[mark] = account.password
                    return 0
                await asyncio.sleep(_PAUSE_S)
                return _ASK
        finally:
            self._waiting -= 1
