"""The web application from outside: who may see and do what, and how it takes hostile requests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from displays.auth.accounts import save_accounts
from displays.auth.sessions import SHIFT_SECONDS
from displays.http.security import BODY_MOST
from tests.support.service.console_site import (
    IDLE_S,
    PASSWORD,
    PEOPLE,
    Site,
    form_token,
    log_in,
    secret_of,
)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


ASK = {"transaction": "transaction-1"}

# Endpoint, and its status for nobody and for each role.
WHO = [
    ("GET", "/", (200, 200, 200, 200)),
    ("GET", "/health", (503, 503, 503, 503)),
    ("GET", "/static/js/live.js", (200, 200, 200, 200)),
    ("GET", "/static/../app.py", (404, 404, 404, 404)),
    ("GET", "/login", (200, 303, 303, 303)),
    ("GET", "/console", (303, 303, 303, 303)),
    ("GET", "/dealer", (303, 200, 200, 403)),
    ("GET", "/pit", (303, 403, 200, 403)),
    ("GET", "/replay", (303, 403, 200, 200)),
    ("POST", "/command/open_betting", (401, 403, 403, 403)),  # without the page's secret
    ("POST", "/logout", (303, 415, 415, 415)),
    ("GET", "/command/open_betting", (405, 405, 405, 405)),
    ("POST", "/", (405, 405, 405, 405)),
    ("GET", "/users.toml", (404, 404, 404, 404)),
]


@pytest.mark.parametrize(("method", "path", "statuses"), WHO, ids=[f"{w[0]} {w[1]}" for w in WHO])
async def test_each_endpoint_for_each_role(
    site: Site, method: str, path: str, statuses: tuple[int, ...]
) -> None:
    for name, expected in zip((None, *PEOPLE), statuses, strict=True):
        async with site.browser() as client:
            if name:
                assert (await log_in(client, name)).status_code == 303
            answer = await client.request(method, path)
            assert answer.status_code == expected, name
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"


async def test_the_streams_of_people_are_for_people(site: Site) -> None:
    async with site.browser() as client:
        assert (await client.get("/console/events")).status_code == 401


async def test_without_a_users_file_there_is_the_scoreboard_alone(tmp_path: Path) -> None:
    async with Site(tmp_path, consoles=False).browser() as client:
        assert (await client.get("/")).status_code == 200
        for path in ("/login", "/dealer", "/pit", "/console", "/console/events"):
            assert (await client.get(path)).status_code == 404


async def test_a_command_goes_out_for_the_person(site: Site) -> None:
    async with site.browser() as client:
        await log_in(client, "dora")
        headers = {"x-csrf-token": await secret_of(client)}
        answer = await client.post("/command/open_betting", json=ASK, headers=headers)
    assert answer.status_code == 200
    assert answer.json() == {**ASK, "result": "accepted", "position": 7}
    [(topic, body)] = site.sent
    assert topic == "bac/v1/site/t1/request/console/open_betting"
    assert body == {"transaction": "dora.transaction-1", "actor": "dora"}


async def test_nobody_names_the_actor_but_the_server(site: Site) -> None:
    async with site.browser() as client:
        await log_in(client, "dora")
        headers = {"x-csrf-token": await secret_of(client)}
        body = {**ASK, "actor": "sam"}
        await client.post("/command/open_betting", json=body, headers=headers)
    assert site.sent[0][1]["actor"] == "dora"


async def test_no_answer_is_not_a_refusal(site: Site) -> None:
    site.answers = False
    async with site.browser() as client:
        await log_in(client, "dora")
        headers = {"x-csrf-token": await secret_of(client)}
        answer = await client.post("/command/open_betting", json=ASK, headers=headers)
    assert answer.status_code == 503


async def test_a_command_that_its_page_has_given_up_is_not_sent_when_it_comes(site: Site) -> None:
    async with site.browser() as client:
        await log_in(client, "dora")
        headers = {"x-csrf-token": await secret_of(client)}
        fate = await client.post("/fate/transaction-1", headers=headers)
        late = await client.post("/command/open_betting", json=ASK, headers=headers)
        other = {"transaction": "transaction-2"}
        await client.post("/command/open_betting", json=other, headers=headers)
    assert (fate.json()["result"], fate.json()["code"]) == ("refused", "not_done")
    assert (late.status_code, late.json()["code"]) == (200, "given_up")
    asked, sent = site.sent
    assert asked[0] == "bac/v1/site/t1/request/console/show_request"
    assert asked[1]["request"] == "dora.transaction-1"
    assert asked[1]["actor"] == "dora"
    assert sent[1]["transaction"] == "dora.transaction-2"


async def test_the_fate_of_a_command_that_was_carried_out_is_its_position(site: Site) -> None:
    site.carried_out = 5
    async with site.browser() as client:
        await log_in(client, "dora")
        headers = {"x-csrf-token": await secret_of(client)}
        fate = await client.post("/fate/transaction-1", headers=headers)
        assert fate.json() == {"transaction": "transaction-1", "result": "accepted", "position": 5}
        site.answers = False
        assert (await client.post("/fate/transaction-1", headers=headers)).status_code == 503
        assert (await client.post("/fate/short", headers=headers)).status_code == 400


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
        answer = await client.post("/command/open_betting", json=ASK, headers=encoded)
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
    async with site.browser() as client:
        await log_in(client, "dora")
        headers = {"x-csrf-token": await secret_of(client), "content-type": kind}
        answer = await client.post("/command/open_betting", content=body, headers=headers)
    assert answer.status_code == status
    assert len(answer.text.splitlines()) == 1
    assert site.sent == []


async def test_a_body_without_a_length_is_cut_off_too(site: Site) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(1_000):
            yield b" " * 4096

    async with site.browser() as client:
        await log_in(client, "dora")
        headers = {"x-csrf-token": await secret_of(client), "content-type": "application/json"}
        answer = await client.post("/command/open_betting", content=endless(), headers=headers)
    assert answer.status_code == 413


@pytest.mark.parametrize("name", ["no_such", "replay", "ack", "show_request", "../login", "%00"])
async def test_what_is_no_command_of_people_is_refused(site: Site, name: str) -> None:
    async with site.browser() as client:
        await log_in(client, "sam")
        headers = {"x-csrf-token": await secret_of(client)}
        answer = await client.post(f"/command/{name}", json=ASK, headers=headers)
    assert answer.status_code in {400, 403, 404, 415}
    assert site.sent == []


async def test_too_many_commands_are_refused(site: Site) -> None:
    async with site.browser() as client:
        await log_in(client, "dora")
        headers = {"x-csrf-token": await secret_of(client)}
        statuses = [
            (await client.post("/command/open_betting", json=ASK, headers=headers)).status_code
            for _ in range(31)
        ]
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


async def test_who_is_removed_is_out_at_once(site: Site) -> None:
    async with site.browser() as client:
        await log_in(client, "dora")
        assert (await client.get("/dealer")).status_code == 200
        save_accounts(site.users, {})
        assert (await client.get("/dealer")).is_redirect


@pytest.mark.parametrize("body", [b"user=%ff", b"a=1&" * 30, b"\xff"])
async def test_a_malformed_form_is_one_line(site: Site, body: bytes) -> None:
    async with site.browser() as client:
        kind = {"content-type": "application/x-www-form-urlencoded"}
        answer = await client.post("/login", content=body, headers=kind)
    assert answer.status_code in {400, 403}
