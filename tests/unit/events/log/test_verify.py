import hashlib
import json
import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from baccarat.cli.main import main
from events.errors import InputError
from events.log.schema import SCHEMA, SCHEMA_VERSION
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
    pending,
    rehash,
    replace_stored,
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


@pytest.mark.parametrize("position", range(1, 7))
def test_a_deletion_is_found(path: Path, position: int) -> None:
    verdict = forged(path, "DELETE FROM event WHERE position = :position", position=position)
    assert (verdict.first_bad, verdict.events) == (position, 5)


@pytest.mark.parametrize("position", range(1, 6))
def test_a_deletion_that_closes_up_is_found(path: Path, position: int) -> None:
    verdict = forged(
        path,
        "DELETE FROM event WHERE position = :position",
        "UPDATE event SET position = -position WHERE position > :position",
        "UPDATE event SET position = -position - 1 WHERE position < 0",
        position=position,
    )
    assert verdict.first_bad == position


@pytest.mark.parametrize("chain", [False, True])
def test_a_swap_is_found(path: Path, chain: bool) -> None:
    verdict = forged(
        path,
        "UPDATE event SET position = 100 WHERE position = 2",
        "UPDATE event SET position = 2 WHERE position = 5",
        "UPDATE event SET position = 5 WHERE position = 100",
        chain=chain,
    )
    assert verdict.first_bad == 2


@pytest.mark.parametrize("chain", [False, True])
def test_an_insertion_is_found(path: Path, chain: bool) -> None:
    verdict = forged(
        path,
        "UPDATE event SET position = -position WHERE position > 3",
        "UPDATE event SET position = 1 - position WHERE position < 0",
        "INSERT INTO event SELECT 4, type, version, at, bytes, hash FROM event WHERE position = 3",
        chain=chain,
    )
    assert (verdict.first_bad, verdict.events) == (4, 7)


def test_a_cut_tail_is_found_while_a_cursor_or_a_request_knows_of_it(path: Path) -> None:
    verdict = forged(path, "DELETE FROM event WHERE position > 3")
    assert (verdict.first_bad, verdict.events) == (4, 3)
    assert "cursor 'cage'" in str(verdict.reason)
    verdict = forged(path, "DELETE FROM cursor")
    assert verdict.first_bad == 4
    assert "request 'anna/t-1'" in str(verdict.reason)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("UPDATE event SET type = 'alarm_raised' WHERE position = 3", "type is"),
        ("UPDATE event SET version = 2 WHERE position = 3", "version is"),
        ("UPDATE event SET version = 'one' WHERE position = 3", "column version"),
        ("UPDATE event SET at = '' WHERE position = 3", "at is"),
        ("UPDATE event SET at = x'ff' WHERE position = 3", "column at"),
        ("UPDATE event SET at = CAST(x'ff' AS TEXT) WHERE position = 3", "unreadable"),
        ("UPDATE event SET bytes = CAST(bytes AS TEXT) WHERE position = 3", "column bytes"),
        ("UPDATE event SET hash = zeroblob(32) WHERE position = 3", "hashed"),
        ("UPDATE event SET hash = CAST(substr(hash, 1, 31) AS BLOB) WHERE position = 3", "hashed"),
    ],
)
def test_a_column_that_was_changed_is_found(path: Path, change: str, reason: str) -> None:
    verdict = forged(path, change, chain=False)
    assert verdict.first_bad == 3
    assert reason in str(verdict.reason)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"betting_closed", b"betting_forgot", "unknown event type 'betting_forgot'"),
        (b'"v":1', b'"v":2', "newer than this build knows"),
        (b'"by"', b'"bi"', "betting_closed version 1"),
        (b'{"event_id"', b'{"event_ID"', "not an envelope"),
        (b'"data":{', b'"more":1,"data":{', "not an envelope"),
        (b"sydney", b"darwin", "stream is 'sydney/t1', but the stored bytes say 'darwin/t1'"),
        (b'"position":3', b'"position":4', "position is 3, but the stored bytes say 4"),
    ],
)
def test_bytes_that_cannot_be_are_found_though_their_hash_is_right(
    path: Path, old: bytes, new: bytes, reason: str
) -> None:
    stored = pending(3, cause="anna/t-1").stored
    assert stored.count(old) == 1
    replace_stored(path, 3, stored.replace(old, new))
    verdict = verified(path)
    assert (verdict.ok, verdict.first_bad) == (False, 3)
    assert reason in str(verdict.reason)


