"""Every endpoint by every role and method; requests that no page of ours sends."""

import re
from pathlib import Path

import httpx
import pytest
from starlette.routing import Mount, Route

from displays.auth.accounts import CONSOLE_ROLES, check_account
from displays.consoles.routes import CONSOLE_PAGES
from events.commands.registry import COMMANDS, ROLES
from events.errors import InputError
from tests.support.service.console_site import PASSWORD, PEOPLE, Site, form_token, log_in, secret_of

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW")
NOBODY = "nobody"
WHO = (NOBODY, *sorted(CONSOLE_ROLES))
ANYBODY = dict.fromkeys(WHO, 200)
ENDED, FORBIDDEN, AWAY, NOT_THERE = 401, 403, 303, 404
BY_ROLE = {role: name for name, role in PEOPLE.items()}

# What each endpoint answers to each role, by the methods that it has; all others are 405. A stream
# does not end, so it is asked for its head.
ENDPOINTS: dict[str, dict[str, dict[str, int]]] = {
    "/": {"GET": ANYBODY, "HEAD": ANYBODY},
    "/kiosk": {"GET": ANYBODY, "HEAD": ANYBODY},
    "/site.css": {"GET": ANYBODY, "HEAD": ANYBODY},
    "/site-logo": {"GET": dict.fromkeys(WHO, 404), "HEAD": dict.fromkeys(WHO, 404)},
    "/events": {"HEAD": ANYBODY},
    "/health": {"GET": dict.fromkeys(WHO, 503), "HEAD": dict.fromkeys(WHO, 503)},
    "/rules": {"GET": dict.fromkeys(WHO, 503), "HEAD": dict.fromkeys(WHO, 503)},
    "/verify.html": {"GET": ANYBODY, "HEAD": ANYBODY},
    "/maintenance": {"GET": ANYBODY, "HEAD": ANYBODY},
    "/service-worker.js": {"GET": ANYBODY, "HEAD": ANYBODY},
    "/static/js/live.js": {"GET": ANYBODY, "HEAD": ANYBODY},
    "/login": {
        "GET": {NOBODY: 200, "dealer": AWAY, "supervisor": AWAY, "technician": AWAY},
        "HEAD": {NOBODY: 200, "dealer": AWAY, "supervisor": AWAY, "technician": AWAY},
        "POST": dict.fromkeys(WHO, 415),  # no form
    },
    "/countersign": {"POST": {NOBODY: ENDED, **dict.fromkeys(sorted(CONSOLE_ROLES), FORBIDDEN)}},
    "/stay": {"POST": {NOBODY: ENDED, **dict.fromkeys(sorted(CONSOLE_ROLES), FORBIDDEN)}},
    "/logout": {"POST": {NOBODY: AWAY, "dealer": 415, "supervisor": 415, "technician": 415}},
    "/console": {
        "GET": {NOBODY: AWAY, "dealer": AWAY, "supervisor": AWAY, "technician": AWAY},
        "HEAD": {NOBODY: AWAY, "dealer": AWAY, "supervisor": AWAY, "technician": AWAY},
    },
    "/console/events": {
        "HEAD": {NOBODY: ENDED, "dealer": 200, "supervisor": 200, "technician": 200}
    },
    # The table that answers here proves nothing.
    "/replay/evidence/20261127-01/1": {
        method: {NOBODY: ENDED, "dealer": FORBIDDEN, "supervisor": 502, "technician": 502}
        for method in ("GET", "HEAD")
    },
    "/replay/print/20261127-01/1": {
        method: {NOBODY: ENDED, "dealer": FORBIDDEN, "supervisor": 404, "technician": 404}
        for method in ("GET", "HEAD")
    },
    "/command/open_betting": {
        "POST": {NOBODY: ENDED, **dict.fromkeys(sorted(CONSOLE_ROLES), FORBIDDEN)}
    },
    "/fate/transaction-1": {
        "POST": {NOBODY: ENDED, **dict.fromkeys(sorted(CONSOLE_ROLES), FORBIDDEN)}
    },
}
STREAMS = {"/events", "/console/events"}


