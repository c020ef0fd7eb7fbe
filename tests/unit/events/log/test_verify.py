import hashlib
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from baccarat.cli.main import main
from events.errors import InputError
from events.log.store import EventLog
from events.log.verify import VerificationResult, verify
from tests.support.log.logs import (
    NAME,
    ORIGIN,
    contents,
    forging,
    grow,
    killed,
    made,
    rehash,
)


def rfc6962(leaves: Sequence[bytes]) -> bytes:
    """RFC 6962, section 2.1, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = 1 << ((len(leaves) - 1).bit_length() - 1)
    return hashlib.sha256(b"\x01" + rfc6962(leaves[:k]) + rfc6962(leaves[k:])).digest()


def verified(path: Path) -> VerificationResult:
    """The verdict, after checking that nothing was touched."""
    before = contents(path.parent)
    verdict = verify(path)
    assert contents(path.parent) == before
    assert verdict.reason is None or "\n" not in verdict.reason
    return verdict


def forged(
    path: Path, *statements: str, chain: bool = True, position: int = 0
) -> VerificationResult:
    """The verdict on the log after `statements`, without or with the chain made anew."""
    with forging(path) as db:
        for statement in statements:
            db.execute(statement, {"position": position})
        if chain:
            rehash(db)
    verdict = verified(path)
    assert not verdict.ok
    assert verdict.root is None
    return verdict


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return made(tmp_path)


@pytest.mark.parametrize("events", [0, 2, 6, 34])
def test_a_whole_log_is_ok_and_its_root_is_that_of_rfc_6962(tmp_path: Path, events: int) -> None:
    path = made(tmp_path, events)
    with EventLog.open(path, ORIGIN) as log:
        stored = list(log.read())
    root = rfc6962([event.stored for event in stored]).hex()
    newest = stored[-1].at if stored else ""
    found = verified(path)
    assert found == VerificationResult(True, events, root, None, None, origin=ORIGIN, newest=newest)


def test_a_killed_writers_log_is_verified_with_its_wal_and_left_alone(tmp_path: Path) -> None:
    path = killed(tmp_path, events=20)
    verdict = verified(path)
    assert (verdict.ok, verdict.events) == (True, 20)
    path.with_name(f"{NAME}-wal").unlink()
    assert not verified(path).ok or verified(path).events < 20


def test_a_log_is_verified_beside_its_writer_again_and_again(path: Path) -> None:
    with EventLog.open(path, ORIGIN) as log:
        for events in range(7, 20):
            grow(log, 1)
            verdict = verify(path)
            assert (verdict.ok, verdict.events) == (True, events)
    with EventLog.open(path, ORIGIN) as log:
        assert log.position == 19


def test_every_change_of_one_stored_byte_is_found_at_its_position(path: Path) -> None:
    data = bytearray(path.read_bytes())
    with EventLog.open(path, ORIGIN) as log:
        events = list(log.read())
    rng = random.Random(6962)
    for event in events:
        place = data.find(event.stored)
        assert data.count(event.stored) == 1
        for at in range(place, place + len(event.stored)):
            whole = data[at]
            data[at] = whole ^ rng.randrange(1, 256)
            path.write_bytes(data)
            verdict = verify(path)
            assert (verdict.ok, verdict.first_bad) == (False, event.position), at
            data[at] = whole
    path.write_bytes(data)
    assert verify(path).ok


def test_a_change_of_any_byte_of_the_file_is_found_or_changes_nothing(path: Path) -> None:
    whole = verify(path)
    data = path.read_bytes()
    rng = random.Random(4096)
    bad = 0
    for _ in range(600):
        at = rng.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ rng.randrange(1, 256)]) + data[at + 1 :])
        try:
            verdict = verify(path)
        except InputError:
            assert at < 16, at  # the magic of SQLite itself
            continue
        assert not verdict.ok or verdict == whole, at
        bad += not verdict.ok
    assert bad > 100


def test_a_file_cut_anywhere_is_not_ok(path: Path) -> None:
    data = path.read_bytes()
    lengths = {0, 1, 15, 16, 17, 99, 100, 511, 512, len(data) - 1}
    for length in sorted(lengths | set(range(0, len(data), 1000))):
        path.write_bytes(data[:length])
        verdict = verified(path)
        assert (verdict.ok, verdict.root) == (False, None), length
        assert verdict.reason, length
    path.write_bytes(data + bytes(4096))
    assert not verified(path).ok


def test_progress_is_told_up_to_the_end(path: Path) -> None:
    told: list[tuple[int, int]] = []
    assert verify(path, lambda done, events: told.append((done, events))).ok
    assert told[-1] == (6, 6)


def _run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = main(["log", "verify", *args])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command_answers_in_json_and_for_people(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = verify(path).root
    code, out, err = _run(capsys, str(path), "--json")
    expected: dict[str, Any] = {"ok": True, "events": 6, "root": root}
    assert (code, json.loads(out), err) == (
        0,
        {**expected, "first_bad": None, "reason": None},
        "",
    )
    assert list(json.loads(out)) == ["ok", "events", "root", "first_bad", "reason"]
    code, out, err = _run(capsys, str(path))
    assert (code, err) == (0, "")
    assert "6 events" in out
    assert str(root) in out


def test_the_command_says_no_with_exit_code_1(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forged(path, "UPDATE event SET at = '' WHERE position = 4", chain=False)
    code, out, err = _run(capsys, str(path), "--json")
    answer = json.loads(out)
    assert (code, answer["ok"], answer["first_bad"], answer["root"], err) == (1, False, 4, None, "")
    code, out, err = _run(capsys, str(path))
    assert (code, err) == (1, "")
    assert "NOT ok at position 4" in out


def test_the_command_refuses_what_is_no_log_with_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("SQLite is nice\n" * 100)
    for path in (tmp_path / "none.sqlite", tmp_path, text, tmp_path / "notes.txt" / "below"):
        code, out, err = _run(capsys, str(path), "--json")
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert str(path) in err
