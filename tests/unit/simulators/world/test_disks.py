"""The world's disks keep the promises that the real ones keep: one suite, run against both."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TypeAlias

import pytest

from events.errors import LogConflict, LogRefused, LogUnwritable, OurBug
from events.log.store import EventLog
from events.types import AlarmCleared, Pending, encode_envelope
from shoe_driver.journal.files import Journal
from shoe_driver.journal.records import Record, RecordKind, encode_record
from shoe_driver.profiles.catalogue import profile_text
from simulators.world.parts.clock import WorldClock
from simulators.world.parts.fault_injector import ArmedFaults
from simulators.world.parts.journal_disk import JOURNAL_FULL, JournalDisk, WorldJournal
from simulators.world.parts.log_disk import DISK_FULL, SYNC_FAILED, SYNC_FAILED_STORED, LogDisk
from tests.support.machine.disk import disk_full_at

PROFILE = profile_text("enq-bcc")
DATA = [
    Record(RecordKind.OPEN, 1, 10, b"pty:/x"),
    Record(RecordKind.DATA, 2, 20, bytes(range(256))),
]
AT = "2026-11-27T00:00:00.000000000Z"
ORIGIN = "s/t"


# ---- the driver's journal ----


class RealJournals:
    def __init__(self, folder: Path) -> None:
        made = Journal.create(folder, "j1", PROFILE, WorldClock())
        self._path = made.path
        made.close()
        self._open: list[Journal] = []

    def open(self) -> Journal:
        self._open.append(Journal(self._path))
        return self._open[-1]

    def tear(self, data: bytes) -> None:
        with self._path.open("ab") as file:
            file.write(data)

    def content(self) -> bytes:
        return self._path.read_bytes()

    def append_when_full(self, journal: Journal | WorldJournal, records: list[Record]) -> None:
        with disk_full_at(journal.size + 5):
            journal.append(records)

    def close(self) -> None:
        for each in self._open:
            each.close()


class WorldJournals:
    def __init__(self) -> None:
        self._trouble = ArmedFaults()
        self._disk = JournalDisk(Random(1), self._trouble)
        self._disk.begin(PROFILE, WorldClock())

    def open(self) -> WorldJournal:
        return WorldJournal(self._disk, "j1")

    def tear(self, data: bytes) -> None:
        self._disk._files["j1"].written = data  # a kill leaves what it likes: here all of it

    def content(self) -> bytes:
        return self._disk.content("j1")

    def append_when_full(self, journal: Journal | WorldJournal, records: list[Record]) -> None:
        self._trouble.arm(JOURNAL_FULL)
        journal.append(records)

    def close(self) -> None:
        pass


Journals: TypeAlias = RealJournals | WorldJournals


@pytest.fixture(params=["real", "world"])
def journals(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journals]:
    made = RealJournals(tmp_path) if request.param == "real" else WorldJournals()
    yield made
    made.close()


def test_what_was_appended_is_there_when_it_is_opened_again(journals: Journals) -> None:
    journal = journals.open()
    journal.append(DATA[:1])
    journal.append(DATA[1:])
    again = journals.open()
    assert list(again.records())[1:] == DATA
    assert (again.header.journal, again.torn) == ("j1", 0)
    assert again.size == journal.size == len(journals.content())


@pytest.mark.parametrize("cut", [1, 5, 20, 60])
def test_an_unfinished_tail_is_put_aside(journals: Journals, cut: int) -> None:
    journals.open().append(DATA[:1])
    journals.tear(encode_record(DATA[1])[:cut])
    again = journals.open()
    assert again.torn == cut
    again.append(DATA[1:])
    assert list(journals.open().records())[1:] == DATA


def test_of_what_a_full_disk_refuses_nothing_is_stored(journals: Journals) -> None:
    journal = journals.open()
    journal.append(DATA[:1])
    with pytest.raises(LogUnwritable):
        journals.append_when_full(journal, DATA[1:])
    journal.append(DATA[1:])
    assert list(journals.open().records())[1:] == DATA


def test_damage_with_whole_records_behind_it_is_refused(journals: Journals) -> None:
    whole = encode_record(DATA[0])
    journals.tear(whole[:-1] + bytes([whole[-1] ^ 1]) + encode_record(DATA[1]))
    with pytest.raises(LogRefused, match="damaged"):
        journals.open()


def test_a_power_cut_takes_what_was_never_synced_and_nothing_else() -> None:
    disk = JournalDisk(Random(1), ArmedFaults())
    journal = disk.begin(PROFILE, WorldClock())
    journal.append(DATA[:1])
    disk.acked["j1"] = 7
    disk.tear("j1", encode_record(DATA[1]))
    disk.power_cut()
    assert list(WorldJournal(disk, "j1").records())[1:] == DATA[:1]
    assert disk.acked == {}


def test_what_was_there_when_a_journal_was_opened_outlives_a_power_cut() -> None:
    disk = JournalDisk(Random(1), ArmedFaults())
    disk.begin(PROFILE, WorldClock()).append(DATA[:1])
    disk._files["j1"].written = encode_record(DATA[1])  # the writer was killed before its sync
    assert list(WorldJournal(disk, "j1").records())[1:] == DATA
    disk.power_cut()
    assert list(WorldJournal(disk, "j1").records())[1:] == DATA


# ---- the table's log ----


class RealLogs:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "table.sqlite"
        self._open: EventLog | None = None

    def open(self) -> EventLog:
        self.close()
        self._open = EventLog.open(self._path, ORIGIN)
        return self._open

    def fill(self) -> None:
        assert self._open is not None
        ((pages,),) = self._open._files.query("PRAGMA page_count")
        self._open._files.query(f"PRAGMA max_page_count={pages}")

    def relieve(self) -> None:
        assert self._open is not None
        self._open._files.query("PRAGMA max_page_count=1000000")

    def close(self) -> None:
        if self._open is not None:
            self._open.close()


class WorldLogs:
    def __init__(self, folder: Path) -> None:
        self._trouble = ArmedFaults()
        self._disk = LogDisk(folder / "world.sqlite", ORIGIN, self._trouble)

    def open(self) -> EventLog:
        return self._disk.open(lambda _: None)

    def fill(self) -> None:
        self._trouble.arm(DISK_FULL)

    def relieve(self) -> None:
        self._trouble.calm()

    def close(self) -> None:
        self._disk.close()


Logs: TypeAlias = RealLogs | WorldLogs


@pytest.fixture(params=["real", "world"])
def logs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Logs]:
    made = RealLogs(tmp_path) if request.param == "real" else WorldLogs(tmp_path)
    yield made
    made.close()


def pending(position: int, alarm: str = "a") -> Pending:
    event = AlarmCleared(alarm=alarm)
    stored = encode_envelope(
        event,
        index=0,
        stream=ORIGIN,
        position=position,
        at=AT,
        actor="dealer",
        cause=f"dealer/{position}",
        correlation="",
    )
    return Pending(event.TYPE, event.VERSION, AT, stored)


def append(log: EventLog, position: int, alarm: str = "a") -> None:
    log.append(position - 1, [pending(position, alarm)], (f"dealer/{position}", b"body"))


def test_events_requests_and_cursors_outlive_who_wrote_them(logs: Logs) -> None:
    log = logs.open()
    append(log, 1)
    append(log, 2)
    log.move_cursor("cage", 2)
    head, root, session = log.head, log.root, log.next_session()
    again = logs.open()
    assert (again.position, again.head, again.root) == (2, head, root)
    assert [stored.position for stored in again.read()] == [1, 2]
    assert (again.cursor("cage"), again.cursor("other")) == (2, 0)
    assert again.recorded("dealer/2") == (b"body", 2)
    assert again.recorded("dealer/3") is None
    assert again.next_session() == session + 1


def test_another_position_is_a_conflict_and_a_request_comes_once(logs: Logs) -> None:
    log = logs.open()
    append(log, 1)
    with pytest.raises(LogConflict):
        append(log, 1)
    with pytest.raises(OurBug, match="a request comes once"):
        log.append(1, [_again(2)], ("dealer/1", b"body"))
    assert (log.position, logs.open().position) == (1, 1)


def _again(position: int) -> Pending:
    stored = pending(position)
    return stored._replace(stored=stored.stored.replace(b'"dealer/2"', b'"dealer/1"'))


def test_a_full_disk_stores_nothing_and_the_log_goes_on_when_there_is_room(logs: Logs) -> None:
    log = logs.open()
    append(log, 1)
    logs.fill()
    with pytest.raises(LogUnwritable, match="full"):
        append(log, 2, "a" * 100_000)
    assert (log.position, log.closed) == (1, False)
    logs.relieve()
    append(log, 2)
    assert logs.open().position == 2


@pytest.mark.parametrize(("fault", "there"), [(SYNC_FAILED, 1), (SYNC_FAILED_STORED, 2)])
def test_after_a_failed_sync_the_log_is_closed_and_only_a_new_start_tells(
    fault: str, there: int, tmp_path: Path
) -> None:
    trouble = ArmedFaults()
    disk = LogDisk(tmp_path / "world.sqlite", ORIGIN, trouble)
    log = disk.open(lambda _: None)
    append(log, 1)
    trouble.arm(fault)
    with pytest.raises(LogUnwritable):
        append(log, 2)
    assert log.closed
    with pytest.raises(LogUnwritable):
        append(log, 2)
    assert disk.open(lambda _: None).position == there
    disk.close()
