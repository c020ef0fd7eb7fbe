"""A WAL that lost commits is damage; one that was torn, reset or emptied is not."""

import random
import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest

from events.errors import LogRefused
from events.log import connections as log_files
from events.log.store import EventLog
from events.log.verify import verify
from events.log.wal import wal_damage, wal_of
from tests.support.log.logs import NAME, ORIGIN, contents, grow, killed

FRAME = 24 + 4096


def frame_at(number: int) -> int:
    return 32 + (number - 1) * FRAME


def commits(data: bytes) -> list[int]:
    """The numbers of the frames of the WAL's generation that commit."""
    return [
        number
        for number in range(1, (len(data) - 32) // FRAME + 1)
        if data[16:24] == data[frame_at(number) + 8 : frame_at(number) + 16]
        and data[frame_at(number) + 4 : frame_at(number) + 8] != bytes(4)
    ]


def flipped(data: bytes, at: int, by: int = 0x01) -> bytes:
    return data[:at] + bytes([data[at] ^ by]) + data[at + 1 :]


def refused(path: Path) -> str:
    """Why both refuse the log, which stays as it was."""
    before = contents(path.parent)
    verdict = verify(path)
    assert (verdict.ok, verdict.root) == (False, None)
    with pytest.raises(LogRefused) as error:
        EventLog.open(path, ORIGIN)
    assert contents(path.parent) == before
    assert verdict.reason is not None
    assert verdict.reason in str(error.value)
    return verdict.reason


def taken(path: Path) -> int:
    """How many events both find in the log."""
    verdict = verify(path)
    assert verdict.ok, verdict
    with EventLog.open(path, ORIGIN) as log:
        assert log.position == verdict.events
    return verdict.events


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return killed(tmp_path, events=20)


def test_every_changed_byte_is_found_or_changes_nothing_but_the_last_commit(path: Path) -> None:
    wal, whole = wal_of(path), verify(path)
    data = wal.read_bytes()
    before_last = frame_at(commits(data)[-2] + 1)
    rng = random.Random(3007)
    places = {*range(32), *range(32, len(data), 997)}
    for number in range(1, (len(data) - 32) // FRAME + 1):
        places.update(range(frame_at(number), frame_at(number) + 24, 5))
    for at in sorted(places):
        wal.write_bytes(flipped(data, at, rng.randrange(1, 256)))
        verdict = verify(path)
        # A frame whose header no longer says that it ends a commit seems to be a part of the next.
        ending = frame_at(commits(data)[-2])
        excused = at >= before_last or ending + 4 <= at < ending + 16
        assert not verdict.ok or verdict == whole or excused, at
        assert excused or not verdict.ok, at
    wal.write_bytes(data)
    assert verify(path) == whole


@pytest.mark.parametrize("commit", [0, 4, -2])
def test_a_changed_byte_under_commits_is_refused(path: Path, commit: int) -> None:
    wal = wal_of(path)
    data = wal.read_bytes()
    number = commits(data)[commit]
    wal.write_bytes(flipped(data, frame_at(number) + 1000))
    assert f"frame {number} of {NAME}-wal is damaged" in refused(path)


@pytest.mark.parametrize("what", ["garbage", "zeros", "magic", "page size", "salt"])
def test_a_wal_with_a_wrong_header_is_refused(path: Path, what: str) -> None:
    wal = wal_of(path)
    data = wal.read_bytes()
    heads = {
        "garbage": random.Random(32).randbytes(32),
        "zeros": bytes(32),
        "magic": flipped(data[:32], 3, 0x04),
        "page size": flipped(data[:32], 10),
        "salt": flipped(data[:32], 16),
    }
    wal.write_bytes(heads[what] + data[32:])
    assert f"the header of {NAME}-wal is damaged" in refused(path)


def test_a_commit_that_a_kill_tore_is_dropped(path: Path) -> None:
    wal = wal_of(path)
    data = wal.read_bytes()
    last, before = commits(data)[-1], commits(data)[-2]
    for torn in (
        data[: frame_at(last) + 100],
        data[: frame_at(last) + 100] + bytes(FRAME - 100),
        flipped(data, frame_at(last) + 500),
        data + data[frame_at(before) : frame_at(before) + 300],
        data + bytes(2 * FRAME),
    ):
        wal.write_bytes(torn)
        assert wal_damage(wal) is None
        assert verify(path).events == 20  # the last commit only moves a cursor
    assert taken(path) == 20


def test_frames_that_were_never_committed_are_legal_though_they_fail(path: Path) -> None:
    wal = wal_of(path)
    data = wal.read_bytes()
    salts = data[16:24]
    spilled = b"".join(
        struct.pack(">2I", page, 0) + salts + bytes(8) + bytes(4096) for page in (2, 3, 4)
    )
    wal.write_bytes(data + spilled)
    assert taken(path) == 20


@pytest.mark.parametrize("length", [0, 5, 31, 32])
def test_a_wal_that_holds_no_frame_is_legal(tmp_path: Path, length: int) -> None:
    with EventLog.open(tmp_path / NAME, ORIGIN) as log:
        grow(log, 3)
        head = wal_of(log.path).read_bytes()[:length]
    wal_of(tmp_path / NAME).write_bytes(head)
    assert taken(tmp_path / NAME) == 3


def test_no_wal_is_no_damage(tmp_path: Path) -> None:
    assert wal_damage(tmp_path / "none-wal") is None


def _reset(folder: Path) -> Path:
    """A killed log whose WAL was reset and is overwritten in part: old commits lie behind."""
    alive, dead = folder / "alive" / NAME, folder / "dead" / NAME
    dead.parent.mkdir()
    with EventLog.open(alive, ORIGIN) as log:
        for _ in range(8):
            grow(log, 2)
        with closing(sqlite3.connect(alive)) as other:
            assert other.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()[0] == 0
        grow(log, 2)
        grow(log, 2)
        for file in (alive, wal_of(alive)):
            shutil.copyfile(file, dead.with_name(file.name))
    return dead


def test_what_an_earlier_generation_left_in_the_wal_is_legal(tmp_path: Path) -> None:
    path = _reset(tmp_path)
    data = wal_of(path).read_bytes()
    assert len(commits(data)) == 2
    assert len(data) > frame_at(commits(data)[-1] + 3)  # old frames are there
    assert taken(path) == 20


def test_a_changed_byte_before_such_frames_is_refused(tmp_path: Path) -> None:
    path = _reset(tmp_path)
    data = wal_of(path).read_bytes()
    wal_of(path).write_bytes(flipped(data, frame_at(1) + 24 + 9))
    assert "frame 1 of" in refused(path)


def test_a_writer_that_resets_its_wal_again_and_again_is_not_damage(tmp_path: Path) -> None:
    with EventLog.open(tmp_path / NAME, ORIGIN) as log:
        for events in range(1, 41):
            grow(log, 1)
            if events % 7 == 0:
                with closing(sqlite3.connect(log.path)) as other:
                    other.execute("PRAGMA wal_checkpoint(RESTART)")
            verdict = verify(log.path)
            assert (verdict.ok, verdict.events) == (True, events)


def _summed_big_endian(data: bytes | bytearray, first: int, second: int) -> tuple[int, int]:
    for one, two in struct.iter_unpack(">2I", data):
        first = (first + one + second) % 2**32
        second = (second + two + first) % 2**32
    return first, second


def test_a_wal_of_a_big_endian_machine_is_read_as_sqlite_reads_it(path: Path) -> None:
    data = bytearray(wal_of(path).read_bytes())
    data[3] |= 1
    sums = _summed_big_endian(data[:24], 0, 0)
    data[24:32] = struct.pack(">2I", *sums)
    for at in range(32, len(data), FRAME):
        sums = _summed_big_endian(data[at : at + 8] + data[at + 24 : at + FRAME], *sums)
        data[at + 16 : at + 24] = struct.pack(">2I", *sums)
    wal_of(path).write_bytes(data)
    assert taken(path) == 20


def _count(path: Path) -> int:
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM event").fetchone()[0])


def test_what_a_killed_writer_left_in_the_wal_is_forced_before_anybody_is_told_of_it(
    tmp_path: Path,
) -> None:
    path = killed(tmp_path, events=20)
    assert _count(path) == 0
    with EventLog.open(path, ORIGIN):
        assert _count(path) == 20  # in the main file, which a WAL's checkpoint forces


def test_where_a_reader_holds_some_of_it_there_the_wal_itself_is_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = killed(tmp_path, events=20)
    forced: list[Path] = []
    monkeypatch.setattr(log_files, "sync", forced.append)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM event").fetchone() == (20,)
        with EventLog.open(path, ORIGIN) as log:
            assert forced == []
            grow(log, 2)
        with EventLog.open(path, ORIGIN):
            assert forced == [path.with_name(f"{NAME}-wal")]
