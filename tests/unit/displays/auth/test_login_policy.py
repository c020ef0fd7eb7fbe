"""Logins under attack: guessing is slow, and nobody can keep a supervisor out by guessing."""

from pathlib import Path

import httpx
import pytest

from displays.auth.accounts import UserAccount, load_accounts, save_accounts
from displays.auth.login_policy import (
    FAILURES_MOST,
    FORGOTTEN_SECONDS,
    LOCKED_SECONDS,
    STRANGERS_MOST,
    client_network,
    is_here,
)
from displays.auth.sessions import SESSIONS_EACH
from tests.support.service.console_site import PASSWORD, Site, form_token, hashed, log_in

WRONG, OFTEN, IN = 403, 429, 303
PAUSE_US = 5_000_000  # slower than the limit of one machine's attempts


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    # What is tested is not how long a stranger's attempt takes.
    monkeypatch.setattr("displays.auth.passwords._NOBODY", hashed("nobody knows it"))
    return Site(tmp_path)


async def attempt(site: Site, client: httpx.AsyncClient, name: str, password: str) -> int:
    site.clock.now_us += PAUSE_US
    return await at_once(client, name, password)


async def at_once(client: httpx.AsyncClient, name: str, password: str) -> int:
    if "session" in client.cookies:
        client.cookies.delete("session")  # whoever is logged in sees no form
    return (await log_in(client, name, password)).status_code


async def fail(site: Site, at: str, name: str, times: int = FAILURES_MOST) -> list[int]:
    async with site.browser(at) as client:
        return [await attempt(site, client, name, "wrong password") for _ in range(times)]


async def test_wrong_passwords_lock_the_name_for_a_while(site: Site) -> None:
    async with site.browser() as client:
        for name in ("dora", "nobody"):
            wrong = [await attempt(site, client, name, "wrong password") for _ in range(5)]
            assert wrong == [WRONG] * FAILURES_MOST
            assert await attempt(site, client, name, PASSWORD) == OFTEN
        site.clock.now_us += LOCKED_SECONDS * 1_000_000
        assert await attempt(site, client, "dora", PASSWORD) == IN


async def test_failures_of_long_ago_are_forgotten(site: Site) -> None:
    await fail(site, "10.0.0.9", "sam", FAILURES_MOST - 1)
    site.clock.now_us += (FORGOTTEN_SECONDS + 1) * 1_000_000
    assert await fail(site, "10.0.0.9", "sam", FAILURES_MOST) == [WRONG] * FAILURES_MOST


async def test_too_many_attempts_from_one_machine_are_refused(site: Site) -> None:
    async with site.browser() as client:
        statuses = [(await log_in(client, f"name-{n}", "x")).status_code for n in range(11)]
    assert statuses == [WRONG] * 10 + [OFTEN]


async def test_one_machine_locks_nobody_out_elsewhere(site: Site) -> None:
    assert (await fail(site, "10.0.0.66", "sam", 9))[-1] == OFTEN
    async with site.browser("10.0.0.7") as client:
        assert await attempt(site, client, "sam", PASSWORD) == IN