def page_statuses(path: str) -> dict[str, dict[str, int]]:
    """A page of people: those of its roles see it, the others do not, and nobody is sent to log in.

    The roles are repeated here on purpose: whoever opens a page to more says so twice.
    """
    allowed = {"/dealer": {"dealer", "supervisor"}, "/pit": {"supervisor"}}
    allowed["/replay"] = {"supervisor", "technician"}
    roles = allowed.get(path, {"supervisor"})
    found = {role: 200 if role in roles else FORBIDDEN for role in CONSOLE_ROLES}
    found[NOBODY] = AWAY
    return {"GET": found, "HEAD": found}


PATHS = ENDPOINTS | {page: page_statuses(page) for page in CONSOLE_PAGES}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("path", PATHS)
async def test_every_endpoint_by_every_role_and_method(site: Site, who: str, path: str) -> None:
    async with site.browser() as client:
        if who != NOBODY:
            await log_in(client, BY_ROLE[who])
        cookies = dict(client.cookies)
        for method in METHODS:
            if method == "GET" and path in STREAMS:
                continue
            client.cookies = httpx.Cookies(cookies)  # an answer may have taken the login away
            answer = await client.request(method, path)
            statuses = PATHS[path].get(method, dict.fromkeys(WHO, 405))
            assert answer.status_code == statuses[who], method
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
            assert "access-control-allow-origin" not in answer.headers
            assert "server" not in answer.headers
    # What was asked for the evidence changes nothing.
    assert [topic for topic, _ in site.sent if not topic.endswith("/prove_coup")] == []


def test_no_endpoint_is_left_out(site: Site) -> None:
    """Whoever adds one says here who may have it."""
    patterns = [
        re.compile(
            re.sub(r"{[^}]+}", "[^/]+", each.path) + ("/.+" if isinstance(each, Mount) else "")
        )
        for each in site.app.routes
        if isinstance(each, Route | Mount)
    ]
    assert len(patterns) == len(site.app.routes)
    covered = ENDPOINTS.keys() | CONSOLE_PAGES.keys()
    left_out = [each.pattern for each in patterns if not any(map(each.fullmatch, covered))]
    assert left_out == []


@pytest.mark.parametrize("role", sorted(ROLES - CONSOLE_ROLES))
def test_a_role_of_machines_is_nobodys_at_a_screen(role: str) -> None:
    with pytest.raises(InputError, match="no such role"):
        check_account("mallory", (role,))


@pytest.mark.parametrize("how", ["no login", "no secret", "another's secret", "another site"])
async def test_no_command_goes_out_that_a_page_did_not_send(site: Site, how: str) -> None:
    async with site.browser() as client, site.browser() as other:
        headers = {"content-type": "application/json"}
        if how != "no login":
            await log_in(client, "sam")
        if how == "another's secret":
            await log_in(other, "dora")
            headers["x-csrf-token"] = await secret_of(other)
        if how == "another site":
            headers["x-csrf-token"] = await secret_of(client)
            headers["origin"] = "https://elsewhere.example"
        body = {"transaction": "transaction-1"}
        for name in sorted(COMMANDS):
            answer = await client.post(f"/command/{name}", json=body, headers=headers)
            assert answer.status_code == (ENDED if how == "no login" else FORBIDDEN), name
            site.clock.now_us += 10_000_000
    assert site.sent == []


async def test_a_secret_ends_with_its_session(site: Site) -> None:
    async with site.browser() as client:
        await log_in(client, "sam")
        old = await secret_of(client)
        await client.post("/logout", data={"csrf": old})
        await log_in(client, "sam")
        assert await secret_of(client) != old
        body = {"transaction": "transaction-1"}
        answer = await client.post(
            "/command/open_betting", json=body, headers={"x-csrf-token": old}
        )
    assert answer.status_code == FORBIDDEN
    assert site.sent == []