@pytest.mark.parametrize(
    ("change", "first_bad"),
    [
        ("UPDATE meta SET value = 'sydney/t2' WHERE name = 'origin'", 1),
        ("UPDATE meta SET value = 7 WHERE name = 'origin'", None),
        ("DELETE FROM meta WHERE name = 'origin'", None),
        ("UPDATE meta SET value = 'many' WHERE name = 'session'", None),
        ("UPDATE cursor SET position = -1", None),
        ("UPDATE cursor SET position = 9", 7),
        ("INSERT INTO request VALUES ('x', x'', 0)", None),
        ("INSERT INTO request VALUES ('x', x'', 9)", 7),
        ("INSERT INTO request VALUES ('bert/t-1', x'', 4)", None),
        ("DELETE FROM request WHERE position = 4", 3),
        ("UPDATE request SET position = 3 WHERE position = 4", 4),
        ("UPDATE request SET transaction_id = 'x' WHERE position = 4", 3),
        ("INSERT INTO request VALUES ('x', x'', 'y')", None),
    ],
)
def test_what_stands_beside_the_events_is_verified_too(
    path: Path, change: str, first_bad: int | None
) -> None:
    assert forged(path, change, chain=False).first_bad == first_bad


@pytest.mark.parametrize("name", [name for name in SCHEMA if "_" in name])
def test_a_missing_trigger_is_found(path: Path, name: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"DROP TRIGGER {name}")
    assert name in str(verified(path).reason)


@pytest.mark.parametrize("position", range(1, 7))
def test_whoever_took_the_triggers_away_is_told_what_he_did_without_them(
    path: Path, position: int
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for name in [name for name in SCHEMA if "_" in name]:
            db.execute(f"DROP TRIGGER {name}")
        db.execute("UPDATE event SET at = 'x' WHERE position = ?", (position,))
    verdict = verified(path)
    assert (verdict.ok, verdict.first_bad) == (False, position)
    assert "event_never_changes" in str(verdict.reason)


def test_a_table_that_is_another_is_not_read(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("ALTER TABLE event RENAME TO other")
        db.execute("CREATE VIEW event AS SELECT * FROM other")
    verdict = verified(path)
    assert (verdict.ok, verdict.first_bad) == (False, None)
    assert "in the file's schema is not as" in str(verdict.reason)


def test_a_trigger_too_many_is_found(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TRIGGER more AFTER INSERT ON event BEGIN DELETE FROM cursor; END")
    assert "more" in str(verified(path).reason)


def test_a_cursor_at_no_position_is_called_that(path: Path) -> None:
    verdict = forged(path, "UPDATE cursor SET position = -5", chain=False)
    assert verdict.reason == "cursor 'cage' stands at -5, which is no position"


def test_an_older_format_is_not_ok(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version=0")
    assert verified(path).reason == f"format 0 is older than this build reads ({SCHEMA_VERSION})"


def test_a_newer_format_is_not_ok(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    verdict = verified(path)
    assert not verdict.ok
    assert "newer than this build knows" in str(verdict.reason)


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


def test_a_rollback_journal_beside_it_is_not_ok(path: Path) -> None:
    path.with_name(f"{NAME}-journal").write_bytes(b"anything")
    assert "rollback journal" in str(verified(path).reason)


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
