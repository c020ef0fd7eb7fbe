"""Who sees the property's page where it has a users file: a table of names and passwords."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from displays.auth.accounts import UserAccount, UserAccounts, save_accounts
from displays.property_board import login
from displays.property_board.board import make_board_app
from tests.support.service.console_site import hashed

_PASSWORD = "correct horse"  # noqa: S105 - of a test
_ANN = ("ann", _PASSWORD)


class Board:
    """A board without tables and without questions."""

    live, well, reason, change = True, True, "", 0
    questions: tuple[Mapping[str, object], ...] = ()

    def news(self, _: int) -> bytes:
        return b"{}"

    def subscribe(self, _: object) -> object:
        return lambda: None

    async def ask(self, *_: object) -> bytes:
        return b"{}"


@pytest.fixture
def users(tmp_path: Path) -> UserAccounts:
    path = tmp_path / "users.toml"
    secret = hashed(_PASSWORD)
    ann = UserAccount(password=secret, roles=("supervisor",))
    gone = UserAccount(password=secret, roles=("supervisor",), until=1, reason="a visit")
    save_accounts(path, {"ann": ann, "gone": gone})
    return UserAccounts(path)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("auth", "status"),
    [
        (None, 401),
        (_ANN, 200),
        (("ann", "wrong"), 401),
        (("ann", "x" * 5000), 401),
        (("gone", _PASSWORD), 401),
        (("nobody", _PASSWORD), 401),
    ],
)
async def test_only_who_is_named_sees_anything(
    users: UserAccounts,
    auth: tuple[str, str] | None,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(login, "_PAUSE_S", 0.0)
    app = make_board_app(Board(), Board(), asyncio.Event(), users=users)  # type: ignore[arg-type]  # a stand-in
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        # A password takes long to check: all paths for who gives none, and who gives the right one.
        more = ("/health", "/ask/win", "/static/css/board.css") if auth in (None, _ANN) else ()
        for path in ("/", *more):
            found = await client.get(path, auth=auth)
            assert found.status_code == status, path
            assert ("www-authenticate" in found.headers) is (status == 401)
        for junk in ("Basic", "Basic !!", "Basic YW5u", "Bearer x"):
            refused = await client.get("/", headers={"authorization": junk})
            assert refused.status_code == 401