async def test_many_machines_lock_a_name_for_strangers_alone(site: Site) -> None:
    async with site.browser("10.0.0.7") as known:
        assert await attempt(site, known, "sam", PASSWORD) == IN
        for machine in range(STRANGERS_MOST // FAILURES_MOST):
            await fail(site, f"10.1.0.{machine}", "sam")
        async with site.browser("10.0.0.8") as stranger:
            assert await attempt(site, stranger, "sam", PASSWORD) == OFTEN
        assert await attempt(site, known, "sam", PASSWORD) == IN
        # What sam does says nothing of the strangers.
        async with site.browser("10.0.0.8") as stranger:
            assert await attempt(site, stranger, "sam", PASSWORD) == OFTEN


async def test_a_flood_from_his_own_address_does_not_keep_a_known_browser_out(site: Site) -> None:
    async with site.browser() as known, site.browser() as flood:
        assert await attempt(site, known, "sam", PASSWORD) == IN
        statuses = {await at_once(flood, "sam", "x") for _ in range(100)}
        assert OFTEN in statuses
        assert await at_once(known, "sam", PASSWORD) == IN


async def test_a_known_browser_is_locked_by_its_own_failures(site: Site) -> None:
    async with site.browser("10.0.0.7") as known:
        assert await attempt(site, known, "sam", PASSWORD) == IN
        for _ in range(FAILURES_MOST):
            assert await attempt(site, known, "sam", "wrong password") == WRONG
        assert await attempt(site, known, "sam", PASSWORD) == OFTEN


@pytest.mark.parametrize("change", ["nothing", "another's", "forged", "a new password"])
async def test_a_browser_is_known_by_what_we_signed_alone(site: Site, change: str) -> None:
    async with site.browser("10.0.0.7") as client:
        assert await attempt(site, client, "sam", PASSWORD) == IN
        cookie = client.cookies["device-sam"]
        if change == "another's":
            assert await attempt(site, client, "dora", PASSWORD) == IN
            cookie = client.cookies["device-dora"]
        elif change == "forged":
            cookie = cookie[:-1] + ("0" if cookie[-1] != "0" else "1")
        elif change == "a new password":
            people = dict(load_accounts(site.users))
            people["sam"] = UserAccount(password=hashed(PASSWORD), roles=("supervisor",))
            save_accounts(site.users, people)
    await fail(site, "10.0.0.8", "sam")
    async with site.browser("10.0.0.8") as client:  # which is locked for strangers
        client.cookies.set("device-sam", cookie, domain="127.0.0.1", path="/login")
        expected = IN if change == "nothing" else OFTEN
        assert await attempt(site, client, "sam", PASSWORD) == expected


@pytest.mark.parametrize("secure", [False, True])
async def test_what_a_browser_is_known_by_goes_to_the_login_alone(
    tmp_path: Path, *, secure: bool
) -> None:
    site = Site(tmp_path, secure=secure)
    async with site.browser() as client:
        form = {"user": "sam", "password": PASSWORD, "csrf": await form_token(client)}
        nonce = next(iter(client.cookies.jar))
        answer = await client.post(
            "/login", data=form, headers={"cookie": f"{nonce.name}={nonce.value}"}
        )
    cookies = dict(each.split("=", 1) for each in answer.headers.get_list("set-cookie"))
    device = cookies["__Secure-device-sam" if secure else "device-sam"]
    assert {"HttpOnly", "SameSite=strict", "Path=/login"} <= set(device.split("; "))
    assert ("Secure" in device.split("; ")) is secure


async def test_a_new_password_ends_every_session(site: Site) -> None:
    async with site.browser() as client:
        await log_in(client, "sam")
        assert (await client.get("/pit")).status_code == 200
        people = dict(load_accounts(site.users))
        people["sam"] = UserAccount(password=hashed(PASSWORD), roles=("supervisor",))
        save_accounts(site.users, people)
        assert (await client.get("/pit")).is_redirect


async def test_nobody_logs_others_out_by_logging_in(site: Site) -> None:
    async with site.browser() as sam:
        await log_in(sam, "sam")
        tokens = []
        for _ in range(SESSIONS_EACH + 1):
            site.clock.now_us += PAUSE_US
            async with site.browser() as dora:
                tokens.append((await log_in(dora, "dora")).cookies["session"])
        assert (await sam.get("/pit")).status_code == 200
    lasts = []
    for token in tokens:
        async with site.browser() as dora:
            dora.cookies.set("session", token, domain="127.0.0.1")
            lasts.append((await dora.get("/dealer")).status_code == 200)
    assert lasts == [False] + [True] * SESSIONS_EACH


@pytest.mark.parametrize(
    ("host", "expected", "here"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("10.0.0.7", "10.0.0.7", False),
        ("::1", "::/64", True),
        ("2001:db8::1", "2001:db8::/64", False),
        ("2001:db8::ffff:1:2", "2001:db8::/64", False),
        ("::ffff:10.0.0.7", "10.0.0.7", False),
        ("fe80::1%eth0", "fe80::/64", False),
        ("", "", False),
        ("testclient", "testclient", False),
    ],
)
def test_who_counts_as_one(host: str, expected: str, *, here: bool) -> None:
    assert (client_network(host), is_here(host)) == (expected, here)
