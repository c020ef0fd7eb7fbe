"""The record of logins: what goes on it, that a change shows, and what the site asks of logins."""

import hashlib
import json
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from baccarat.cli.main import main
from displays.app import LoginRules
from displays.auth.accounts import UserAccount, load_accounts, save_accounts
from displays.auth.login_policy import FAILURES_MOST
from displays.auth.login_record import LoginRecord, read_record
from events.errors import ConfigError
from events.proof.chain import next_hash
from tests.support.clock import FakeClock
from tests.support.service.console_site import PASSWORD, PEOPLE, SECRET, Site, hashed, log_in

ORIGIN: Final = "site/t1"
DAY_US: Final = 86_400 * 1_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logins.jsonl"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("displays.auth.passwords._NOBODY", hashed("nobody knows it"))


def site_with(path: Path, **rules: object) -> Site:
    clock = FakeClock()
    record = LoginRecord(path, ORIGIN, clock)
    return Site(path.parent, clock=clock, login_rules=LoginRules(record=record, **rules))  # type: ignore[arg-type] # by name


def told(path: Path) -> list[tuple[str, str]]:
    found = read_record(path, ORIGIN)
    assert found.first_bad is None
    usual = {"accounts", "started"}
    return [(each.what, each.user) for each in found.entries if each.what not in usual]


def assert_private(path: Path) -> None:
    assert PASSWORD.encode() not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600


BEGUN: Final = [("added", name) for name in sorted(PEOPLE)]


async def test_logins_failures_and_lockouts_are_on_record_and_no_typed_password(path: Path) -> None:
    site = site_with(path)
    async with site.browser("10.0.0.9") as client:
        for name in ("dora", PASSWORD):
            site.clock.now_us += DAY_US // 100
            await log_in(client, name, "wrong password")
        assert (await log_in(client, "dora", PASSWORD)).status_code == 303
    async with site.browser("10.0.0.8") as client:
        for _ in range(FAILURES_MOST):
            site.clock.now_us += 5_000_000
            await log_in(client, "sam", "wrong password")
    assert told(path) == [
        *BEGUN, ("failed", "dora"), ("failed", ""), ("login", "dora"),
        *[("failed", "sam")] * FAILURES_MOST, ("locked", "sam"),
    ]  # fmt: skip
    assert_private(path)


async def test_a_login_that_a_restart_finds_is_on_record_also_one_that_nobody_made(
    path: Path,
) -> None:
    clock, kept = FakeClock(), path.with_name("sessions.json")

    def site() -> Site:
        rules = LoginRules(record=LoginRecord(path, ORIGIN, clock))
        return Site(path.parent, clock=clock, login_rules=rules, sessions=kept)

    before = site()
    async with before.browser() as client:
        await log_in(client, "sam")
    before.login_rules.record.close()  # type: ignore[union-attr] # it has one
    told_of = json.loads(kept.read_bytes())
    forged = {**told_of["sessions"][0], "user": "tec", "key": "AAAA"}
    powerless = {**forged, "user": "dora", "key": "BBBB", "password": "00"}
    sessions = [*told_of["sessions"], forged, powerless]
    kept.write_text(json.dumps({**told_of, "sessions": sessions}))
    site()
    assert told(path)[-3:] == [("login", "sam"), ("resumed", "sam"), ("resumed", "tec")]


async def test_changes_of_the_users_file_are_on_record_also_those_made_meanwhile(
    path: Path,
) -> None:
    site = site_with(path)
    accounts = dict(load_accounts(site.users))
    sam = UserAccount(password=SECRET, roles=("dealer", "supervisor"))
    save_accounts(site.users, {"dora": accounts["dora"], "sam": sam})
    async with site.browser() as client:
        await log_in(client, "dora", PASSWORD)
    site.login_rules.record.close()  # type: ignore[union-attr] # it has one
    password = UserAccount(password=hashed("another one"), roles=sam.roles)
    save_accounts(site.users, {"dora": accounts["dora"], "sam": password})
    again = LoginRecord(path, ORIGIN, FakeClock())
    again.note_changes(load_accounts(site.users))
    assert told(path) == [
        *BEGUN, ("roles_changed", "sam"), ("removed", "tec"), ("login", "dora"),
        ("password_changed", "sam"),
    ]  # fmt: skip


def edited(site: Site, **fields: object) -> None:
    """Somebody edits the users file by hand: the account `sam`."""
    accounts = dict(load_accounts(site.users))
    save_accounts(site.users, accounts | {"sam": replace(accounts["sam"], **fields)})
    site.login_rules.record.note_changes(load_accounts(site.users))  # type: ignore[union-attr] # it has one


