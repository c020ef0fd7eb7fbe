"""The raw journal on real files: whole records or none, at every byte where a write may end."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.clock import SystemClock
from events.errors import InputError, LogRefused, LogUnwritable
from shoe_driver.journal.files import Journal, read_records
from shoe_driver.journal.folder import JournalFolder
from shoe_driver.journal.records import (
    MAGIC,
    PAYLOAD_LIMIT,
    Record,
    RecordKind,
    RecordReader,
    encode_record,
    holds_a_record,
)
from shoe_driver.profiles.catalogue import profile_text
from tests.support.machine.disk import disk_full_at
from tests.support.shoe.shoe_bytes import cut

CLOCK = SystemClock()
PROFILE = profile_text("enq-bcc")
DATA = [
    Record(RecordKind.OPEN, 1, 10, b"pty:/x"),
    Record(RecordKind.DATA, 2, 20, bytes(range(256))),
    Record(RecordKind.DATA, 3, 30, b"\x05\x30\x53\x03\x36\x30"),
]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal.create(tmp_path, "j1", PROFILE, CLOCK)
    yield made
    made.close()


def reopened(path: Path) -> list[Record]:
    """What a driver finds that starts on this file; the header left out."""
    opened = Journal(path)
    opened.close()
    return list(opened.records())[1:]


def test_what_was_appended_is_read_again(journal: Journal) -> None:
    journal.append(DATA[:1])
    journal.append(DATA[1:])
    assert reopened(journal.path) == DATA
    assert journal.path.stat().st_size == journal.size
    assert (journal.header.journal, journal.header.profile.encode()) == ("j1", PROFILE)


def test_a_file_begins_with_its_magic(journal: Journal) -> None:
    assert journal.path.read_bytes().startswith(b"BACSHOE\x01")


def test_the_bytes_of_a_record_are_the_format() -> None:
    """Stored bytes are for ever: a vector made by hand, CRC by another implementation."""
    record = Record(RecordKind.DATA, 0x0102, 0x0304, b"\x05\x30")
    assert encode_record(record).hex() == (
        "02" + "00000002" + "0000000000000102" + "0000000000000304" + "0530" + "CRC"
    ).replace("CRC", _crc32(bytes.fromhex("0200000002000000000000010200000000000003040530")))


def _crc32(data: bytes) -> str:
    """CRC-32 (IEEE 802.3) bit by bit, as an oracle for the table-driven one."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    return f"{crc ^ 0xFFFFFFFF:08x}"


def test_killed_at_every_byte_of_the_last_record(journal: Journal, tmp_path: Path) -> None:
    journal.append(DATA[:2])
    before = journal.size
    journal.append(DATA[2:])
    whole = journal.path.read_bytes()
    for end in range(before, len(whole)):
        folder = tmp_path / str(end)
        folder.mkdir()
        path = folder / "j1.journal"
        path.write_bytes(whole[:end])
        opened = Journal(path)
        assert opened.torn == end - before
        assert path.stat().st_size == before
        opened.append(DATA[2:])
        opened.close()
        assert path.read_bytes() == whole
        aside = [p for p in folder.iterdir() if p != path]
        assert [p.read_bytes() for p in aside] == ([whole[before:end]] if end > before else [])


def test_a_tail_of_zeros_or_junk_is_torn(journal: Journal, tmp_path: Path) -> None:
    """A power cut may leave blocks that were never written."""
    journal.append(DATA)
    whole = journal.path.read_bytes()
    for number, tail in enumerate((bytes(4096), b"\xff" * 100, whole[-20:], b"\x02\x00\x00")):
        path = tmp_path / f"tail-{number}.journal"
        path.write_bytes(whole + tail)
        assert reopened(path) == DATA
        assert path.read_bytes() == whole


def test_every_flipped_byte_is_found(journal: Journal, tmp_path: Path) -> None:
    """Before the last record it is refused and left alone; in the last it is a torn tail."""
    journal.append(DATA[:2])
    last = journal.size
    journal.append(DATA[2:])
    whole = journal.path.read_bytes()
    path = tmp_path / "flipped.journal"
    for place in range(0, len(whole), 7):
        damaged = whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :]
        path.write_bytes(damaged)
        if place >= last:
            assert reopened(path) == DATA[:2]
            continue
        with pytest.raises(LogRefused, match="move it aside, and keep it"):
            Journal(path)
        assert path.read_bytes() == damaged


def test_a_file_that_is_no_journal_or_of_a_newer_build_is_refused(
    journal: Journal, tmp_path: Path
) -> None:
    journal.append(DATA)
    whole = journal.path.read_bytes()
    newer_format = b"BACSHOE\x02" + whole[len(MAGIC) :]
    newer_kind = (
        whole + encode_record(DATA[0]).replace(b"\x04", b"\x09", 1) + encode_record(DATA[1])
    )
    headless = MAGIC + encode_record(DATA[0])
    for content in (b"", b"\x05\x30S\x0360", newer_format, newer_kind, headless):
        path = tmp_path / "other.journal"
        path.write_bytes(content)
        with pytest.raises(LogRefused):
            Journal(path)
        assert path.read_bytes() == content


records = st.builds(
    Record,
    st.sampled_from([k for k in RecordKind if k is not RecordKind.HEADER]),
    st.integers(0, 2**63),
    st.integers(0, 2**63),
    st.binary(max_size=40),
)


