import sqlite3
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.errors import InputError, LogConflict, LogRefused, LogUnwritable, OurBug
from events.log.store import EventLog
from events.proof.chain import next_hash, origin_hash
from events.types import MAX_EVENT_BYTES, AcceptedRequest, AlarmCleared, AlarmRaised, Pending
from tests.support.log.logs import AT, NAME, ORIGIN, contents, forging, grow, pending


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / NAME


@pytest.fixture(name="log")
def open_log(path: Path) -> Iterator[EventLog]:
    with EventLog.open(path, ORIGIN) as opened:
        yield opened


def test_a_new_log_is_empty_and_its_head_is_its_origin(log: EventLog, path: Path) -> None:
    assert (log.position, log.head) == (0, origin_hash(ORIGIN))
    assert (log.path, log.origin) == (path, ORIGIN)
    assert list(log.read()) == []
    assert log.recorded("anna/t-1") is None
    assert log.cursor("cage") == 0


def test_what_was_appended_is_there_again_after_reopening(path: Path) -> None:
    with EventLog.open(path, ORIGIN) as log:
        entries = [pending(1 + i, cause="anna/t-1", index=i) for i in range(2)]
        first = log.append(0, entries, ("anna/t-1", b"{}"))
        second = log.append(2, [pending(3)])
    with EventLog.open(path, ORIGIN) as log:
        assert tuple(log.read()) == first + second
        assert (log.position, log.head) == (3, second[-1].hash)
        assert log.recorded("anna/t-1") == AcceptedRequest(b"{}", 2)


def test_the_stored_bytes_are_kept_as_they_came_and_chained(path: Path) -> None:
    entries = [pending(1), pending(2), pending(3)]
    with EventLog.open(path, ORIGIN) as log:
        stored = log.append(0, entries)
    head = origin_hash(ORIGIN)
    for event, entry in zip(stored, entries, strict=True):
        head = next_hash(head, entry.stored)
        assert event.stored == entry.stored
        assert event.hash == head
    assert [event.position for event in stored] == [1, 2, 3]


@pytest.mark.parametrize("column", ["bytes", "hash"])
def test_an_event_whose_bytes_have_become_a_text_is_refused(path: Path, column: str) -> None:
    with EventLog.open(path, ORIGIN) as log:
        grow(log, 3)
    with EventLog.open(path, ORIGIN) as log:
        with forging(path) as db:
            db.execute(f"UPDATE event SET {column} = hex({column}) WHERE position = 2")  # noqa: S608 - our own names
        with pytest.raises(LogRefused, match="position 2: its bytes or its hash are no bytes"):
            list(log.read())


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 5), max_size=8),
    start=st.integers(1, 50),
    limit=st.none() | st.integers(0, 50),
)
def test_reading_gives_the_stretch_that_was_asked_for(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], start: int, limit: int | None
) -> None:
    with EventLog.open(tmp_path_factory.mktemp("log") / NAME, ORIGIN) as log:
        for size in sizes:
            grow(log, size)
        everything = list(range(1, sum(sizes) + 1))
        wanted = everything[start - 1 :][:limit]
        assert [event.position for event in log.read(start, limit)] == wanted


def test_reading_over_many_batches_leaves_nothing_out_and_appends_go_on(log: EventLog) -> None:
    grow(log, 600)
    seen = []
    for event in log.read():
        if event.position % 200 == 0:
            grow(log, 1)
            log.move_cursor("display", event.position)
        seen.append(event.position)
    assert seen == list(range(1, 601))
    assert log.position == 603


@pytest.mark.parametrize("expected", [0, 1, 3])
def test_an_append_at_another_position_is_a_conflict_and_stores_nothing(
    log: EventLog, expected: int
) -> None:
    grow(log, 2)
    with pytest.raises(LogConflict) as conflict:
        log.append(expected, [pending(expected + 1)], ("anna/t-1", b"{}"))
    assert (conflict.value.expected, conflict.value.actual) == (expected, 2)
    assert log.position == 2
    assert log.recorded("anna/t-1") is None


def test_a_stranger_who_wrote_meanwhile_makes_the_append_a_conflict(
    log: EventLog, path: Path
) -> None:
    grow(log, 2)
    stranger = sqlite3.connect(path)
    stranger.execute("INSERT INTO event VALUES (3, 'x', 1, 'now', x'00', x'00')")
    stranger.commit()
    stranger.close()
    with pytest.raises(LogConflict) as conflict:
        log.append(2, [pending(3)])
    assert (conflict.value.expected, conflict.value.actual) == (2, 3)


def test_a_request_is_recorded_once_and_the_second_time_stores_nothing(log: EventLog) -> None:
    log.append(0, [pending(1, cause="anna/t-1")], ("anna/t-1", b"first"))
    with pytest.raises(OurBug, match="a request comes once"):
        log.append(1, [pending(2, cause="anna/t-1")], ("anna/t-1", b"second"))
    assert (log.position, len(list(log.read()))) == (1, 1)
    assert log.recorded("anna/t-1") == AcceptedRequest(b"first", 1)
    log.append(1, [pending(2, cause="anna/t-2")], ("anna/t-2", b"third"))
    assert log.recorded("anna/t-2") == AcceptedRequest(b"third", 2)


