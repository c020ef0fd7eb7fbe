"""A log goes on in a new file, and everything that reads it follows; what is wrong is found."""

import json
import os
import random
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from baccarat.cli.main import main
from baccarat.history.evidence_from_log import gather
from events.clock import rfc3339
from events.commands import EndShoe
from events.errors import LogRefused, LogUnwritable, OurBug
from events.log.idempotency_index import index_of
from events.log.packing import convert
from events.log.reader import reading
from events.log.segments import archive_folder, find_segments, segment_name, segments_in
from events.log.store import EventLog
from events.log.verify import parse_kept_checkpoints, verify
from events.log.verify_in_parts import verify_in_parts
from events.mqtt.topics import Topics
from events.proof.chain import next_hash
from events.proof.merkle import root_of
from events.types import (
    AcceptedRequest,
    AlarmRaised,
    Pending,
    decode_data,
    decode_envelope,
    encode_envelope,
)
from table_core.evidence.bundle import verify_evidence
from table_core.fold.corrections import find_past_coup
from table_core.fold.dispatch import fold_all
from table_core.process.coup_recall import recall_coup
from table_core.process.options import RotationPolicy
from table_core.service.snapshots import inspect_log, snapshot_path
from table_core.service.table import Table
from table_core.state.table import TableState
from tests.support.clock import FakeClock
from tests.support.log.closed_books import (
    SITE_T1,
    Chain,
    base_of,
    chain,
    events_of,
    table_on,
    writable,
)
from tests.support.log.logs import AT, NAME, forging, grow
from tests.support.table.evidence import KEY, OTHER_KEY, signed_table
from tests.support.table.money_game import BOOKS, Game, random_coup

RULEBOOK = BOOKS["au-commission"]()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chain")
    chain(folder, RULEBOOK, 34)
    return folder


@pytest.fixture
def log(template: Path, tmp_path: Path) -> Chain:
    folder = tmp_path / "data"
    shutil.copytree(template, folder)
    path = folder / "table.sqlite"
    with reading(path) as reader:
        return Chain(path, segments_in(archive_folder(path), SITE_T1), tuple(reader.bare()))


def test_a_chain_of_files_is_the_log_that_one_file_would_be(log: Chain, tmp_path: Path) -> None:
    whole = chain(tmp_path / "whole", RULEBOOK, 34, turn=False)
    assert whole.files == ()
    assert log.rows == whole.rows
    assert events_of(log.path) == whole.rows
    assert verify(log.path) == verify(whole.path)
    assert verify(log.path).root == root_of([row[1] for row in whole.rows]).hex()
    assert inspect_log(log.path) is None


def test_files_overlap_in_their_books_and_are_read_only(log: Chain) -> None:
    first, second = log.files
    assert (first.first, second.last) == (1, base_of(log.path))
    assert first.last == second.first
    for file in log.files:
        assert file.path.name == segment_name(SITE_T1, file.first, file.last)
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o400
        with closing(sqlite3.connect(f"{file.path.as_uri()}?immutable=1", uri=True)) as db:
            (kind,) = db.execute(
                "SELECT type FROM event WHERE position = ?", (file.last,)
            ).fetchone()
        assert kind == "books_closed"


def test_any_stretch_can_be_read_across_files(log: Chain) -> None:
    seams = [log.files[0].last, log.files[1].last]
    with EventLog.open(log.path, SITE_T1) as opened:
        for start in (1, *seams, *[seam - 1 for seam in seams], *[seam + 1 for seam in seams]):
            for limit in (1, 2, 3, len(log.rows)):
                got = [
                    (each.position, each.stored, each.hash) for each in opened.read(start, limit)
                ]
                assert got == list(log.rows[start - 1 : start - 1 + limit])


def test_reading_goes_on_though_a_new_file_begins_meanwhile(tmp_path: Path) -> None:
    made = chain(tmp_path, RULEBOOK, 3, shoes=1)
    with EventLog.open(made.path, SITE_T1) as opened:
        read = opened.read()
        seen = [next(read).position]
        assert opened.new_file() is not None
        seen += [each.position for each in read]
    assert seen == [row[0] for row in made.rows]


def test_the_table_comes_up_without_its_snapshot_from_the_closed_files(log: Chain) -> None:
    events = [decode_data(decode_envelope(row[1])) for row in log.rows]
    snapshot_path(log.path).unlink()
    with EventLog.open(log.path, SITE_T1) as opened:
        assert table_on(opened, RULEBOOK).state == fold_all(TableState(), events)


