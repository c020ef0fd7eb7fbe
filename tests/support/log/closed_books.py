"""Logs of whole games whose books were closed at each shoe's end, in one file or a file a shoe."""

import random
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from structlog.testing import capture_logs

from events.commands import EndShoe
from events.log.segments import Segment, archive_folder, segments_in
from events.log.store import EventLog
from events.mqtt.process import no_probe
from events.mqtt.topics import Topics
from events.types import BooksClosed
from table_core.process.log_effects import OpenedTable
from table_core.rules.rulebook import Rulebook
from table_core.service.snapshots import restore_state
from table_core.service.table import Table
from table_core.state.table import TableState
from tests.support.clock import FakeClock
from tests.support.log.logs import NAME, event_of, events_in, keep
from tests.support.table.money_game import Game, random_coup

SITE_T1 = "site/t1"
TOPICS = Topics("site", "t1")
ROLES: Mapping[str, frozenset[str]] = {
    "dealer": frozenset({"dealer"}),
    "wagers": frozenset({"wagers"}),
}


class Closed(NamedTuple):
    """A log, and what the table that made it knew.

    Args:
        path: of the log; its snapshot lies beside it.
        state: after the newest event.
        at_books: position of each `books_closed`, and the state just before it.
        rulebook: that was played by.
    """

    path: Path
    state: TableState
    at_books: dict[int, TableState]
    rulebook: Rulebook


def table_on(log: EventLog, rulebook: Rulebook, probe: Callable[[str], None] = no_probe) -> Table:
    """The table's shell on a log."""
    return Table(log, TOPICS, rulebook, FakeClock(), roles=ROLES, probe=probe)


def closed(
    folder: Path, rulebook: Rulebook, seed: int, *, shoes: int = 2, coups: int = 3
) -> Closed:
    """Play so many shoes of so many coups, and some coups more of another shoe."""
    rng, game, at_books = random.Random(seed), Game(rulebook, seed), {}
    path = folder / NAME
    with EventLog.open(path, SITE_T1) as log:
        heard = 0
        for shoe in range(shoes + 1):
            for _ in range(coups):
                game.play(random_coup(rng))
            if shoe < shoes:
                _end(game)
            keep(log, game.world.log[heard:])
            if shoe < shoes:
                table_on(log, rulebook).close_books()
                at_books[log.position] = game.world.state
                game.world.take([event_of(each) for each in log.read(log.position)])
            heard = len(game.world.log)
    return Closed(path, game.world.state, at_books, rulebook)


def _end(game: Game) -> None:
    if not game.table.over:
        game.world.must(EndShoe(transaction=game.t(), reason="the test's shoes are short"))


def newest_books(made: Closed) -> int:
    return max(made.at_books)


def books_of(path: Path, position: int) -> BooksClosed:
    event = events_in(path)[position - 1]
    assert isinstance(event, BooksClosed)
    return event


def opened(made: Closed) -> tuple[OpenedTable, list[str], int]:
    """What opening finds, the names of what it logged, and how many events it folded."""
    with EventLog.open(made.path, SITE_T1) as log, capture_logs() as logs:
        folded = 0

        class Counting:
            path, origin, anchor = log.path, log.origin, log.anchor

            def read(self, start: int = 1, limit: int | None = None) -> Any:
                nonlocal folded
                found = list(log.read(start, limit))
                folded += len(found) if limit is None else 0
                return iter(found)

        found = restore_state(Counting())  # type: ignore[arg-type]  # a log that counts what is read
    return found, [entry["event"] for entry in logs], folded


class Chain(NamedTuple):
    """A log in several files, and its stored events as one file would have them."""

    path: Path
    files: tuple[Segment, ...]
    rows: tuple[tuple[int, bytes, bytes], ...]


def chain(
    folder: Path, rulebook: Rulebook, seed: int, *, shoes: int = 3, turn: bool = True
) -> Chain:
    """Play so many shoes of one coup; behind each but the last, a new file begins."""
    rng, game = random.Random(seed), Game(rulebook, seed)
    path = folder / NAME
    with EventLog.open(path, SITE_T1) as log:
        heard = 0
        for shoe in range(shoes):
            game.play(random_coup(rng))
            _end(game)
            keep(log, game.world.log[heard:])
            table = table_on(log, rulebook)
            table.close_books()
            state = table.state
            if turn and shoe < shoes - 1:
                assert log.new_file() is not None
            game.world.take([event_of(each) for each in log.read(log.position)])
            heard = len(game.world.log)
            assert game.world.state == state
        rows = tuple((each.position, each.stored, each.hash) for each in log.read())
    return Chain(path, segments_in(archive_folder(path), SITE_T1), rows)


def events_of(path: Path) -> tuple[tuple[int, bytes, bytes], ...]:
    """What the writer reads, from the first event on."""
    with EventLog.open(path, SITE_T1) as log:
        return tuple((each.position, each.stored, each.hash) for each in log.read())


def writable(file: Segment) -> Path:
    """A closed file that somebody has laid hands on."""
    file.path.chmod(0o644)
    return file.path


def base_of(path: Path) -> int:
    """The first position of a log's newest file."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        (base,) = db.execute("SELECT min(position) FROM event").fetchone()
    return int(base)
