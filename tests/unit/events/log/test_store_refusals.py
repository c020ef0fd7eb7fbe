"""What is refused at opening, and that it stays as it was to the last byte."""

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from events.errors import LogRefused
from events.log.schema import SCHEMA, SCHEMA_VERSION
from events.log.store import EventLog
from events.types.table import AlarmRaised
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


def refused(path: Path, origin: str = ORIGIN) -> LogRefused:
    """The refusal, after checking that it is one line and that nothing was touched."""
    before = contents(path.parent)
    with pytest.raises(LogRefused) as refusal:
        EventLog.open(path, origin)
    assert contents(path.parent) == before
    assert str(path) in refusal.value.reason
    assert "\n" not in refusal.value.reason
    return refusal.value


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


def forged(path: Path, statement: str, *values: int, chain: bool = True) -> None:
    with forging(path) as db:
        db.execute(statement, values)
        if chain:
            rehash(db)


def test_a_log_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path)
    sql(path, f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    assert "newer build" in refused(path).reason


def test_a_log_of_another_table_is_refused(tmp_path: Path) -> None:
    reason = refused(made(tmp_path), "sydney/t2").reason
    assert "'sydney/t1', not of 'sydney/t2'" in reason


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / NAME
    sql(path, "CREATE TABLE event (position INTEGER PRIMARY KEY)")
    assert "no event log" in refused(path).reason


@pytest.mark.parametrize("content", [b"", b"x", b"hello\n" * 2000, bytes(8192)])
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / NAME
    path.write_bytes(content)
    assert refused(path).position is None


@pytest.mark.parametrize("name", [name for name in SCHEMA if "_" in name])
def test_a_log_without_one_of_its_triggers_is_refused(tmp_path: Path, name: str) -> None:
    path = made(tmp_path)
    sql(path, f"DROP TRIGGER {name}")
    assert name in refused(path).reason


def test_a_log_with_a_loosened_or_an_added_trigger_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path)
    sql(
        path,
        "DROP TRIGGER event_never_goes",
        "CREATE TRIGGER event_never_goes BEFORE DELETE ON event WHEN false BEGIN SELECT 1; END",
    )
    assert "event_never_goes" in refused(path).reason
    sql(
        path,
        "DROP TRIGGER event_never_goes",
        SCHEMA["event_never_goes"],
        "CREATE TRIGGER more AFTER INSERT ON event BEGIN UPDATE cursor SET position = 0; END",
    )
    assert "more" in refused(path).reason


@pytest.mark.parametrize("position", [1, 3, 6])
def test_changed_bytes_are_refused_with_their_position(tmp_path: Path, position: int) -> None:
    path = made(tmp_path)
    change = "UPDATE event SET bytes = CAST(bytes || x'20' AS BLOB) WHERE position = ?"
    forged(path, change, position, chain=False)
    refusal = refused(path)
    assert refusal.position == position
    assert "chain breaks" in refusal.reason


@pytest.mark.parametrize("position", [1, 3, 5])
def test_a_gap_is_refused_with_the_position_that_is_missing(tmp_path: Path, position: int) -> None:
    path = made(tmp_path)
    forged(path, "DELETE FROM event WHERE position = ?", position)
    refusal = refused(path)
    assert refusal.position == position
    assert "missing" in refusal.reason


