"""Measure the cage's settlements a second into PostgreSQL, next to the same rows by hand.

Product: events as the bus brings them are decoded, verified against the hash chain, posted, and
committed in batches over one connection, `position` moved with each; committed events may be
acknowledged. Floor: the same rows of the same batches in as many commits over one connection of
psycopg's own, by COPY and by INSERT, without decoding or posting. They take turns. The server is
the same, with its default fsync and synchronous_commit (on); each pass has its own database.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

import psycopg
from psycopg import sql

from benchmarks.instruments.figures import Figure, percentiles, side_by_side
from benchmarks.instruments.postgres import postgres_cluster
from benchmarks.rows import Advance, BenchOptions
from cage.ledger.database import parse_ledger_url
from cage.ledger.received_event import decode_published_event
from cage.ledger.store import LedgerStore
from events.proof.chain import next_hash, origin_hash
from events.types import (
    BettingOpened,
    CoupSettled,
    Settlement,
    SettlementLine,
    Wager,
    WagersPlaced,
    encode_envelope,
    with_hash,
)

__all__ = ["PASSES", "SETTLEMENTS", "ledger_figures", "measure", "settled_coup"]

SETTLEMENTS: Final = 10_000
"""Settlements in one pass, unless the command line says otherwise."""

PASSES: Final = 5
"""Passes of product and floors each."""

_BATCH: Final = 512  # events in a commit, as in the service
_LEAST: Final = 1_000.0
_STREAM: Final = "bench/t1"
_SEATS: Final = range(1, 8)
_COUPS_A_SHOE: Final = 80


def measure(options: BenchOptions) -> list[Figure]:
    """Measure the row `cage`.

    Raises:
        Unmeasurable: no server was named, and there is no PostgreSQL here to start one.
    """
    settlements, passes = options.events or SETTLEMENTS, min(options.samples, PASSES)
    with ExitStack() as stack:
        url = options.ledger
        if url is None:
            url = stack.enter_context(postgres_cluster(options.data)).database()
        advance = stack.enter_context(options.progress("passes", passes))
        return ledger_figures(url, settlements, passes, advance)


def ledger_figures(server: str, settlements: int, passes: int, advance: Advance) -> list[Figure]:
    """Return the figures `cage_copy` and `cage_insert`: the product next to each of the floors.

    Args:
        server: the URL of a database; new ones are created on its server, and dropped.
        settlements: in each pass.
        passes: of product and floors each.
        advance: called with the number of passes done.
    """
    messages, url = _messages(settlements), partial(_database, server)
    product: list[float] = []
    floors: dict[str, list[float]] = {"copy": [], "insert": []}
    for done in range(1, passes + 1):
        with url() as database:
            product.append(settlements / _booked(database, messages))
            rows = _rows(database)
        commits = -(-len(messages) // _BATCH)
        for way, write in (("copy", _copy), ("insert", _insert)):
            with url() as database:
                floors[way].append(settlements / _written(database, rows, commits, write))
        advance(done)
    return [_figure(way, product, rates) for way, rates in floors.items()]


def _figure(way: str, product: Sequence[float], floor: Sequence[float]) -> Figure:
    p50, _ = percentiles(product)
    floor_p50, _ = percentiles(floor)
    slowest, floor_slowest = min(product), min(floor)
    return Figure(
        **side_by_side((p50, slowest), (floor_p50, floor_slowest), digits=None, ratio_digits=3),
        name=f"cage_{way}",
        unit="1/s",
        samples=len(product),
        goal=f"at least {_LEAST:,.0f} settlements a second, in the slowest pass (here as p99)",
        met=slowest >= _LEAST,
        detail={"load": round(os.getloadavg()[0], 2), "processors": float(os.cpu_count() or 0)},
    )


@contextmanager
def _database(server: str) -> Iterator[str]:
    """Create an empty database until the block ends."""
    name = f"baccarat_bench_{os.getpid()}_{time.monotonic_ns()}"
    # Name the driver by its own URL scheme, whichever way the server was named.
    plain = parse_ledger_url(server).set(drivername="postgresql")
    there = plain.render_as_string(hide_password=False)
    with psycopg.connect(there, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield plain.set(database=name).render_as_string(hide_password=False)
        finally:
            connection.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))


def _messages(settlements: int) -> list[bytes]:
    """Return messages as the bus brings them: a coup opened, seven wagers placed, and settled."""
    made: list[bytes] = []
    head = origin_hash(_STREAM)
    for number in range(settlements):
        shoe, coup = divmod(number, _COUPS_A_SHOE)
        for event in settled_coup(f"202611{shoe // 99 % 28 + 1:02}-{shoe % 99 + 1:02}/{coup + 1}"):
            stored = encode_envelope(
                event,
                index=0,
                stream=_STREAM,
                position=len(made) + 1,
                at="2026-11-27T20:32:19.550508112Z",
                actor="shoe",
                cause=f"bench/{len(made) + 1}",
                correlation=event.coup,
            )
            head = next_hash(head, stored)
            made.append(with_hash(stored, head))
    return made


def settled_coup(
    coup: str, winner: str = "banker"
) -> tuple[BettingOpened, WagersPlaced, CoupSettled]:
    """Return the events of a coup in which seven seats wager on Banker and Player by turns."""
    wagers = tuple(
        Wager(id=f"w/{seat}/0", seat=seat, bet="banker" if seat % 2 else "player", stake=1000)
        for seat in _SEATS
    )
    lines = tuple(_line(wager, winner) for wager in wagers)
    settlement = Settlement(
        settlement_id=f"t1/{coup}/2/1",
        coup=coup,
        phase=2,
        revision=1,
        rulebook="ez",
        rulebook_hash="0" * 64,
        player=(),
        banker=(),
        player_total=4,
        banker_total=7,
        lines=lines,
        staked=sum(line.stake for line in lines),
        paid=sum(line.paid for line in lines),
        commission=0,
    )
    return (
        BettingOpened(coup=coup, rulebook="ez", rulebook_hash="0" * 64),
        WagersPlaced(coup=coup, wagers=wagers),
        CoupSettled(coup=coup, settlement=settlement),
    )


def _line(wager: Wager, winner: str) -> SettlementLine:
    won = wager.bet == winner
    return SettlementLine(
        wager=wager.id,
        seat=wager.seat,
        bet=wager.bet,
        result="win" if won else "lose",
        category="win" if won else "lose",
        stake=wager.stake,
        winnings=wager.stake if won else 0,
        commission=0,
        paid=2 * wager.stake if won else 0,
    )


def _booked(url: str, messages: Sequence[bytes]) -> float:
    store = LedgerStore.open(parse_ledger_url(url), _STREAM)
    try:
        began = time.perf_counter()
        for first in range(0, len(messages), _BATCH):
            store.book([decode_published_event(each) for each in messages[first : first + _BATCH]])
        return time.perf_counter() - began
    finally:
        store.close()


_Rows = dict[str, list[tuple[Any, ...]]]
_Write = Callable[["psycopg.Cursor[Any]", str, list[tuple[Any, ...]]], None]


def _rows(url: str) -> _Rows:
    """Return the rows that the product wrote, to be written again."""
    with psycopg.connect(url) as connection:
        return {
            table: connection.execute(
                sql.SQL("SELECT * FROM {} ORDER BY position, part").format(sql.Identifier(table))
            ).fetchall()
            for table in ("entry", "posting")
        }


def _written(url: str, rows: _Rows, commits: int, write: _Write) -> float:
    LedgerStore.open(parse_ledger_url(url), _STREAM).close()  # the same tables, keys and triggers
    steps = {table: -(-len(every) // commits) for table, every in rows.items()}
    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        began = time.perf_counter()
        for commit in range(commits):
            with connection.transaction():
                # Entries run ahead of their postings: a posting must find its entry there.
                for table in ("entry", "posting"):
                    first = commit * steps[table]
                    write(cursor, table, rows[table][first : first + steps[table]])
                cursor.execute("UPDATE book SET position = position + 1")
        return time.perf_counter() - began


def _copy(cursor: "psycopg.Cursor[Any]", table: str, rows: list[tuple[Any, ...]]) -> None:
    with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(table))) as copy:
        for row in rows:
            copy.write_row(row)


def _insert(cursor: "psycopg.Cursor[Any]", table: str, rows: list[tuple[Any, ...]]) -> None:
    if not rows:
        return
    holders = sql.SQL(", ").join([sql.Placeholder()] * len(rows[0]))
    into = sql.SQL("INSERT INTO {} VALUES ({})").format(sql.Identifier(table), holders)
    cursor.executemany(into, rows)
