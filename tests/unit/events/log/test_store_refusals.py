"""What is refused at opening, and that it stays as it was to the last byte."""

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from events.errors import LogRefused
from events.log.store import EventLog
from events.types import AlarmRaised
from tests.support.log.logs import (
    NAME,
    ORIGIN,
    contents,
    grow,
    killed,
    made,
    pending,
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


def test_a_wal_without_its_log_is_refused_and_kept(tmp_path: Path) -> None:
    path = killed(tmp_path)
    path.unlink()
    assert f"{NAME}-wal is there" in refused(path).reason


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


@pytest.mark.sweep
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
