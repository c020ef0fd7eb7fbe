"""Logs of whole games whose books were closed at each shoe's end, by the table's own shell."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from events.books import BooksClosed
from events.codec import decode_data, decode_envelope
from events.commands import EndShoe
from events.log import EventLog
from events.topics import Topics
from table_core.rulebook import Rulebook
from table_core.shell.table import Table
from table_core.state import TableState
from tests.support.logs import NAME, keep
from tests.support.money_game import Game, random_coup

__all__ = ["ORIGIN", "TOPICS", "Closed", "StoppedClock", "closed", "table_on"]

ORIGIN = "site/t1"
TOPICS = Topics("site", "t1")
ROLES: Mapping[str, frozenset[str]] = {
    "dealer": frozenset({"dealer"}),
    "wagers": frozenset({"wagers"}),
}


class StoppedClock:
    """The same moment for ever."""

    def utc_ns(self) -> int:
        return 1_795_815_607_123_456_789

    def mono_us(self) -> int:
        return 1_000


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


def table_on(log: EventLog, rulebook: Rulebook) -> Table:
    """The table's shell on a log."""
    return Table(log, TOPICS, rulebook, StoppedClock(), roles=ROLES)


def closed(
    folder: Path, rulebook: Rulebook, seed: int, *, shoes: int = 2, coups: int = 3
) -> Closed:
    """Play so many shoes of so many coups, and some coups more of another shoe."""
    rng, game, at_books = random.Random(seed), Game(rulebook, seed), {}
    path = folder / NAME
    with EventLog.open(path, ORIGIN) as log:
        heard = 0
        for shoe in range(shoes + 1):
            for _ in range(coups):
                game.play(random_coup(rng))
            if shoe < shoes:
                _end(game)
            keep(log, game.world.log[heard:])
            heard = len(game.world.log)
            if shoe < shoes:
                table_on(log, rulebook).close_books()
                at_books[log.position] = game.world.state
                game.world.take(_newest(log))
                heard = len(game.world.log)
    return Closed(path, game.world.state, at_books, rulebook)


def _end(game: Game) -> None:
    if not game.table.over:
        game.world.must(EndShoe(transaction=game.t(), reason="the test's shoes are short"))


def _newest(log: EventLog) -> list[BooksClosed]:
    (stored,) = log.read(log.position)
    event = decode_data(decode_envelope(stored.stored))
    assert isinstance(event, BooksClosed)
    return [event]