@pytest.mark.parametrize(
    ("cause", "request_of"),
    [("anna/t-1", None), ("anna/t-1", "anna/t-2"), ("shoe/1", "shoe/1"), ("core/x", "anna/t-1")],
)
def test_a_request_and_its_events_are_stored_together_or_not_at_all(
    log: EventLog, cause: str, request_of: str | None
) -> None:
    with pytest.raises(OurBug, match="the bytes are for request"):
        log.append(
            0, [pending(1, cause=cause)], None if request_of is None else (request_of, b"{}")
        )
    assert log.position == 0
    assert log.recorded(str(request_of)) is None


def _altered(entry: Pending, **columns: str | int | bytes) -> Pending:
    return Pending(**{**entry._asdict(), **columns})


@pytest.mark.parametrize(
    "entry",
    [
        pending(2),
        _altered(pending(1), type="alarm_raised"),
        _altered(pending(1), version=2),
        _altered(pending(1), at="2026-11-27T21:40:08.000000000Z"),
        _altered(pending(1), stored=pending(1).stored.replace(ORIGIN.encode(), b"perth/t1")),
        _altered(pending(1), stored=pending(1).stored.replace(b'"by"', b'"bye"')),
        _altered(pending(1), stored=b"not an envelope"),
        Pending("unheard_of", 1, AT, pending(1).stored.replace(b"betting_closed", b"unheard_of")),
    ],
    ids=["position", "type", "version", "at", "stream", "field", "bytes", "unknown"],
)
def test_bytes_that_this_build_would_refuse_to_open_are_never_stored(
    path: Path, entry: Pending
) -> None:
    with EventLog.open(path, ORIGIN) as log:
        with pytest.raises(OurBug):
            log.append(0, [entry])
        grow(log, 1)
    with EventLog.open(path, ORIGIN) as log:
        assert log.position == 1


def test_an_append_without_events_is_our_bug(log: EventLog) -> None:
    with pytest.raises(OurBug, match="without events"):
        log.append(0, [], ("anna/t-1", b"{}"))
    assert log.recorded("anna/t-1") is None


def test_an_event_of_the_longest_allowed_length_is_stored_and_one_byte_more_is_not(
    path: Path,
) -> None:
    room = MAX_EVENT_BYTES - len(pending(1, AlarmRaised(alarm="x", text="")).stored)
    longest = pending(1, AlarmRaised(alarm="x", text="a" * room))
    assert len(longest.stored) == MAX_EVENT_BYTES
    with EventLog.open(path, ORIGIN) as log:
        with pytest.raises(InputError, match=f"at most {MAX_EVENT_BYTES}"):
            log.append(0, [pending(1, AlarmRaised(alarm="x", text="a" * (room + 1)))])
        log.append(0, [longest])
        assert next(log.read()).stored == longest.stored


def test_all_events_of_an_append_are_refused_together(log: EventLog) -> None:
    with pytest.raises(OurBug):
        log.append(0, [pending(1), pending(2), pending(4)], ("anna/t-1", b"{}"))
    assert (log.position, list(log.read())) == (0, [])


def _commits(wal: Path, page: int = 4096) -> int:
    """Commit frames in a WAL: those that tell the database's size. sqlite.org/fileformat2.html."""
    data = wal.read_bytes()
    frames = range(32, len(data), 24 + page)
    return sum(data[at + 4 : at + 8] != bytes(4) for at in frames)


def test_an_append_is_one_commit_with_its_request(path: Path) -> None:
    wal = path.with_name(f"{NAME}-wal")
    with EventLog.open(path, ORIGIN) as log:
        for number in range(1, 6):
            grow(log, number, f"anna/t-{number}")
            assert _commits(wal) == number


def test_sessions_rise_over_reopening(path: Path) -> None:
    sessions = []
    for _ in range(3):
        with EventLog.open(path, ORIGIN) as log:
            sessions += [log.next_session(), log.next_session()]
    assert sessions == [1, 2, 3, 4, 5, 6]


def test_cursors_move_each_by_itself_and_are_kept(path: Path) -> None:
    with EventLog.open(path, ORIGIN) as log:
        grow(log, 5)
        log.move_cursor("cage", 4)
        log.move_cursor("display", 5)
        log.move_cursor("cage", 2)
    with EventLog.open(path, ORIGIN) as log:
        assert (log.cursor("cage"), log.cursor("display"), log.cursor("nobody")) == (2, 5, 0)


@pytest.mark.parametrize("position", [-1, 3])
def test_a_cursor_never_stands_where_the_log_has_not_come(log: EventLog, position: int) -> None:
    grow(log, 2)
    with pytest.raises(OurBug, match="the log ends at 2"):
        log.move_cursor("cage", position)
    assert log.cursor("cage") == 0


