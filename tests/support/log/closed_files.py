"""Logs that go on in new files: whole games, a file a shoe."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from events.commands.shoe import EndShoe
from events.log.segments import Segment, archive_folder, segments_in
from events.log.store import EventLog
from events.types.envelope import decode_data, decode_envelope
from table_core.rules.rulebook import Rulebook
from tests.support.log.closed_books import ORIGIN, table_on
from tests.support.log.logs import NAME, keep
from tests.support.table.money_game import Game, random_coup

__all__ = ["Chain", "base_of", "chain", "events_of", "writable"]


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
    with EventLog.open(path, ORIGIN) as log:
        heard = 0
        for shoe in range(shoes):
            game.play(random_coup(rng))
            if not game.table.over:
                game.world.must(EndShoe(transaction=game.t(), reason="short"))
            keep(log, game.world.log[heard:])
            heard = len(game.world.log)
            table = table_on(log, rulebook)
            table.close_books()
            state = table.state
            if turn and shoe < shoes - 1:
                assert log.new_file() is not None
            (newest,) = log.read(log.position)
            game.world.take([decode_data(decode_envelope(newest.stored))])
            heard = len(game.world.log)
            assert game.world.state == state
        rows = tuple((each.position, each.stored, each.hash) for each in log.read())
    return Chain(path, segments_in(archive_folder(path), ORIGIN), rows)


def events_of(path: Path) -> tuple[tuple[int, bytes, bytes], ...]:
    """What the writer reads, from the first event on."""
    with EventLog.open(path, ORIGIN) as log:
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