def test_a_tail_that_was_cut_off_is_refused_while_a_cursor_or_request_knows_it(
    tmp_path: Path,
) -> None:
    path = made(tmp_path)
    forged(path, "DELETE FROM event WHERE position > 4")
    refusal = refused(path)
    assert refusal.position == 5
    assert "cursor 'cage' stands at 6" in refusal.reason
    forged(path, "DELETE FROM cursor")
    assert "request 'anna/t-2' stands at 6" in refused(path).reason


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE event SET type = 'alarm_raised' WHERE position = 3",
        "UPDATE event SET version = 2 WHERE position = 3",
        "UPDATE event SET at = 'yesterday' WHERE position = 3",
        "UPDATE event SET at = x'ff' WHERE position = 3",
        "UPDATE event SET bytes = 'text' WHERE position = 3",
    ],
)
def test_a_column_that_contradicts_the_bytes_is_refused(tmp_path: Path, change: str) -> None:
    path = made(tmp_path)
    forged(path, change, chain=False)
    assert refused(path).position == 3


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"betting_closed", b"betting_forgot", "unknown event type 'betting_forgot'"),
        (b'"v":1', b'"v":2', "newer than this build knows"),
        (b'"by"', b'"bi"', "betting_closed version 1"),
        (b'{"event_id"', b'{"event_ID"', "not an envelope"),
        (b"sydney", b"darwin", "columns are not what"),
        (b'"position":3', b'"position":4', "columns are not what"),
    ],
)
def test_an_event_that_this_build_cannot_read_is_refused_though_its_hash_is_right(
    tmp_path: Path, old: bytes, new: bytes, reason: str
) -> None:
    path = made(tmp_path)
    stored = pending(3, cause="anna/t-1").stored
    assert stored.count(old) == 1
    replace_stored(path, 3, stored.replace(old, new))
    refusal = refused(path)
    assert refusal.position == 3
    assert reason in refusal.reason


@pytest.mark.parametrize(
    ("change", "position", "reason"),
    [
        ("DELETE FROM request WHERE position = 4", 3, "'anna/t-1' is not recorded"),
        ("UPDATE request SET position = 3 WHERE position = 4", 4, "'anna/t-1' is not recorded"),
        ("UPDATE request SET transaction_id = 'x' WHERE position = 4", 3, "is not recorded"),
        ("INSERT INTO request VALUES ('bert/t-1', x'', 4)", None, "4 requests are recorded"),
    ],
)
def test_requests_that_do_not_fit_the_events_are_refused(
    tmp_path: Path, change: str, position: int | None, reason: str
) -> None:
    path = made(tmp_path)
    forged(path, change, chain=False)
    refusal = refused(path)
    assert refusal.position == position
    assert reason in refusal.reason


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE meta SET value = 'many' WHERE name = 'session'",
        "DELETE FROM meta WHERE name = 'session'",
        "UPDATE cursor SET position = -1",
        "UPDATE cursor SET position = 'x'",
        "UPDATE cursor SET name = CAST(x'ff' AS TEXT)",
    ],
)
def test_sessions_and_cursors_that_cannot_be_are_refused(tmp_path: Path, change: str) -> None:
    path = made(tmp_path)
    forged(path, change, chain=False)
    assert refused(path).reason


def test_what_stands_at_no_position_or_in_an_old_format_is_called_that(tmp_path: Path) -> None:
    path = made(tmp_path)
    sql(path, "UPDATE cursor SET position = -5")
    assert "cursor 'cage' stands at -5, which is no position" in refused(path).reason
    sql(path, "PRAGMA user_version=0")
    assert "format 0 is older than this build reads" in refused(path).reason


def test_a_wal_without_its_log_is_refused_and_kept(tmp_path: Path) -> None:
    path = killed(tmp_path)
    path.unlink()
    assert f"{NAME}-wal is there" in refused(path).reason


def test_a_rollback_journal_beside_the_log_is_refused_and_kept(tmp_path: Path) -> None:
    path = made(tmp_path)
    path.with_name(f"{NAME}-journal").write_bytes(b"\xd9\xd5\x05\xf9 \xa1c\xd7" + bytes(4096))
    assert f"{NAME}-journal" in refused(path).reason


def test_a_log_that_a_killed_writer_left_opens_with_everything(tmp_path: Path) -> None:
    path = killed(tmp_path, events=40)
    with EventLog.open(path, ORIGIN) as log:
        assert (log.position, log.cursor("cage")) == (40, 40)
        assert log.recorded("anna/t-19") is not None
        grow(log, 1)
    assert sorted(contents(path.parent)) == [NAME, f"{NAME}.lock"]


