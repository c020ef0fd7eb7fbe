"""`baccarat user`: who may log in is written, shown and taken out; nonsense is one line."""

import io
import os
import stat
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from baccarat.cli.main import main
from displays.auth.accounts import (
    ACCOUNTS_MOST,
    FILE_MOST,
    UserAccount,
    load_accounts,
    save_accounts,
)
from displays.auth.passwords import password_matches
from events.errors import InputError

PASSWORD = "a long enough one"  # noqa: S105 - of people who exist in tests alone


@pytest.fixture
def people(tmp_path: Path) -> Path:
    return tmp_path / "people.toml"


def run(monkeypatch: pytest.MonkeyPatch, *words: object, typed: str = f"{PASSWORD}\n") -> int:
    quick = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr("displays.auth.passwords._hasher", quick)
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    return main(["user", *map(str, words)])


def test_people_are_added_listed_and_removed(
    people: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "add", people, "mary", "--role", "supervisor", "--role", "dealer") == 0
    assert run(monkeypatch, "add", people, "abe", "--role", "technician") == 0
    assert stat.S_IMODE(people.stat().st_mode) == 0o600
    assert PASSWORD not in people.read_text("utf-8")
    assert password_matches(load_accounts(people)["mary"], PASSWORD)
    capsys.readouterr()
    assert run(monkeypatch, "list", people) == 0
    rows = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert rows == [["abe", "technician"], ["mary", "dealer, supervisor"]]
    assert run(monkeypatch, "remove", people, "mary") == 0
    assert list(load_accounts(people)) == ["abe"]


def test_a_person_is_changed_only_when_asked_to(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = ("add", people, "mary", "--role", "dealer")
    assert run(monkeypatch, "add", people, "mary", "--role", "supervisor") == 0
    assert run(monkeypatch, *again, typed="another password\n") != 0
    assert load_accounts(people)["mary"].roles == ("supervisor",)
    assert run(monkeypatch, *again, "--replace", typed="another password\n") == 0
    mary = load_accounts(people)["mary"]
    assert mary.roles == ("dealer",)
    assert password_matches(mary, "another password")
    assert not password_matches(mary, PASSWORD)


# The words after FILE's command, what is typed as the password, and what the line must name.
NONSENSE = {
    "a name that a topic could misread": ("add", ["Mary/+", "--role", "dealer"], PASSWORD, "Mary/"),
    "a role that no person has": ("add", ["ann", "--role", "cage"], PASSWORD, "cage"),
    "no role": ("add", ["ann"], PASSWORD, "--role"),
    "a short password": ("add", ["ann", "--role", "dealer"], "short", "8 to 256"),
    "a long password": ("add", ["ann", "--role", "dealer"], "x" * 257, "8 to 256"),
    "no password": ("add", ["ann", "--role", "dealer"], "", "8 to 256"),
    "somebody who is there": ("add", ["mary", "--role", "dealer"], PASSWORD, "--replace"),
    "somebody who is not there": ("remove", ["ann"], "", "no ann"),
    "no name": ("remove", [], "", "NAME"),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_nonsense_is_refused_in_one_line_and_changes_nothing(
    case: str, people: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command, words, typed, named = NONSENSE[case]
    assert run(monkeypatch, "add", people, "mary", "--role", "supervisor") == 0
    before = people.read_bytes()
    capsys.readouterr()
    assert run(monkeypatch, command, people, *words, typed=typed) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert named in shown.err
    assert people.read_bytes() == before
    assert list(people.parent.iterdir()) == [people]


CONTENTS = {
    "other": b"users = 3",
    "cut off": b"[users",
    "no text": b"\xff",
    "no role": b"[users.mary]\nroles = []",
    "too long": b"#" * (FILE_MOST + 1),
    "too many": b"".join(
        b'[users.u%d]\nroles=["dealer"]\npassword=""\n' % number
        for number in range(ACCOUNTS_MOST + 1)
    ),
}


@pytest.mark.parametrize("words", [["list"], ["remove", "mary"], ["add", "mary"]])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_a_file_of_something_else_is_refused_and_left_alone(
    words: list[str],
    content: bytes,
    people: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    people.write_bytes(content)
    role = ["--role", "dealer"] if words[0] == "add" else []
    assert run(monkeypatch, words[0], people, *words[1:], *role) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert str(people) in said[0]
    assert people.read_bytes() == content


def test_no_more_accounts_are_kept_than_a_file_may_have(people: Path) -> None:
    account = UserAccount(password="", roles=("dealer",))
    with pytest.raises(InputError, match="10,001 accounts; keep 10,000 at the most"):
        save_accounts(people, {f"u{number}": account for number in range(ACCOUNTS_MOST + 1)})
    assert not people.exists()


@pytest.mark.parametrize("words", [["list"], ["remove", "mary"]])
def test_a_file_that_is_not_there_says_how_to_make_it(
    words: list[str],
    people: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, words[0], people, *words[1:]) == 2
    assert f"baccarat user add {people}" in capsys.readouterr().err
    assert not people.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_who_could_read_the_file_still_can(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The services read it by their group; root, who is not in it, adds somebody."""
    assert run(monkeypatch, "add", people, "mary", "--role", "supervisor") == 0
    assert stat.S_IMODE(people.stat().st_mode) == 0o600
    os.chown(people, 0, 65534)
    people.chmod(0o640)
    assert run(monkeypatch, "add", people, "abe", "--role", "dealer") == 0
    assert run(monkeypatch, "remove", people, "mary") == 0
    found = people.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (0, 65534, 0o640)
    assert load_accounts(people).keys() == {"abe"}
