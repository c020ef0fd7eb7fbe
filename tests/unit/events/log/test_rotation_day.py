"""`new_file = "day"`: the log goes on in a new file behind the first shoe of a later day, UTC."""

import random
from pathlib import Path

import pytest
from msgspec import Struct

from events.clock import rfc3339
from events.commands.shoe import EndShoe
from events.log.segments import archive_folder, segments_in
from events.log.store import EventLog
from events.log.verify import verify
from events.mqtt.topics import Topics
from events.types.envelope import decode_data, decode_envelope
from table_core.service.options import RotationPolicy
from table_core.service.snapshots import inspect_log
from table_core.service.table_writer import Table
from table_core.state.table import TableState
from tests.support.log.closed_books import ORIGIN, base_of
from tests.support.log.logs import NAME
from tests.support.table.money_game import BOOKS, Game, random_coup

RULEBOOK = BOOKS["au-commission"]()
SITE, TABLE = ORIGIN.split("/")
DAY_NS = 24 * 60 * 60 * 1_000_000_000
LATE = 1_795_823_999_000_000_000  # 2026-11-27, one second before midnight, UTC
SECOND_NS = 1_000_000_000


class Clock(Struct):
    """A clock that somebody sets."""

    now: int

    def utc_ns(self) -> int:
        return self.now

    def mono_us(self) -> int:
        return 0


class Days:
    """Shoes of one coup, each ended when the clock says; the same table all along."""

    def __init__(self, folder: Path, when: RotationPolicy = "day") -> None:
        self.path = folder / NAME
        self.clock = Clock(LATE)
        self.when = when
        self._rng, self._game = random.Random(34), Game(RULEBOOK, 34)
        self._heard = 1  # the table adopts its rulebook itself
        self.log, self.table = self._open()

    def _open(self) -> tuple[EventLog, Table]:
        log = EventLog.open(self.path, ORIGIN)
        table = Table(log, Topics(SITE, TABLE), RULEBOOK, self.clock, roles={})
        table.configure_rotation(self.when)
        return log, table

    def again(self) -> None:
        """The process ends, and another opens the log."""
        self.log.close()
        self.log, self.table = self._open()

    def shoe(self, at: int) -> int:
        """Play a shoe to its end; in how many closed files the log is then."""
        self.clock.now = at
        world = self._game.world
        self._game.play(random_coup(self._rng))
        if not self._game.table.over:
            world.must(EndShoe(transaction=self._game.t(), reason="short"))
        self.table._append(world.log[self._heard :], actor="core", cause=f"core/shoe/{at}")
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
            (file.first, file.last) for file in segments_in(archive_folder(self.path), ORIGIN)
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