def test_each_field_that_is_edited_by_hand_is_on_record(path: Path) -> None:
    site = site_with(path)
    begun = len(read_record(path, ORIGIN).entries)
    edited(site, until=1_800_000_000, reason="for the night")
    edited(site, until=4_102_444_800)
    edited(site, until=None, reason=None)
    edited(site, changed=10**15)
    edited(site, password=hashed("another one"), changed=1_600_000_000)
    entries = read_record(path, ORIGIN).entries[begun:]
    assert [(each.what, each.text) for each in entries if each.what != "accounts"] == [
        ("until_changed", "none became 2027-01-15T08:00:00Z"), ("reason_changed", "for the night"),
        ("until_changed", "2027-01-15T08:00:00Z became 2100-01-01T00:00:00Z"),
        ("until_changed", "2100-01-01T00:00:00Z became none"), ("reason_changed", ""),
        ("age_changed", "none became second 1000000000000000"),
        ("password_changed", "on 2020-09-13T12:26:40Z"),
    ]  # fmt: skip


def appended(path: Path, line: bytes) -> None:
    """Append a line as somebody does who knows the chain."""
    head = next_hash(read_record(path, ORIGIN).chain[-1], line)
    with path.open("ab") as file:
        file.write(line[:-1] + f',"hash":"{head.hex()}"}}\n'.encode())


def test_a_line_of_accounts_that_changes_them_in_silence_is_put_aside_and_the_change_named(
    path: Path,
) -> None:
    site = site_with(path)
    site.login_rules.record.close()  # type: ignore[union-attr] # it has one
    honest = read_record(path, ORIGIN).entries
    accounts = dict(load_accounts(site.users))
    sam = UserAccount(password=hashed("attackers own"), roles=("supervisor", "technician"))
    save_accounts(site.users, accounts | {"sam": sam})
    digest = hashlib.sha256(sam.password.encode()).hexdigest()[:16]
    forged = json.loads(path.read_bytes().splitlines()[-1])
    del forged["hash"]
    forged["n"] += 1
    forged["accounts"]["sam"] |= {"password": digest, "roles": sam.roles}
    appended(path, json.dumps(forged, separators=(",", ":")).encode())
    assert read_record(path, ORIGIN).first_bad == len(honest) + 1
    again = LoginRecord(path, ORIGIN, FakeClock())
    again.note_changes(load_accounts(site.users))
    assert read_record(path, ORIGIN).entries[: len(honest)] == honest
    assert told(path)[len(BEGUN) :] == [
        ("unsound", ""), ("roles_changed", "sam"), ("password_changed", "sam")
    ]  # fmt: skip


def test_a_line_without_a_time_does_not_follow(path: Path) -> None:
    LoginRecord(path, ORIGIN, FakeClock()).close()
    appended(path, b'{"n":2,"at":"yesterday","what":"login","user":"sam"}')
    assert read_record(path, ORIGIN).first_bad == 2


# As the build before the fields `changed`, `until` and `reason` wrote it.
AT: Final = '"at":"2026-11-30T18:00:00.000000000Z"'
EARLIER: Final = f"""\
{{"n":1,{AT},"what":"added","user":"dora","text":"dealer"}}
{{"n":2,{AT},"what":"break_glass","user":"fire","text":"ill"}}
{{"n":3,{AT},"what":"accounts","accounts":{{"dora":{{"roles":["dealer"],"password":"1"}},\
"fire":{{"roles":["supervisor"],"password":"2"}}}}}}
{{"n":4,{AT},"what":"password_changed","user":"dora"}}
{{"n":5,{AT},"what":"accounts","accounts":{{"dora":{{"roles":["dealer"],"password":"3"}},\
"fire":{{"roles":["supervisor"],"password":"2"}}}}}}
""".encode().splitlines()


def test_a_record_of_an_earlier_build_is_read_and_gone_on_with(path: Path) -> None:
    for line in EARLIER:
        appended(path, line)
    found = read_record(path, ORIGIN)
    assert (len(found.entries), found.first_bad) == (len(EARLIER), None)
    record = LoginRecord(path, ORIGIN, FakeClock())
    dora = UserAccount(password="x", roles=("dealer", "technician"), until=1)  # noqa: S106 - a hash of nothing
    record.note_changes({"dora": dora})
    assert told(path)[3:] == [
        ("roles_changed", "dora"), ("password_changed", "dora"), ("removed", "fire")
    ]  # fmt: skip