def test_a_coup_in_a_closed_file_is_recalled(log: Chain) -> None:
    coup = next(
        envelope.correlation
        for row in log.rows
        if (envelope := decode_envelope(row[1])).type == "coup_settled"
    )
    with EventLog.open(log.path, SITE_T1) as opened:
        found = recall_coup(opened.read, opened.position, coup)
    assert found is not None
    assert find_past_coup(found, coup) is not None


def test_a_request_in_a_closed_file_is_still_known_even_when_the_index_is_gone(
    tmp_path: Path,
) -> None:
    path = _with_requests(tmp_path)
    index = index_of(archive_folder(path), SITE_T1)
    for damage in (
        lambda: None,
        index.unlink,
        lambda: index.write_bytes(b"no database"),
        lambda: list(convert(path, pack=True)),
        index.unlink,
        lambda: list(convert(path, pack=False)),
    ):
        damage()
        with EventLog.open(path, SITE_T1) as opened:
            assert opened.base > 1
            assert opened.recorded("anna/t-1") == AcceptedRequest(b'{"transaction":"x"}', 2)
            assert opened.recorded("anna/t-9") is None
    _lose_a_request(path)
    with EventLog.open(path, SITE_T1) as opened, pytest.raises(LogRefused, match="anna/t-1"):
        opened.recorded("anna/t-1")


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize(
    "forgery",
    [
        "DELETE FROM request WHERE transaction_id = 'anna/t-1'",
        "UPDATE request SET position = position + 1 WHERE transaction_id = 'anna/t-1'",
        "UPDATE request SET transaction_id = 'anna/t-9' WHERE transaction_id = 'anna/t-1'",
        "INSERT INTO request VALUES ('anna/t-9', 1)",
        "INSERT INTO request VALUES ('anna/t-9', 'never')",
        "UPDATE request SET position = CAST(x'ff' AS TEXT) WHERE transaction_id = 'anna/t-1'",
        "UPDATE until SET position = 'never'",
        "UPDATE until SET position = CAST(x'ff' AS TEXT)",
        "DELETE FROM until",
    ],
)
def test_an_index_that_forgets_or_invents_a_request_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgery: str, *, pack: bool
) -> None:
    """The table would carry a repeated request out again, or answer one that it never had."""
    path = _with_requests(tmp_path)
    if pack:
        list(convert(path, pack=True))
    EventLog.open(path, SITE_T1).close()
    assert verify(path).ok
    assert verify_in_parts(path, 2) == verify(path)
    index = index_of(archive_folder(path), SITE_T1)
    with closing(sqlite3.connect(index, isolation_level=None)) as db:
        db.execute(forgery)
    monkeypatch.chdir(tmp_path)
    for archive in (archive_folder(path), archive_folder(path).relative_to(tmp_path)):
        told = verify(path, archive=archive)
        assert not told.ok
        assert str(told.reason).startswith(index.name)
        assert verify_in_parts(path, 2, archive=archive) is None
    index.unlink()  # as the message says
    EventLog.open(path, SITE_T1).close()
    assert verify(path).ok


def test_cursors_session_and_newest_checkpoint_go_on(tmp_path: Path) -> None:
    path = chain(tmp_path, RULEBOOK, 5, shoes=1).path
    with EventLog.open(path, SITE_T1) as opened:
        opened.move_cursor("cage", 3)
        session = opened.next_session()
        closed = opened.new_file()
        assert closed is not None
        assert opened.new_file() is None  # nothing in it yet
        assert opened.cursor("cage") == 3
        assert opened.next_session() == session + 1


def test_a_log_whose_newest_file_holds_its_books_alone_is_told_alike_in_parts(
    tmp_path: Path,
) -> None:
    path = chain(tmp_path, RULEBOOK, 5, shoes=1).path
    with EventLog.open(path, SITE_T1) as opened:
        assert opened.new_file() is not None
    told = verify(path)
    assert told.newest
    assert verify_in_parts(path, 2) == told


