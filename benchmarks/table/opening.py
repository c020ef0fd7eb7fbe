"""Measure how long a table with a long log takes to open: many shoes, opened again and again.

The log repeats one shoe that the product's own table plays, under other names. A snapshot anchor
follows each shoe, and the last shoe is still in play. Product: open the log, check it from its
newest anchor on, and fold it from the snapshot to the newest event, as a start does. Floor: open
the file with SQLite alone, read the snapshot's bytes and the same rows, and do nothing with them.
They take turns, all in this process; the file is in the page cache for both.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import date, timedelta
from itertools import count, groupby
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.instruments.figures import Figure, percentiles, seconds_of, side_by_side
from benchmarks.rows import BenchOptions
from benchmarks.table.coups import BenchTable
from events.cards import Hand, parse_card
from events.commands import CloseBetting, LoadShoe, OpenBetting, PlaceWager, WagerRequest
from events.errors import OurBug
from events.log.schema import OWN_ACTORS
from events.log.store import EventLog
from events.proof.chain import next_hash, origin_hash
from events.proof.merkle import MerkleTree
from events.types import (
    CardDrawn,
    DeviceResult,
    Envelope,
    ShoeEnded,
    TableEvent,
    decode_data,
    decode_envelope,
    encode_envelope,
    event_id,
)
from table_core.fold.dispatch import fold
from table_core.fold.snapshot import encode_state, snapshot_anchor
from table_core.service.snapshots import restore_state, snapshot_path, store_snapshot
from table_core.state.table import TableState

__all__ = ["EVENTS", "OPENS", "make_log", "measure", "opening"]

EVENTS: Final = 1_000_000
"""Events of the log, unless the command line says otherwise."""

OPENS: Final = 30
"""Samples of product and floor each."""

# The house's goal for a log of a million events.
_MOST_MS: Final = 1_000.0
_ORIGIN: Final = "bench/t1"
_SHOE: Final = "20200101-01"
_FIRST_DAY: Final = date(2020, 1, 1)
_SHOES_A_DAY: Final = 10
_COUPS: Final = 60
_SEATS: Final = range(1, 8)
_SUITS: Final = "SHDC"
# Player, Banker, Player, Banker.
_FACES: Final = ("92K3", "94QA", "85JT", "762K")
_PLACES: Final = ((Hand.PLAYER, 1), (Hand.BANKER, 1), (Hand.PLAYER, 2), (Hand.BANKER, 2))
_AT: Final = "2020-01-01T00:00:00.000000000Z"
_MS: Final = 1_000


def measure(options: BenchOptions) -> list[Figure]:
    """Measure the row `open`."""
    events = options.events or EVENTS
    with options.folder() as folder, options.progress("events", events) as advance:
        return [opening(folder, events, min(options.samples, OPENS), advance)]


def opening(folder: Path, events: int, opens: int, advance: Callable[[int], object]) -> Figure:
    """Return the figure `open`.

    Args:
        folder: for the log.
        events: of it, at least.
        opens: samples of product and floor each.
        advance: called with the number of events while the log is made.
    """
    path = folder / "table.sqlite"
    made, behind = make_log(path, events, advance)
    product, floor = [], []
    for _ in range(opens):
        floor.append(seconds_of(lambda: _bare(path, made - behind)) * _MS)
        product.append(seconds_of(lambda: _open(path, made)) * _MS)
    p50, p99 = percentiles(product)
    floor_p50, floor_p99 = percentiles(floor)
    size = path.stat().st_size
    return Figure(
        **side_by_side((p50, p99), (floor_p50, floor_p99), digits=1, floor_digits=2),
        name="open",
        unit="ms",
        samples=opens,
        goal=f"p99 <= {_MOST_MS:g} ms for a log of a million events",
        met=p99 <= _MOST_MS,
        detail={
            "events": float(made),
            "behind_the_books": float(behind),
            "megabytes": round(size / 1_000_000, 1),
            "load": round(os.getloadavg()[0], 2),
        },
    )


def make_log(path: Path, events: int, advance: Callable[[int], object]) -> tuple[int, int]:
    """Make a log of at least so many events; return their number, and that after the anchor."""
    shoe = _one_shoe(path.with_name("one.sqlite"))
    EventLog.open(path, _ORIGIN).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous=OFF")  # no money depends on this log
        writer = _Writer(db)
        for number in count():
            name = _shoe_name(number).encode()
            for group in shoe:
                writer.add([stored.replace(_SHOE.encode(), name) for stored in group])
            advance(min(writer.position, events))
            if number and writer.position >= events:  # after one shoe's anchor, at least
                break
            writer.end_shoe(_shoe_name(number), path)
    return writer.position, writer.position - writer.books


class _Writer:
    """Writes events into a log as its own writer would, except for the disk: a commit a shoe."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.position, self.books = 0, 0
        self._db = db
        self._head, self._tree, self._state = origin_hash(_ORIGIN), MerkleTree(), TableState()

    def add(self, group: list[bytes]) -> None:
        """Add the events of one cause, and the request that caused them, if any."""
        self._db.execute("BEGIN")
        for index, stored in enumerate(group):
            told = decode_envelope(stored)
            envelope = msgspec.structs.replace(
                told, position=self.position + 1, event_id=event_id(told.cause, index)
            )
            self._append(envelope, msgspec.json.encode(envelope))
        if envelope.actor not in OWN_ACTORS:
            asked = (envelope.cause, b"{}", self.position)
            self._db.execute("INSERT INTO request VALUES (?, ?, ?)", asked)
        self._db.execute("COMMIT")

    def end_shoe(self, shoe: str, log: Path) -> None:
        """Add the shoe's end, and its snapshot anchor."""
        self._own(ShoeEnded(shoe=shoe, reason="bench"))
        encoded = encode_state(self._state)
        books = snapshot_anchor(
            self._state, encoded, shoe=shoe, chain=self._head, peaks=self._tree.peaks
        )
        self._own(books)
        self.books = self.position
        store_snapshot(log, encoded)

    def _own(self, event: TableEvent) -> None:
        cause = f"core/bench/{self.position + 1}"
        stored = encode_envelope(
            event,
            index=0,
            stream=_ORIGIN,
            position=self.position + 1,
            at=_AT,
            actor="core",
            cause=cause,
            correlation="",
        )
        self._append(decode_envelope(stored), stored)

    def _append(self, envelope: Envelope, stored: bytes) -> None:
        self._state = fold(self._state, decode_data(envelope))
        self._head = next_hash(self._head, stored)
        self._tree.add(stored)
        self.position += 1
        row = (self.position, envelope.type, envelope.v, envelope.at, stored, self._head)
        self._db.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", row)