@given(st.lists(records, max_size=8), st.lists(st.integers(0, 400), max_size=6))
def test_records_are_read_at_any_split(made: list[Record], places: list[int]) -> None:
    data = MAGIC + b"".join(map(encode_record, made))
    reader = RecordReader()
    found = [record for piece in cut(data, places) for record in reader.feed(piece)]
    assert (found, reader.position, reader.rest) == (made, len(data), b"")


@given(records, st.binary(max_size=30), st.binary(max_size=30))
def test_a_whole_record_is_found_anywhere(record: Record, before: bytes, after: bytes) -> None:
    assert holds_a_record(before + encode_record(record) + after)


def test_no_record_is_found_where_there_is_none() -> None:
    torn = encode_record(DATA[1])[:-1]
    assert not any(holds_a_record(junk) for junk in (b"", bytes(9_999), torn, torn[5:]))


@pytest.mark.parametrize("room", [0, 1, 30])
def test_a_full_disk_stores_nothing_and_later_everything(journal: Journal, room: int) -> None:
    journal.append(DATA[:1])
    before = journal.path.read_bytes()
    with disk_full_at(journal.size + room):
        for _ in range(2):
            with pytest.raises(LogUnwritable, match=r"j1\.journal cannot be written: File too"):
                journal.append(DATA[1:])
    assert reopened(journal.path) == DATA[:1]
    journal.append(DATA[1:])
    assert journal.path.read_bytes().startswith(before)
    assert reopened(journal.path) == DATA


def test_a_torn_tail_that_cannot_be_put_aside_stays(journal: Journal) -> None:
    journal.append(DATA)
    torn = journal.path.read_bytes()[:-1]
    journal.path.write_bytes(torn)
    with disk_full_at(10), pytest.raises(LogUnwritable, match="cannot be opened: File too large"):
        Journal(journal.path)
    assert journal.path.read_bytes() == torn


def test_no_journal_is_begun_on_a_full_disk(tmp_path: Path) -> None:
    with disk_full_at(100), pytest.raises(LogUnwritable, match="no journal can be begun"):
        Journal.create(tmp_path, "j1", PROFILE, CLOCK)
    assert not list(tmp_path.glob("*.journal"))


def test_a_profile_is_small_enough_to_stand_in_a_journal() -> None:
    assert len(PROFILE) * 2 < PAYLOAD_LIMIT


def test_the_newest_journal_is_that_of_the_highest_number(tmp_path: Path) -> None:
    with JournalFolder(tmp_path) as folder:
        assert folder.newest() == []
        names = []
        for _ in range(11):
            made = folder.begin(PROFILE, CLOCK)
            made.close()
            names.append(made.header.journal)
            assert folder.newest() == [made.path]
    assert [name.rpartition("-")[2] for name in names] == [str(n) for n in range(1, 12)]
    assert len(set(names)) == 11


def test_the_session_rises_at_every_start(tmp_path: Path) -> None:
    seen = []
    for _ in range(3):
        with JournalFolder(tmp_path) as folder:
            seen.append(folder.next_session())
    assert seen == [1, 2, 3]


def test_the_note_of_what_is_acknowledged_is_a_hint(tmp_path: Path) -> None:
    with JournalFolder(tmp_path) as folder:
        assert folder.acked("j1") == 0
        folder.note_acked("j1", 17)
        assert (folder.acked("j1"), folder.acked("j2")) == (17, 0)
        place = (tmp_path / "j1.acked").stat().st_ino
        folder.note_acked("j1", 3)
        assert folder.acked("j1") == 3
        assert (tmp_path / "j1.acked").stat().st_ino == place
        (tmp_path / "j1.acked").write_bytes(b"junk")
        assert folder.acked("j1") == 0


@pytest.mark.process
def test_a_second_driver_is_refused_and_told_who_is_there(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from shoe_driver.journal.folder import JournalFolder\n"
        "folder = JournalFolder(Path(sys.argv[1])); print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(InputError, match=rf"another driver \(process {other.pid}\)"):
            JournalFolder(tmp_path)
        other.kill()
    with JournalFolder(tmp_path) as folder:  # the kernel unlocks for the dead
        assert folder.next_session() == 1


def test_a_folder_that_cannot_be_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match=r"journal folder .*file/x: Not a directory"):
        JournalFolder(tmp_path / "file" / "x")


def test_records_of_a_journal_that_is_being_written(journal: Journal) -> None:
    """Whoever reads meanwhile sees whole records only."""
    journal.append(DATA)
    with journal.path.open("ab") as file:
        file.write(encode_record(DATA[0])[:-1])
    assert list(read_records(journal.path))[1:] == DATA


def test_what_a_killed_driver_wrote_is_on_the_disk_before_anybody_is_told_of_it(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with journal.path.open("ab") as file:  # the kill came between the write and the fsync
        file.write(encode_record(DATA[0]))
    forced: list[int] = []
    force = os.fdatasync

    def noted(descriptor: int) -> None:
        force(descriptor)
        forced.append(descriptor)

    monkeypatch.setattr(os, "fdatasync", noted)
    again = Journal(journal.path)
    try:
        assert forced == [again._fd]
        assert [*again.records()][1:] == DATA[:1]
    finally:
        again.close()
