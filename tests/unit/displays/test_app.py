"""The web application from outside: who may see and do what, and how it takes hostile requests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from displays.auth.accounts import UserAccount, load_accounts, save_accounts
from displays.auth.sessions import SHIFT_SECONDS
from displays.http.security import BODY_MOST
from tests.support.service.console_site import (
    IDLE_S,
    PASSWORD,
    Site,
    form_token,
    log_in,
    secret_of,
)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


ASK = {"transaction": "transaction-1"}

OPEN = "/command/open_betting"


async def test_the_streams_of_people_are_for_people(site: Site) -> None:
    async with site.browser() as client:
        assert (await client.get("/console/events")).status_code == 401


async def test_without_a_users_file_there_is_the_scoreboard_alone(tmp_path: Path) -> None:
    async with Site(tmp_path, consoles=False).browser() as client:
        assert (await client.get("/")).status_code == 200
        for path in ("/login", "/dealer", "/pit", "/console", "/console/events"):
            assert (await client.get(path)).status_code == 404


async def test_a_command_goes_out_for_the_person(site: Site) -> None:
    async with site.person("dora") as client:
        answer = await client.post(OPEN, json=ASK)
    expected = {**ASK, "result": "accepted", "position": 7}
    assert (answer.status_code, answer.json()) == (200, expected)
    body = {"transaction": "dora.transaction-1", "actor": "dora"}
    assert site.sent == [("bac/v1/site/t1/request/console/open_betting", body)]


async def test_nobody_names_the_actor_but_the_server(site: Site) -> None:
    async with site.person("dora") as client:
        await client.post(OPEN, json={**ASK, "actor": "sam"})
    assert site.sent[0][1]["actor"] == "dora"


async def test_no_answer_is_not_a_refusal(site: Site) -> None:
    site.answers = False
    async with site.person("dora") as client:
        answer = await client.post(OPEN, json=ASK)
    assert answer.status_code == 503


async def test_a_command_that_its_page_has_given_up_is_not_sent_when_it_comes(site: Site) -> None:
    async with site.person("dora") as client:
        fate = await client.post("/fate/transaction-1")
        late = await client.post(OPEN, json=ASK)
        await client.post(OPEN, json={"transaction": "transaction-2"})
    assert (fate.json()["result"], fate.json()["code"]) == ("refused", "not_done")
    assert (late.status_code, late.json()["code"]) == (200, "given_up")
    asked, sent = site.sent
    assert asked[0] == "bac/v1/site/t1/request/console/show_request"
    assert (asked[1]["request"], asked[1]["actor"]) == ("dora.transaction-1", "dora")
    assert sent[1]["transaction"] == "dora.transaction-2"


@pytest.mark.parametrize(("age_ms", "sent"), [(0, 1), (5_000, 1), (5_001, 0)])
async def test_a_command_that_was_given_long_ago_is_not_sent(
    site: Site, age_ms: int, sent: int
) -> None:
    given = {"x-given-ms": str(site.live.health().clock_ms)}
    site.clock.now_us += age_ms * 1_000
    async with site.person("dora") as client:
        answer = await client.post(OPEN, json=ASK, headers=given)
    assert len(site.sent) == sent
    assert (answer.status_code, answer.json().get("code")) == (200, None if sent else "expired")


async def test_the_fate_of_a_command_that_was_carried_out_is_its_position(site: Site) -> None:
    site.carried_out = 5
    async with site.person("dora") as client:
        fate = await client.post("/fate/transaction-1")
        assert fate.json() == {"transaction": "transaction-1", "result": "accepted", "position": 5}
        site.answers = False
        assert (await client.post("/fate/transaction-1")).status_code == 503
        assert (await client.post("/fate/short")).status_code == 400


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-csrf-token": "of somebody else"},
        {"x-csrf-token": "ü"},
        {"x-csrf-token": "GOOD", "origin": "http://evil.example"},
        {"x-csrf-token": "GOOD", "sec-fetch-site": "cross-site"},
        {"x-csrf-token": "GOOD", "sec-fetch-site": "same-site"},
    ],
)
async def test_a_command_from_another_page_is_refused(site: Site, headers: dict[str, str]) -> None:
    async with site.browser() as client:
        await log_in(client, "dora")
        good = await secret_of(client)
        sent = {name: good if value == "GOOD" else value for name, value in headers.items()}
        encoded = [(name.encode(), value.encode()) for name, value in sent.items()]
        answer = await client.post(OPEN, json=ASK, headers=encoded)
    assert answer.status_code == 403
    assert site.sent == []


MALFORMED = [
    ("application/json", b"", 400),
    ("application/json", b"{", 400),
    ("application/json", b"\xff\xfe", 400),
    ("application/json", b"[1]", 400),
    ("application/json", b"[" * 50_000, 400),
    ("application/json", b"{}", 400),
    ("application/json", b'{"transaction":7}', 400),
    ("application/json", b'{"transaction":"short"}', 400),
    ("application/json", b'{"transaction":"with/slash-and-more"}', 400),
    ("application/json", b'{"transaction":"transaction-1","more":1}', 400),
    ("text/plain", b'{"transaction":"transaction-1"}', 415),
    ("application/json", b"{" + b" " * BODY_MOST + b"}", 413),
]


@pytest.mark.parametrize(("kind", "body", "status"), MALFORMED)
async def test_a_malformed_body_is_one_line(
    site: Site, kind: str, body: bytes, status: int
) -> None:
    async with site.person("dora") as client:
        answer = await client.post(OPEN, content=body, headers={"content-type": kind})
    assert answer.status_code == status
    assert len(answer.text.splitlines()) == 1
    assert site.sent == []


async def test_a_body_without_a_length_is_cut_off_too(site: Site) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(1_000):
            yield b" " * 4096

    async with site.person("dora") as client:
        headers = {"content-type": "application/json"}
        answer = await client.post(OPEN, content=endless(), headers=headers)
    assert answer.status_code == 413


@pytest.mark.parametrize("name", ["no_such", "replay", "ack", "show_request", "../login", "%00"])
async def test_what_is_no_command_of_people_is_refused(site: Site, name: str) -> None:
    async with site.person("sam") as client:
        answer = await client.post(f"/command/{name}", json=ASK)
    assert answer.status_code in {400, 403, 404, 415}
    assert site.sent == []


async def test_too_many_commands_are_refused(site: Site) -> None:
    async with site.person("dora") as client:
        statuses = [(await client.post(OPEN, json=ASK)).status_code for _ in range(31)]
    assert statuses == [200] * 30 + [429]


async def test_a_session_is_never_the_one_that_the_browser_brought(site: Site) -> None:
    async with site.browser() as client:
        client.cookies.set("session", "fixed-by-somebody", domain="127.0.0.1")
        first = (await log_in(client, "dora")).cookies["session"]
        assert first != "fixed-by-somebody"
    async with site.browser() as other:
        assert (await other.get("/dealer", headers={"cookie": f"session={first}"})).is_success
        # Logging in again in that browser ends what it had.
        form = {"user": "dora", "password": PASSWORD, "csrf": await form_token(other)}
        nonce = other.cookies["login"]
        again = await other.post(
            "/login", data=form, headers={"cookie": f"session={first}; login={nonce}"}
        )
        assert again.cookies["session"] != first
        assert (await other.get("/dealer", headers={"cookie": f"session={first}"})).is_redirect


async def test_the_login_form_belongs_to_its_browser(site: Site) -> None:
    async with site.browser() as one, site.browser() as other:
        form = {"user": "dora", "password": PASSWORD, "csrf": await form_token(one)}
        await form_token(other)
        assert (await other.post("/login", data=form)).status_code == 403
        form["csrf"] = ""
        assert (await one.post("/login", data=form)).status_code == 403


@pytest.mark.parametrize("secure", [False, True])
async def test_cookies_are_strict(tmp_path: Path, *, secure: bool) -> None:
    async with Site(tmp_path, secure=secure).browser() as client:
        page = await client.get("/login")
    [cookie] = page.headers.get_list("set-cookie")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert cookie.startswith("__Host-") is secure
    assert ("Secure" in cookie) is secure
    assert ("strict-transport-security" in page.headers) is secure


async def test_a_session_ends_by_doing_nothing_and_by_age(site: Site) -> None:
    async with site.browser() as client:
        await log_in(client, "dora")
        for _ in range(SHIFT_SECONDS // IDLE_S + 1):
            site.clock.now_us += (IDLE_S - 1) * 1_000_000
            last = await client.get("/dealer")
        assert last.is_redirect  # kept awake, and over with the shift
        await log_in(client, "dora")
        site.clock.now_us += IDLE_S * 1_000_000
        assert (await client.get("/dealer")).is_redirect


async def test_logging_out_ends_the_session_everywhere(site: Site) -> None:
    async with site.browser() as client:
        token = (await log_in(client, "dora")).cookies["session"]
        secret = await secret_of(client)
        assert (await client.post("/logout", data={"csrf": "no"})).status_code == 403
        assert (await client.post("/logout", data={"csrf": secret})).status_code == 303
    async with site.browser() as other:
        assert (await other.get("/dealer", headers={"cookie": f"session={token}"})).is_redirect


async def test_who_is_demoted_or_removed_is_out_at_once(site: Site) -> None:
    async with site.browser() as client:
        await log_in(client, "dora")
        assert (await client.get("/dealer")).status_code == 200
        dora = UserAccount(
            password=load_accounts(site.users)["dora"].password, roles=("technician",)
        )
        save_accounts(site.users, {"dora": dora})
        assert (await client.get("/dealer")).status_code == 403
        save_accounts(site.users, {})
        assert (await client.get("/dealer")).is_redirect


@pytest.mark.parametrize("body", [b"user=%ff", b"a=1&" * 30, b"\xff"])
async def test_a_malformed_form_is_one_line(site: Site, body: bytes) -> None:
    async with site.browser() as client:
        kind = {"content-type": "application/x-www-form-urlencoded"}
        answer = await client.post("/login", content=body, headers=kind)
    assert answer.status_code in {400, 403}