def test_a_second_writer_is_refused_while_the_first_lives(path: Path) -> None:
    with EventLog.open(path, ORIGIN) as log:
        grow(log, 1)
        before = contents(path.parent)
        with pytest.raises(LogRefused, match="another writer") as refused:
            EventLog.open(path, ORIGIN)
        assert str(path) in refused.value.reason
        assert "\n" not in refused.value.reason
        assert contents(path.parent) == before
        grow(log, 1)
    with EventLog.open(path, ORIGIN) as log:
        assert log.position == 2


def test_a_log_reached_by_another_name_has_the_same_lock(path: Path, tmp_path: Path) -> None:
    with EventLog.open(path, ORIGIN):
        other = tmp_path / "other.sqlite"
        other.symlink_to(path)
        with pytest.raises(LogRefused, match="another writer"):
            EventLog.open(other, ORIGIN)


def test_a_lock_file_that_was_removed_by_hand_does_not_unlock_the_next_ones(path: Path) -> None:
    EventLog.open(path, ORIGIN).close()
    path.with_name(f"{NAME}.lock").unlink()
    with EventLog.open(path, ORIGIN), pytest.raises(LogRefused, match="another writer"):
        EventLog.open(path, ORIGIN)


def test_a_closed_log_says_so_and_may_be_closed_again(path: Path) -> None:
    log = EventLog.open(path, ORIGIN)
    grow(log, 1)
    log.close()
    log.close()
    for use in (
        lambda: grow(log, 1),
        lambda: list(log.read()),
        lambda: log.recorded("anna/t-1"),
        lambda: log.cursor("cage"),
        lambda: log.move_cursor("cage", 1),
        log.next_session,
    ):
        with pytest.raises(LogUnwritable, match="closed"):
            use()
    assert log.position == 1


def test_a_closed_log_leaves_nothing_but_itself_and_its_lock(path: Path) -> None:
    with EventLog.open(path, ORIGIN) as log:
        grow(log, 3)
    assert sorted(contents(path.parent)) == [NAME, f"{NAME}.lock"]


def test_another_thread_cannot_write(path: Path) -> None:
    found: list[BaseException] = []

    def write() -> None:
        try:
            grow(log, 1)
        except OurBug as error:
            found.append(error)

    with EventLog.open(path, ORIGIN) as log:
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        assert len(found) == 1
        grow(log, 1)
        assert log.position == 1


class Interrupted(BaseException):
    pass


class Interrupting:
    """A request body that breaks in when it is bound: the events are inserted by then."""

    def __conform__(self, protocol: object) -> None:
        raise Interrupted


def test_an_interruption_in_mid_append_stores_nothing(path: Path) -> None:
    with EventLog.open(path, ORIGIN) as log:
        grow(log, 1)
        entries = [pending(2, cause="anna/t-1")]
        with pytest.raises(Interrupted):
            log.append(1, entries, ("anna/t-1", cast("bytes", Interrupting())))
        assert [event.position for event in log.read()] == [1]
        grow(log, 1, "anna/t-1")
        assert log.recorded("anna/t-1") is not None
    with EventLog.open(path, ORIGIN) as log:
        assert log.position == 2


@pytest.mark.parametrize("origin", ["", "t1", "a/b/c", "Sydney/t1", "sydney/", "sydney/t1\n"])
def test_an_origin_that_is_no_site_and_table_is_refused(path: Path, origin: str) -> None:
    with pytest.raises(InputError, match="<site>/<table>"):
        EventLog.open(path, origin)
    assert not path.parent.exists()


def test_a_path_below_a_file_or_at_a_folder_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    before = contents(tmp_path)
    for path in (tmp_path / "file" / NAME, tmp_path / "file" / "data" / NAME, tmp_path):
        with pytest.raises(InputError) as refused:
            EventLog.open(path, ORIGIN)
        assert str(path) in str(refused.value)
        assert "\n" not in str(refused.value)
    assert contents(tmp_path) == before


def test_the_same_events_make_the_same_head_in_every_log(tmp_path: Path) -> None:
    heads = []
    for name, sizes in (("one", [6]), ("two", [1, 2, 3])):
        with EventLog.open(tmp_path / name / NAME, ORIGIN) as log:
            for size in sizes:
                log.append(log.position, [pending(log.position + 1 + i) for i in range(size)])
            heads.append(log.head)
            hashes = [event.hash for event in log.read()]
            assert all(one != other for one, other in pairwise(hashes))
    assert heads[0] == heads[1]


def test_a_creation_that_was_cut_off_is_begun_anew(path: Path) -> None:
    path.parent.mkdir(parents=True)
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(f"{NAME}.new{suffix}").write_bytes(b"half a log")
    with EventLog.open(path, ORIGIN) as log:
        log.append(0, [pending(1, AlarmCleared(alarm="x"))])
    assert sorted(contents(path.parent)) == [NAME, f"{NAME}.lock"]