def test_only_behind_books_a_new_file_begins(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    with EventLog.open(path, "sydney/t1") as opened:
        assert opened.new_file() is None
        grow(opened, 2)
        with pytest.raises(OurBug, match="begins with books"):
            opened.new_file()
    assert not archive_folder(path).exists()


def test_a_new_file_takes_only_what_comes_next(log: Chain) -> None:
    with closing(sqlite3.connect(log.path, isolation_level=None)) as db:
        (last,) = db.execute("SELECT max(position) FROM event").fetchone()
        for position in (1, last, last + 2):
            with pytest.raises(sqlite3.IntegrityError):
                db.execute("INSERT INTO event VALUES (?, 'x', 1, 'x', x'00', x'00')", (position,))


def test_a_reader_of_the_file_is_waited_for(tmp_path: Path) -> None:
    path = chain(tmp_path, RULEBOOK, 5, shoes=1).path
    with EventLog.open(path, SITE_T1) as opened:
        opened.move_cursor("cage", 1)
        with reading(path) as reader:
            opened.move_cursor("cage", 2)
            assert opened.new_file() is None
            assert len(list(reader.read())) == opened.position
        assert opened.base == 1
        assert opened.new_file() is not None
        with reading(path) as reader:
            assert len(list(reader.read())) == opened.position


def test_a_file_that_is_in_the_way_is_not_replaced(tmp_path: Path) -> None:
    path = chain(tmp_path, RULEBOOK, 5, shoes=1).path
    with EventLog.open(path, SITE_T1) as opened:
        there = archive_folder(path) / segment_name(SITE_T1, 1, opened.position)
        there.parent.mkdir()
        there.write_bytes(b"mine")
        with pytest.raises(LogRefused, match="is there already"):
            opened.new_file()
        assert there.read_bytes() == b"mine"
        assert (opened.base, opened.closed) == (1, False)


def test_a_disk_without_second_names_keeps_the_file_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = chain(tmp_path, RULEBOOK, 5, shoes=1).path

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    with EventLog.open(path, SITE_T1) as opened:
        count = opened.position
        monkeypatch.setattr("events.log.rotation.os.link", refuse)
        with pytest.raises(LogUnwritable, match="not permitted"):
            opened.new_file()
        monkeypatch.undo()
        assert not opened.closed
        opened.move_cursor("cage", 4)
        assert opened.base == 1
    assert verify(path).events == count


def test_a_log_that_is_missing_does_not_begin_anew_beside_its_closed_files(log: Chain) -> None:
    log.path.unlink()
    with pytest.raises(LogRefused, match="is a closed file of it"):
        EventLog.open(log.path, SITE_T1)
    assert not log.path.exists()


def _missing(log: Chain) -> int:
    log.files[0].path.unlink()
    return 1


def _missing_between(log: Chain) -> int:
    log.files[1].path.unlink()
    return log.files[0].last + 1


def _changed(log: Chain) -> int:
    position = log.files[0].first + 3
    with forging(writable(log.files[0])) as db:
        db.execute(
            "UPDATE event SET bytes = CAST(bytes || ' ' AS BLOB) WHERE position = ?", (position,)
        )
    return position


def _changed_and_hashed(log: Chain) -> int:
    """A thorough forger: the first file's chain is made anew behind the change."""
    first = log.files[0]
    with forging(writable(first)) as db:
        rows = db.execute("SELECT position, bytes, hash FROM event ORDER BY position").fetchall()
        head = rows[2][2]
        for position, before, _ in rows[3:]:
            stored = before.replace(b'"actor":"shoe"', b'"actor":"core"')
            head = next_hash(head, stored)
            db.execute(
                "UPDATE event SET bytes = ?, hash = ? WHERE position = ?", (stored, head, position)
            )
    return first.last


def _swapped(log: Chain) -> int:
    first, second = (writable(each) for each in log.files)
    aside = first.with_name("aside")
    first.rename(aside)
    second.rename(first)
    aside.rename(second)
    return log.files[0].first


def _cut(log: Chain) -> int:
    last = log.files[1].last
    with forging(writable(log.files[1])) as db:
        db.execute("DELETE FROM event WHERE position = ?", (last,))
    return last


def _foreign(log: Chain) -> int:
    """The archive of another game at a table of the same name."""
    other = chain(log.path.parent / "other", RULEBOOK, 35)
    shutil.copyfile(other.files[0].path, writable(log.files[0]))
    return 1


def _of_another_table(log: Chain) -> int:
    with closing(sqlite3.connect(writable(log.files[0]), isolation_level=None)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        for name, _ in (found := triggers.fetchall()):
            db.execute(f"DROP TRIGGER {name}")
        db.execute("UPDATE meta SET value = 'site/t2' WHERE name = 'origin'")
        for _, sql in found:
            db.execute(sql)
    return 1


def _byte(log: Chain) -> int:
    """One byte of a stored event, as a bad disk changes it."""
    file = writable(log.files[1])
    stored = log.rows[log.files[1].first + 2][1]
    data = file.read_bytes()
    at = data.index(stored)
    file.write_bytes(data[: at + 9] + bytes([data[at + 9] ^ 1]) + data[at + 10 :])
    return log.files[1].first + 3


@pytest.mark.parametrize(
    "tamper",
    [
        _missing,
        _missing_between,
        _changed,
        _changed_and_hashed,
        _swapped,
        _cut,
        _of_another_table,
        _byte,
    ],
)
def test_what_is_wrong_in_the_archive_is_found_where_it_is(
    log: Chain, tamper: Callable[[Chain], int]
) -> None:
    position = tamper(log)
    verdict = verify(log.path)
    assert not verdict.ok
    assert verdict.first_bad == position, verdict
    said = inspect_log(log.path)
    assert said is not None
    assert said.startswith(f"position {position}: ")
    alone = verify(log.path, alone=True)
    assert (alone.ok, alone.base) == (True, base_of(log.path))


def test_another_games_file_does_not_fit(log: Chain) -> None:
    _foreign(log)
    verdict = verify(log.path)
    assert not verdict.ok
    assert log.files[0].path.name in str(verdict.reason)


@pytest.mark.parametrize("tamper", [_changed, _byte, _missing, _swapped])
def test_no_reader_takes_what_is_wrong(log: Chain, tamper: Callable[[Chain], int]) -> None:
    tamper(log)
    with pytest.raises(LogRefused), reading(log.path) as reader:
        list(reader.read())
    with pytest.raises(LogRefused), EventLog.open(log.path, SITE_T1) as opened:
        list(opened.read())


def test_events_cut_off_before_books_do_not_pass_for_a_closed_file(tmp_path: Path) -> None:
    made = chain(tmp_path, RULEBOOK, 8, shoes=2, turn=False)
    books = [p for p, stored, _ in made.rows if b'"type":"books_closed"' in stored]
    with forging(made.path) as db:
        db.execute("DELETE FROM event WHERE position < ?", (books[0],))
    verdict = verify(made.path)
    assert (verdict.ok, verdict.first_bad) == (False, 1)
    with pytest.raises(LogRefused, match="is missing"):
        EventLog.open(made.path, SITE_T1)


def test_the_closed_files_may_lie_elsewhere_for_the_verifier(log: Chain, tmp_path: Path) -> None:
    elsewhere = tmp_path / "vault"
    archive_folder(log.path).rename(elsewhere)
    assert verify(log.path).first_bad == 1
    assert verify(log.path, archive=elsewhere).ok


def test_a_closed_file_can_be_verified_with_those_before_it(log: Chain) -> None:
    verdict = verify(log.files[1].path)
    assert (verdict.ok, verdict.events) == (True, log.files[1].last)


def test_two_files_that_end_alike_are_refused(log: Chain) -> None:
    first = log.files[0]
    double = first.path.with_name(segment_name(SITE_T1, first.last - 2, first.last))
    os.link(first.path, double)
    with pytest.raises(LogRefused, match="both end at"):
        find_segments(archive_folder(log.path), SITE_T1, base_of(log.path))


def _with_requests(folder: Path) -> Path:
    """A log whose first, closed file holds requests."""
    path = folder / "table.sqlite"
    with EventLog.open(path, SITE_T1) as opened:
        for number in range(1, 4):
            _ask(opened, f"anna/t-{number}")
        table = table_on(opened, RULEBOOK)
        table.writer._owed = "20261127-01"  # as behind a shoe's end
        table.close_books()
        assert opened.new_file() is not None
        _ask(opened, "anna/t-4")
    return path


def _ask(opened: EventLog, cause: str) -> None:
    first, entries = opened.position + 1, []
    for index in range(2):
        event = AlarmRaised(alarm=f"a{index}", text="test")
        stored = encode_envelope(
            event, index=index, stream=SITE_T1, position=first + index, at=AT,
            actor="anna", cause=cause, correlation="",
        )  # fmt: skip
        entries.append(Pending(event.TYPE, event.VERSION, AT, stored))
    opened.append(opened.position, entries, (cause, b'{"transaction":"x"}'))


def _lose_a_request(path: Path) -> None:
    (file,) = segments_in(archive_folder(path), SITE_T1)
    with forging(writable(file)) as db:
        db.execute("DELETE FROM request WHERE transaction_id = 'anna/t-1'")


RULEBOOK = BOOKS["au-commission"]()
SITE, TABLE = SITE_T1.split("/")
DAY_NS = 24 * 60 * 60 * 1_000_000_000
LATE = 1_795_823_999_000_000_000  # 2026-11-27, one second before midnight, UTC
SECOND_NS = 1_000_000_000


class Days:
    """Shoes of one coup, each ended when the clock says; the same table all along."""

    def __init__(self, folder: Path, when: RotationPolicy = "day") -> None:
        self.path = folder / NAME
        self.clock = FakeClock(LATE, now_us=0)
        self.when = when
        self._rng, self._game = random.Random(34), Game(RULEBOOK, 34)
        self._heard = 1  # the table adopts its rulebook itself
        self.log, self.table = self._open()

    def _open(self) -> tuple[EventLog, Table]:
        log = EventLog.open(self.path, SITE_T1)
        table = Table(log, Topics(SITE, TABLE), RULEBOOK, self.clock, roles={})
        table.writer.configure_rotation(self.when)
        return log, table

    def again(self) -> None:
        """The process ends, and another opens the log."""
        self.log.close()
        self.log, self.table = self._open()

    def shoe(self, at: int) -> int:
        """Play a shoe to its end; in how many closed files the log is then."""
        self.clock.epoch_ns = at
        world = self._game.world
        self._game.play(random_coup(self._rng))
        if not self._game.table.over:
            world.must(EndShoe(transaction=self._game.t(), reason="short"))
        self.table.perform(
            self.table.writer._append(
                world.log[self._heard :], actor="core", cause=f"core/shoe/{at}"
            )
        )
        self.table.close_books()
        (books,) = self.log.read(self.log.position, 1)
        world.take([decode_data(decode_envelope(books.stored))])
        self._heard = len(world.log)
        assert world.state == self.table.state
        return len(self.files)

    @property
    def files(self) -> tuple[tuple[int, int], ...]:
        """First and last position of each closed file."""
        return tuple(
            (file.first, file.last) for file in segments_in(archive_folder(self.path), SITE_T1)
        )


@pytest.fixture
def days(tmp_path: Path) -> Days:
    return Days(tmp_path)


def test_a_new_file_begins_behind_the_first_shoe_of_a_later_day_and_no_other(days: Days) -> None:
    assert rfc3339(LATE).startswith("2026-11-27T23:59:59")
    assert days.shoe(LATE - 3600 * SECOND_NS) == 0
    assert days.shoe(LATE) == 0
    assert days.shoe(LATE + SECOND_NS) == 1  # it ends at midnight to the second: another day
    assert days.shoe(LATE + 5 * 3600 * SECOND_NS) == 1
    assert days.shoe(LATE + DAY_NS) == 1  # 23:59:59 of the second day
    assert days.shoe(LATE + DAY_NS + SECOND_NS) == 2
    assert days.shoe(LATE + 9 * DAY_NS) == 3  # a table that stood still for a week
    first, second, third = days.files
    assert first[0] == 1
    assert (second[0], third[0]) == (first[1], second[1])
    assert base_of(days.path) == third[1] == days.log.position
    days.log.close()
    assert verify(days.path).ok
    assert inspect_log(days.path) is None


def test_the_day_is_that_on_which_the_file_begins_also_after_a_restart(days: Days) -> None:
    days.shoe(LATE)
    days.again()
    assert days.shoe(LATE) == 0
    days.again()
    assert days.shoe(LATE + SECOND_NS) == 1
    days.again()
    assert days.shoe(LATE + 2 * SECOND_NS) == 1
    days.log.close()


def test_a_clock_that_goes_back_a_day_makes_no_file(days: Days) -> None:
    assert days.shoe(LATE + SECOND_NS) == 1
    assert days.shoe(LATE) == 1
    assert days.shoe(LATE + SECOND_NS) == 1
    days.log.close()


def test_nothing_happens_where_files_are_never_closed(tmp_path: Path) -> None:
    days = Days(tmp_path, "never")
    assert days.shoe(LATE) == 0
    assert days.shoe(LATE + 3 * DAY_NS) == 0
    assert isinstance(days.table.state, TableState)
    days.log.close()


class Signed(NamedTuple):
    """A log in two files; checkpoints that somebody kept of the first, and of the second."""

    path: Path
    kept: tuple[bytes, bytes]
    coup: str
    events: int


@pytest.fixture(params=["plain", "packed"])
def signed(request: pytest.FixtureRequest, tmp_path: Path) -> Signed:
    path = tmp_path / "data" / "table.sqlite"
    with signed_table(path) as table:
        table.ready()
        coup = table.coup()
        old = table.checkpoints.newest
        table.ask("dealer", EndShoe(transaction=table.transaction(), reason="done"))
        table.table.close_books()
        table.table.make_due_checkpoint()
        assert table.log.new_file() is not None
    with signed_table(path, key=OTHER_KEY, retiring=KEY) as table:  # the keys change, too
        table.ready("20261127-02")
        table.coup()
        new = table.checkpoints.newest
        count = table.log.position
    assert old is not None
    assert new is not None
    if request.param == "packed":
        assert len(list(convert(path, pack=True))) == 1
    return Signed(path, (old, new), coup, count)


def test_checkpoints_of_all_files_agree_and_the_one_carried_on_counts_once(signed: Signed) -> None:
    verdict = verify(signed.path)
    assert (verdict.ok, verdict.events) == (True, signed.events), verdict
    with reading(signed.path) as reader:
        sizes = [size for size, _ in reader.checkpoints()]
    assert sizes == sorted(set(sizes))
    assert verdict.checkpoints == len(sizes)
    held = [each for note in signed.kept for each in parse_kept_checkpoints("kept", note)]
    assert verify(signed.path, held=held, keys={KEY.verifier}).ok


def test_a_checkpoint_made_just_behind_the_seam_is_of_the_file_before(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    with signed_table(path) as table:
        table.ready()
        table.coup()
        table.ask("dealer", EndShoe(transaction=table.transaction(), reason="done"))
        table.table.close_books()
        assert table.log.new_file() is not None
        table.table.make_due_checkpoint()  # it covers the closed file, and lies in the new one
        assert table.log.newest_checkpoint() == (table.log.base, table.checkpoints.newest)
        table.ready("20261127-02")
    assert verify(path).ok, verify(path)
    assert verify(path, keys={KEY.verifier}).ok
    assert verify(path, alone=True).ok


@pytest.mark.parametrize("signed", ["plain"], indirect=True)
def test_a_checkpoint_from_elsewhere_finds_a_change_in_a_closed_file(signed: Signed) -> None:
    (held,) = parse_kept_checkpoints("kept", signed.kept[0])
    (file,) = segments_in(archive_folder(signed.path), SITE_T1)
    with forging(writable(file)) as db:
        db.execute("UPDATE event SET bytes = CAST(bytes || ' ' AS BLOB) WHERE position = 4")
    assert verify(signed.path, held=[held]).first_bad == 4


def test_a_file_alone_answers_for_what_it_holds(signed: Signed) -> None:
    (file,) = segments_in(archive_folder(signed.path), SITE_T1)
    alone = verify(signed.path, alone=True)
    assert (alone.ok, alone.base, alone.root) == (True, file.last, verify(signed.path).root)


def test_evidence_of_a_coup_in_a_closed_file_is_made_and_verified(signed: Signed) -> None:
    data = gather(signed.path, signed.coup, build="test")
    assert json.loads(data)["coup"] == signed.coup
    verdict = verify_evidence(data, frozenset({KEY.verifier, OTHER_KEY.verifier}))
    assert verdict.ok, verdict


def test_counting_goes_over_all_files(signed: Signed, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "stats", "--json", str(signed.path)]) == 0
    told = json.loads(capsys.readouterr().out)
    files = [
        signed.path,
        *(each.path for each in segments_in(archive_folder(signed.path), SITE_T1)),
    ]
    assert told["events"] == signed.events
    assert (told["shoes"], told["coups"], told["settlements"]) == (2, 2, 2)
    assert told["bytes"] == sum(each.stat().st_size for each in files)