async def test_nobody_is_logged_in_by_a_link(site: Site) -> None:
    """Neither by a token in the address, nor by a form of another site."""
    async with site.browser() as client:
        token = (await log_in(client, "sam")).cookies["session"]
    async with site.browser() as client:
        for where in (f"/pit?session={token}", f"/pit;session={token}", f"/pit#{token}"):
            assert (await client.get(where)).status_code in {AWAY, NOT_THERE}
        answer = await client.get("/pit", headers={"authorization": f"Bearer {token}"})
        assert answer.status_code == AWAY
        form = {"user": "sam", "password": PASSWORD, "csrf": await form_token(client)}
        answer = await client.post("/login", data=form, headers={"origin": "http://evil.example"})
        assert (answer.status_code, "session" in answer.cookies) == (FORBIDDEN, False)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("127.0.0.1:8080", 200),
        ("10.4.4.4:8443", 200),
        ("[::1]:8080", 200),
        ("[2001:db8::1]", 200),
        ("localhost:8080", 200),
        ("LOCALHOST", 200),
        ("b7.casino.example", 200),
        ("B7.casino.example.:8080", 200),
        ("evil.example", 421),
        ("evil.example:8080", 421),
        ("b7.casino.example.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("127.0.0.1@evil.example", 421),
        ("evil.example/127.0.0.1", 421),
        ("localhost.evil.example", 421),
        ("127.1", 421),
        ("2130706433", 421),
        ("::1", 421),
        ("[127.0.0.1]", 421),
        ("", 421),
    ],
)
async def test_a_name_that_is_not_ours_is_not_answered_to(
    site: Site, host: str, status: int
) -> None:
    async with site.browser() as client:
        for path in ("/", "/login", "/events", "/static/js/live.js"):
            method = "HEAD" if path in STREAMS else "GET"
            answer = await client.request(method, path, headers={"host": host})
            assert answer.status_code == status, path


async def test_two_names_or_none_are_not_ours(site: Site) -> None:
    async with site.browser() as client:
        both = [(b"host", b"127.0.0.1"), (b"host", b"evil.example")]
        assert (await client.get("/", headers=both)).status_code == 421
        scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""}
        said: list[object] = []

        async def send(message: object) -> None:
            said.append(message)

        async def receive() -> dict[str, object]:
            return {"type": "http.request"}

        await site.app(scope, receive, send)
    assert isinstance(said[0], dict)
    assert said[0]["status"] == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://elsewhere.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1"},
        {"origin": "http://127.0.0.1:81"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_a_page_of_another_origin_reads_no_stream(
    site: Site, headers: dict[str, str]
) -> None:
    async with site.person("sam") as client:
        for path in STREAMS:
            assert (await client.get(path, headers=headers)).status_code == FORBIDDEN


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/js/../../consoles.py",
        "/static/js/..%5c..%5cconsoles.py",
        "/static//etc/passwd",
        "/static/%2fetc/passwd",
        "/static/%00",
        "/static/js/",
        "/static/js",
        "/static/",
        "/static/js/live.js%00.css",
        "/static/" + "a" * 300,
        "/static/" + "../" * 40 + "etc/passwd",
        "/templates/pit.html",
        "/users.toml",
    ],
)
async def test_no_file_but_ours_is_handed_out(site: Site, path: str) -> None:
    async with site.browser() as client:
        url = httpx.URL("http://127.0.0.1").copy_with(raw_path=path.encode())
        answer = await client.send(httpx.Request("GET", url))
    assert answer.status_code == NOT_THERE
    assert "import" not in answer.text


@pytest.mark.parametrize(
    "query", ["?lang=../../etc", "?lang=%00", "?lang=<script>", "?lang=" + "e" * 5_000]
)
async def test_a_language_that_is_none_is_none(site: Site, query: str) -> None:
    async with site.browser() as client:
        client.cookies.set("lang", "../users")
        answer = await client.get(f"/{query}")
    assert answer.status_code == 200
    assert "<script>" not in answer.text
    assert 'lang="en"' in answer.text


@pytest.mark.sweep
@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", "sam\r\nset-cookie: session=x", "\0", "s" * 5_000, "\uff53am"],
)
async def test_a_name_that_is_none_breaks_nothing(site: Site, name: str) -> None:
    async with site.browser("10.9.9.9") as client:
        form = {"user": name, "password": PASSWORD, "csrf": await form_token(client)}
        answer = await client.post("/login", data=form)
        site.clock.now_us += 60_000_000
    assert answer.status_code == FORBIDDEN
    assert "<script>alert" not in answer.text
    assert "session" not in answer.cookies


@pytest.mark.parametrize("value", ["", "x", "'\"", "a" * 4_000, "\x80", "$Version=1"])
async def test_a_cookie_that_is_none_is_nobody(site: Site, value: str) -> None:
    async with site.browser() as client:
        answer = await client.get("/pit", headers=[(b"cookie", f"session={value}".encode())])
        assert answer.status_code == AWAY
