"""Logins outlive a restart of the web server, warn of their end, and lead back to their page."""

import re
import stat
from pathlib import Path

import pytest

from displays.auth.accounts import UserAccount
from displays.auth.session_store import SessionStore
from displays.auth.sessions import SHIFT_SECONDS, Sessions
from tests.support.clock import FakeClock
from tests.support.service.console_site import IDLE_S, PASSWORD, Site, form_token, log_in

HASH = "$argon2id$hash"
ACCOUNT = UserAccount(password=HASH, roles=("dealer",))
_US = 1_000_000


def _sessions(folder: Path, clock: FakeClock) -> Sessions:
    return Sessions(clock, IDLE_S, store=SessionStore(folder / "sessions.json", clock))


@pytest.mark.parametrize(
    ("away_s", "stays"), [(0, True), (IDLE_S - 1, True), (IDLE_S, False), (SHIFT_SECONDS, False)]
)
def test_a_restart_ends_no_login_that_is_not_over(
    tmp_path: Path, away_s: int, *, stays: bool
) -> None:
    clock = FakeClock()
    before = _sessions(tmp_path, clock)
    token = before.begin("dora", password=HASH)
    session = before.find(token, touch=False)
    form = before.login_token("nonce")
    clock.now_us += away_s * _US
    after = _sessions(tmp_path, clock)
    found = after.find(token, touch=False)
    assert (found is not None) == stays
    assert after.login_token("nonce") == form
    if found:
        assert session
        assert (found.user, found.csrf, found.is_of(ACCOUNT, 0)) == ("dora", session.csrf, True)


def test_only_people_whose_account_is_still_that_of_the_login_come_back(tmp_path: Path) -> None:
    clock = FakeClock()
    before = _sessions(tmp_path, clock)
    for name in ("dora", "fire", "mary", "sam", "sam"):
        before.begin(name, password=HASH)
    accounts = {
        "dora": UserAccount(password=f"{HASH}2", roles=("dealer",)),
        "fire": UserAccount(password=HASH, roles=("dealer",), until=1),
        "sam": ACCOUNT,
    }
    assert _sessions(tmp_path, clock).people(accounts) == ["sam", "sam"]


def test_a_login_that_ended_stays_ended(tmp_path: Path) -> None:
    clock = FakeClock()
    before = _sessions(tmp_path, clock)
    token = before.begin("dora", password=HASH)
    before.end(token)
    assert _sessions(tmp_path, clock).find(token, touch=False) is None


def test_the_file_is_private_and_of_no_use_to_a_thief(tmp_path: Path) -> None:
    token = _sessions(tmp_path, FakeClock()).begin("dora", password=HASH)
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert token.encode() not in file.read_bytes()
    assert HASH.encode() not in file.read_bytes()


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"secret": "x", "more": 1}'])
def test_a_file_that_cannot_be_read_holds_no_login(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "sessions.json").write_bytes(content)
    sessions = _sessions(tmp_path, FakeClock())
    assert sessions.find(sessions.begin("dora", password=HASH), touch=False)


def test_without_a_folder_logins_are_kept_in_memory(tmp_path: Path) -> None:
    sessions = _sessions(tmp_path / "nowhere", FakeClock())
    assert sessions.find(sessions.begin("dora", password=HASH), touch=False)


@pytest.mark.parametrize(
    ("age_s", "idle_s", "seconds", "renewable"),
    [(0, 0, IDLE_S, True), (100, 100, IDLE_S - 100, True), (SHIFT_SECONDS - 60, 0, 60, False)],
)
def test_what_is_left_of_a_login(
    tmp_path: Path, age_s: int, idle_s: int, seconds: int, *, renewable: bool
) -> None:
    clock = FakeClock()
    sessions = _sessions(tmp_path, clock)
    token = sessions.begin("dora", password=HASH)
    for _ in range((age_s - idle_s) // (IDLE_S - 1)):
        clock.now_us += (IDLE_S - 1) * _US
        sessions.find(token, touch=True)
    clock.now_us += (age_s - idle_s) % (IDLE_S - 1) * _US
    sessions.find(token, touch=True)
    clock.now_us += idle_s * _US
    assert sessions.left_s(token) == (seconds, renewable)
    assert sessions.left_s("another") is None


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("/pit", "/pit"),
        ("/replay?coup=20261127-01/4", "/replay?coup=20261127-01/4"),
        ("//evil.example/pit", "/console"),
        ("https://evil.example/", "/console"),
        ("/pit@evil.example", "/console"),
        ("", "/console"),
    ],
)
async def test_a_login_leads_back_to_its_page(tmp_path: Path, asked: str, given: str) -> None:
    site = Site(tmp_path)
    async with site.browser() as client:
        form = {"user": "sam", "password": PASSWORD, "csrf": await form_token(client)}
        answer = await client.post("/login", params={"next": asked}, data=form)
        assert answer.headers["location"] == given


async def test_a_page_without_a_login_names_itself_to_the_login(tmp_path: Path) -> None:
    async with Site(tmp_path).browser() as client:
        answer = await client.get("/replay?coup=20261127-01/4")
        page = await client.get(answer.headers["location"])
    assert answer.headers["location"] == "/login?next=%2Freplay%3Fcoup%3D20261127-01%2F4"
    assert "Your login has ended." not in page.text  # nobody was logged in
    assert 'action="/login?next=%2Freplay%3Fcoup%3D20261127-01%2F4"' in page.text


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
@pytest.mark.parametrize(("path", "status"), [("/pit", 403), ("/nowhere", 404)])
async def test_an_error_is_a_page_to_a_person_and_a_line_to_a_program(
    tmp_path: Path, path: str, status: int, language: str
) -> None:
    async with Site(tmp_path).browser() as client:
        await log_in(client, "dora")
        page = await client.get(path, params={"lang": language}, headers={"accept": "text/html"})
        line = await client.get(path)
    assert (page.status_code, line.status_code) == (status, status)
    assert re.search(rf'<html lang="{language}">', page.text)
    assert line.text.count("\n") == 1


async def test_a_person_puts_the_end_off(tmp_path: Path) -> None:
    site = Site(tmp_path)
    async with site.person("dora") as client:
        site.clock.now_us += (IDLE_S - 1) * _US
        assert (await client.post("/stay")).is_success
        site.clock.now_us += (IDLE_S - 1) * _US
        assert (await client.get("/dealer")).is_success