@pytest.mark.parametrize("line", range(1, 6))
@pytest.mark.parametrize("how", ["changed", "taken out", "put in", "swapped", "cut"])
def test_a_change_shows_at_its_line_and_the_record_goes_on_in_a_new_file(
    path: Path, line: int, how: str
) -> None:
    record = LoginRecord(path, ORIGIN, FakeClock())
    for name in ("a", "b", "c", "d", "e", "f"):
        record.note("login", name)
    record.close()
    lines = path.read_bytes().splitlines(keepends=True)
    whole = b"".join(lines)
    if how == "changed":
        lines[line] = lines[line].replace(b'"login"', b'"logut"')
    elif how == "taken out":
        del lines[line]
    elif how == "put in":
        lines.insert(line, lines[0])
    elif how == "swapped":
        lines[line : line + 2] = lines[line : line + 2][::-1]
    else:
        lines[line:] = [lines[line][:-2]]
    path.write_bytes(b"".join(lines))
    first_bad = read_record(path, ORIGIN).first_bad
    assert first_bad == line + 1
    record = LoginRecord(path, ORIGIN, FakeClock())
    assert told(path)[-1] == ("unsound", "")
    (aside,) = path.parent.glob("*.unsound-*")
    assert aside.read_bytes() == b"".join(lines) != whole


def test_a_record_is_one_tables_and_one_writers(path: Path) -> None:
    record = LoginRecord(path, ORIGIN, FakeClock())
    record.note("login", "sam")
    assert read_record(path, "site/t2").first_bad == 1
    with pytest.raises(ConfigError, match="this service alone"):
        LoginRecord(path, ORIGIN, FakeClock())


async def test_a_password_that_is_too_old_lets_nobody_in(path: Path) -> None:
    site = site_with(path, password_days=90)
    now_s = site.clock.utc_ns() // 1_000_000_000
    accounts = {
        "dora": UserAccount(password=SECRET, roles=("dealer",), changed=now_s),
        "sam": UserAccount(password=SECRET, roles=("supervisor",)),
    }
    save_accounts(site.users, accounts)
    async with site.browser() as client:
        assert (await log_in(client, "sam", PASSWORD)).status_code == 403  # of unknown age
        assert (await log_in(client, "dora", PASSWORD)).status_code == 303
    site.clock.now_us += 91 * DAY_US
    async with site.browser() as client:
        assert (await log_in(client, "dora", PASSWORD)).status_code == 403
    assert told(path)[-3:] == [("expired", "sam"), ("login", "dora"), ("expired", "dora")]


async def test_a_site_may_ask_for_one_session_a_person(path: Path) -> None:
    site = site_with(path, one_session=True)
    async with site.browser() as first, site.browser() as second:
        await log_in(first, "sam")
        assert (await first.get("/pit")).status_code == 200
        await log_in(second, "sam")
        assert (await first.get("/pit")).status_code == 303
        assert (await second.get("/pit")).status_code == 200


async def test_a_break_glass_login_is_on_record_and_ends(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = site_with(path)
    command = ["user", "break-glass", str(site.users), "fire", "--reason", "all keys are lost"]
    assert main(command) == 0
    password = capsys.readouterr().out.strip()
    account = load_accounts(site.users)["fire"]
    assert account.until is not None
    site.clock.now_us += (account.until - 60) * 1_000_000 - site.clock.utc_ns() // 1_000
    async with site.browser() as client:
        assert (await log_in(client, "fire", password)).status_code == 303
        assert (await client.get("/pit")).status_code == 200
        site.clock.now_us += 61 * 1_000_000
        assert (await client.get("/pit")).status_code == 303
    assert told(path)[len(BEGUN) :] == [("break_glass", "fire"), ("login", "fire")]
    assert "all keys are lost" in [each.text for each in read_record(path, ORIGIN).entries]
    assert main(command) == 2


def test_the_command_shows_and_verifies_the_record(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = path.parent / "t1.toml"
    config.write_text(
        'site = "site"\ntable = "t1"\nrulebook = "ez"\n[shoe]\nurl = "tcp://127.0.0.1:1"\n'
        '[displays]\nrecord = "logins.jsonl"\n'
    )
    record = LoginRecord(path, ORIGIN, FakeClock())
    record.note("login", "sam", place="10.0.0.9")
    assert main(["user", "record", str(config), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["user"] == "sam"
    path.write_bytes(path.read_bytes().replace(b"sam", b"sim"))
    assert main(["user", "record", str(config)]) == 1
    assert "line 2 does not follow" in capsys.readouterr().err