def _one_shoe(path: Path) -> list[list[bytes]]:
    """Return the events of the product's table for a shoe in play, in groups of one cause."""
    with EventLog.open(path, _ORIGIN) as log:
        table = BenchTable(log, _SHOE)
        table.ask(LoadShoe(transaction=table.transaction(), shoe=_SHOE))
        for number in range(_COUPS):
            _play_coup(table, number)
        events = [stored.stored for stored in log.read()]
    return [list(group) for _, group in groupby(events, lambda each: decode_envelope(each).cause)]


def _play_coup(table: BenchTable, number: int) -> None:
    """Play a natural nine or eight for Player against five, with a wager on each seat."""
    table.ask(OpenBetting(transaction=table.transaction()))
    for seat in _SEATS:
        wager = WagerRequest(seat=seat, bet="banker" if seat % 2 else "player", stake=1_000)
        table.ask(PlaceWager(transaction=table.transaction(), wagers=(wager,)))
    table.ask(CloseBetting(transaction=table.transaction()))
    faces = _FACES[number % len(_FACES)]
    suit = _SUITS[number // len(_FACES) % len(_SUITS)]
    for (hand, place), face in zip(_PLACES, faces, strict=True):
        table.say(CardDrawn(hand=hand, number=place, face=parse_card(f"{face}{suit}")))
    table.say(DeviceResult(winner="player"))


def _shoe_name(number: int) -> str:
    day = _FIRST_DAY + timedelta(days=number // _SHOES_A_DAY)
    return f"{day:%Y%m%d}-{number % _SHOES_A_DAY + 1:02}"


def _open(path: Path, events: int) -> None:
    with EventLog.open(path, _ORIGIN) as log:
        opened = restore_state(log)
    if (opened.state.position, opened.fault) != (events, None):
        raise OurBug(f"the bench's log opened at {opened.state.position}: {opened.fault}")


def _bare(path: Path, books: int) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("SELECT * FROM event WHERE position >= ?", (books,)).fetchall()
    snapshot_path(path).read_bytes()
