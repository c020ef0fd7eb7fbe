"""Forged logs are noticed, and by whom: a sample of what `tests/soak` tries two thousand of."""

import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from baccarat.cli.main import main
from events.log.vouching import head_of
from tests.support.log.attacker import (
    FORGERIES,
    Base,
    bases,
    forge,
    is_as_it_was,
    noticed,
    record,
)
from tests.support.log.logs import forging, json_bytes, rehash


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Base]:
    return bases(tmp_path_factory.mktemp("bases"))


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(len(FORGERIES) * 2))
def test_a_forgery_is_refused_or_named(whole: list[Base], tmp_path: Path, seed: int) -> None:
    base = whole[seed % len(whole)]
    before = record(base)
    _, forged = forge(base, tmp_path / "forged", seed)
    unchanged = is_as_it_was(forged, before)
    assert noticed(forged) or unchanged


# What each change makes of an honest log of a key that nobody else holds: type, what, by whom.
Change = Callable[[dict[str, Any]], None]


def paid(data: dict[str, Any]) -> None:
    data["settlement"]["paid"] += 1


def line(data: dict[str, Any]) -> None:
    data["settlement"]["lines"][0]["paid"] += 100


def winner(data: dict[str, Any]) -> None:
    data["winner"] = {"player": "banker", "banker": "tie", "tie": "player"}[data["winner"]]


def face(data: dict[str, Any]) -> None:
    report = data["source"]["report"]
    if report["kind"] == "card_drawn":
        report["face"] = "AS" if report["face"] != "AS" else "9S"


def owed(data: dict[str, Any]) -> None:
    data["amounts"][0]["amount"] += 1


def amount(data: dict[str, Any]) -> None:
    data["amount"] += 1


@pytest.mark.parametrize(
    ("kind", "change", "reason"),
    [
        ("coup_settled", paid, "has other paid than its coup comes to"),
        ("coup_settled", line, "has other lines"),
        ("deal_completed", winner, "the cards do not come to that"),
        ("shoe_reported", face, "say no such card_drawn"),
        ("commission_accrued", owed, "charge"),
        ("chips_filled", amount, "its pieces come to"),
        ("chips_counted", amount, "its pieces come to"),
        ("drop_counted", amount, "its pieces come to"),
    ],
)
def test_a_conclusion_that_does_not_follow_is_named_with_its_position(
    whole: list[Base], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    kind: str, change: Change, reason: str,
) -> None:  # fmt: skip
    story = "by-hand" if change is amount else "money-per-shoe"
    base = next(each for each in whole if each.folder.name == story)
    log = tmp_path / "table.sqlite"
    log.write_bytes(base.log.read_bytes())
    for folder in ("rulebooks", "profiles"):
        (tmp_path / folder).symlink_to(base.folder / folder)
    at = 0
    with forging(log) as db:
        for position, stored in db.execute(
            "SELECT position, bytes FROM event WHERE type = ? ORDER BY position", (kind,)
        ).fetchall():
            told = json.loads(stored)
            change(told["data"])
            data = json_bytes(told)
            if data != stored:
                db.execute("UPDATE event SET bytes = ? WHERE position = ?", (data, position))
                at = position
                break
        rehash(db, base.origin)
        db.execute("DELETE FROM checkpoint")
    assert main(["log", "verify", "--json", str(log)]) == 1
    said = json.loads(capsys.readouterr().out)
    assert reason in said["reason"]
    assert at <= said["first_bad"] <= at + 3


def test_an_honest_log_is_judged_decoded_and_signed_to_its_end(
    whole: list[Base], capsys: pytest.CaptureFixture[str]
) -> None:
    for base in whole:
        assert head_of(base.log).is_file()
        assert noticed(base) is None
        keys = [word for key in sorted(base.keys) for word in ("--key", str(key))]
        assert main(["log", "verify", "--json", str(base.log), *keys]) == 0
        said = json.loads(capsys.readouterr().out)
        judged = said["judged"]
        assert set(said["keys"]) == {str(key) for key in base.keys}
        assert said["unsigned_settlements"] == judged["not_judged"] == judged["not_decoded"] == 0
        assert min(judged["settlements"], judged["decoded"]) > 0


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_where_the_temporary_folder_is_full_it_is_named(
    whole: list[Base],
    tmp_path: Path,
    jobs: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    base = whole[0]
    monkeypatch.setattr(
        "baccarat.history.log_judging.TemporaryFile",
        partial(Path("/dev/full").open, "wb+"),
    )
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert main(["log", "verify", str(base.log), "--jobs", jobs]) == 2
    assert capsys.readouterr().err == f"baccarat: {tmp_path}: No space left on device\n"