def test_a_killed_writers_log_is_refused_without_recovering_it(tmp_path: Path) -> None:
    path = killed(tmp_path)
    assert "sydney/t1" in refused(path, "sydney/t2").reason
    with EventLog.open(path, ORIGIN) as log:
        assert log.position == 6


def test_the_main_file_without_its_wal_is_refused_where_it_holds_less_than_is_known(
    tmp_path: Path,
) -> None:
    path = made(tmp_path)
    with EventLog.open(path, ORIGIN) as log:
        grow(log, 2, "anna/t-9")
        alone = tmp_path / "alone" / NAME
        alone.parent.mkdir()
        alone.write_bytes(path.read_bytes())
    # An older log is a log: only what was seen elsewhere (a checkpoint) can tell.
    with EventLog.open(alone, ORIGIN) as log:
        assert log.position == 6


def test_what_a_killed_check_left_is_cleared_away(tmp_path: Path) -> None:
    path = killed(tmp_path)
    left = path.with_name(f".{NAME}.check")
    left.mkdir()
    (left / NAME).write_bytes(b"old")
    with EventLog.open(path, ORIGIN) as log:
        assert log.position == 6
    assert not left.exists()


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _flip(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ rng.randrange(1, 256)]) + data[at + 1 :]


def _zero_page(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) // 4096) * 4096
    return data[:at] + bytes(4096) + data[at + 4096 :]


def _garbage_page(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) // 4096) * 4096
    return data[:at] + rng.randbytes(4096) + data[at + 4096 :]


def _open_or_refuse(path: Path) -> list[bytes] | None:
    before = contents(path.parent)
    try:
        with EventLog.open(path, ORIGIN) as log:
            return [event.stored for event in log.read()]
    except LogRefused:
        after = contents(path.parent)
    assert after == before
    return None


@pytest.mark.parametrize("damage", [_cut, _flip, _zero_page, _garbage_page])
def test_a_damaged_file_is_refused_or_holds_every_event(
    tmp_path: Path, damage: Callable[[bytes, random.Random], bytes]
) -> None:
    path = made(tmp_path, events=60)
    with EventLog.open(path, ORIGIN) as log:
        whole = [event.stored for event in log.read()]
    data = path.read_bytes()
    refusals = 0
    for seed in range(120):
        path.write_bytes(damage(data, random.Random(seed)))
        found = _open_or_refuse(path)
        assert found is None or found == whole, f"seed {seed}"
        refusals += found is None
    assert refusals > 0 if damage is _flip else refusals == 120


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path)
    with EventLog.open(path, ORIGIN) as log:
        # Its last overflow page is mostly padding, where a cut hits nothing that was stored.
        log.append(6, [pending(7, AlarmRaised(alarm="x", text="a" * 5000))])
    data = path.read_bytes()
    lengths = {0, 1, 15, 16, 17, 99, 100, 101, 511, 512, 513, len(data) - 1}
    lengths.update(range(len(data) - 4096, len(data), 64))
    lengths.update(page + by for page in range(0, len(data), 4096) for by in (0, 1))
    for length in sorted(lengths):
        path.write_bytes(data[:length])
        assert "restore a verified backup" in refused(path).reason, length
    path.write_bytes(data + b"x")
    assert "not a whole SQLite file" in refused(path).reason


def test_a_killed_writers_wal_damaged_anywhere_leaves_whole_commits_or_a_refusal(
    tmp_path: Path,
) -> None:
    path = killed(tmp_path, events=20)
    wal = path.with_name(f"{NAME}-wal")
    main, data = path.read_bytes(), wal.read_bytes()
    for seed in range(60):
        rng = random.Random(seed)
        wal.write_bytes(rng.choice([_cut, _flip])(data, rng))
        path.write_bytes(main)
        found = _open_or_refuse(path)
        assert found is None or len(found) % 2 == 0, f"seed {seed}"
