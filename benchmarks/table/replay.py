"""Measure replay next to its floor: the same rows read, decoded and hashed, without a fold.

The log is a real shoe's, from a whole table, repeated under new shoe ids up to the requested
length. Product and floor each pass over it in a process of their own, in turns. The figures are
processor time, without the start of Python, and peak memory.

    product: `baccarat.history.log_facts.state_at` the end: every row read, chained, decoded, folded
    floor:   SELECT, envelope and data decoded by msgspec, SHA-256 of the bytes
"""

import hashlib
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from baccarat.history.log_facts import state_at
from benchmarks.instruments.figures import Figure, percentiles, side_by_side, unmeasured
from benchmarks.instruments.processes import peak_mb
from benchmarks.rows import Advance, BenchOptions
from events.errors import InputError
from events.log.reader import reading
from events.log.store import EventLog
from events.proof.chain import next_hash, origin_hash
from events.types import Envelope, ShoeLoaded, event_id
from events.types.registry import TABLE_EVENTS

__all__ = [
    "EVENTS",
    "PEER_TIMES",
    "RATIO_P50_MOST",
    "Pass",
    "figure",
    "measure",
    "passes",
    "peer_figure",
    "stretch",
]

EVENTS: Final = 100_000
RATIO_P50_MOST: Final = 2.0
MEMORY_MOST_MB: Final = 100.0
PEER_TIMES: Final = 30.0
_PEER: Final = "replay_peer"
# Writing one takes half a millisecond; reading one always takes the same time.
_PEER_EVENTS: Final = 20_000
_PEER_PASSES: Final = 5
_PASSES: Final = 7
_COUPS: Final = 60  # about as many as a shoe has
_SEED: Final = 20261127
_BATCH: Final = 5_000
_US: Final = 1_000_000
_FLOOR_ROWS: Final = "SELECT position, bytes, hash FROM event ORDER BY position"


class Pass(Struct, frozen=True, kw_only=True):
    """One pass over the log.

    Args:
        seconds: of processor time; waiting and other processes do not count.
        events: read.
        peak_mb: the peak resident memory of its process.
    """

    seconds: float
    events: int
    peak_mb: float


def measure(options: BenchOptions) -> list[Figure]:
    """Measure the row `replay`: a table plays a while, and its log is made as long as requested."""
    with options.folder() as folder, options.progress("passes", _PASSES) as advance:
        played, log = folder / "demo", folder / "table.sqlite"
        command = [sys.executable, "-m", "baccarat", "demo", "--rounds", str(_COUPS)]
        command += ["--speed", "0", "--seed", str(_SEED), "--data", str(played), "--json"]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own command
        stretch(played / "table.sqlite", log, options.events or EVENTS)
        product, floor = passes(log, advance)
        return [figure(product, floor), _compared_with_peer(product, log, folder / "peer.sqlite")]


def stretch(source: Path, target: Path, events: int) -> None:
    """Write a log of so many events: those of `source`, again and again, each time as a new shoe.

    Raises:
        InputError: the source has no shoe.
    """
    with reading(source) as log:
        origin = log.origin
        rows = [msgspec.json.decode(row.stored, type=Envelope) for row in log.read()]
    begin = next((at for at, row in enumerate(rows) if row.type == ShoeLoaded.TYPE), None)
    if begin is None:
        raise InputError(f"{source}: no shoe was loaded in this log")
    EventLog.open(target, origin).close()
    with closing(sqlite3.connect(target, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous=OFF")
        head, batch = origin_hash(origin), []
        for envelope in _repeated(rows, begin, events):
            stored = msgspec.json.encode(envelope)
            head = next_hash(head, stored)
            row = (envelope.position, envelope.type, envelope.v, envelope.at, stored, head)
            batch.append(row)
            if len(batch) == _BATCH or envelope.position == events:
                db.execute("BEGIN")
                db.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", batch)
                db.execute("COMMIT")
                batch = []


def _repeated(rows: list[Envelope], begin: int, events: int) -> Iterator[Envelope]:
    """Yield the rows up to the first shoe once, then the rest as often as needed."""
    shoe = msgspec.json.decode(rows[begin].data, type=ShoeLoaded).shoe.encode()
    position, index, before = 0, 0, ""
    for turn in count(1):
        name = b"%s-%05d" % (shoe[:8], turn)
        for row in rows if turn == 1 else rows[begin:]:
            position += 1
            cause = f"{row.cause}~{turn}"
            index, before = (index + 1 if cause == before else 0), cause
            yield msgspec.structs.replace(
                row,
                position=position,
                cause=cause,
                event_id=event_id(cause, index),
                correlation=row.correlation.replace(shoe.decode(), name.decode()),
                data=msgspec.Raw(bytes(row.data).replace(shoe, name)),
            )
            if position == events:
                return


def passes(log: Path, advance: Advance) -> tuple[list[Pass], list[Pass]]:
    """Run passes of product and floor over a log, in turns."""
    product: list[Pass] = []
    floor: list[Pass] = []
    for done in range(1, _PASSES + 1):
        product.append(_pass("product", log))
        floor.append(_pass("floor", log))
        advance(done)
    return product, floor


def figure(product: list[Pass], floor: list[Pass]) -> Figure:
    """Return the figure of the passes, in microseconds an event."""
    p50, p99 = percentiles([each.seconds * _US / each.events for each in product])
    floor_p50, floor_p99 = percentiles([each.seconds * _US / each.events for each in floor])
    peak = max(each.peak_mb for each in product)
    return Figure(
        **side_by_side((p50, p99), (floor_p50, floor_p99), digits=2),
        name="replay",
        unit="us",
        samples=len(product),
        goal=(
            f"ratio_p50 <= {RATIO_P50_MOST:g} an event, under {MEMORY_MOST_MB:g} MB "
            "however long the log"
        ),
        met=p50 <= RATIO_P50_MOST * floor_p50 and peak < MEMORY_MOST_MB,
        detail={
            "events": float(product[0].events),
            "peak_mb": round(peak, 1),
            "floor_peak_mb": round(max(each.peak_mb for each in floor), 1),
            "load": round(os.getloadavg()[0], 2),
        },
    )


def _compared_with_peer(product: list[Pass], log: Path, store: Path) -> Figure:
    """Compare with pyeventsourcing, which rebuilds the same coups from its own store."""
    if find_spec("eventsourcing") is None:
        return unmeasured(
            _PEER, "eventsourcing is not installed: pip install -r requirements/bench.txt"
        )
    _run("benchmarks.table.peer", "write", str(log), str(store), str(_PEER_EVENTS))
    peer = [_pass("read", store, "benchmarks.table.peer") for _ in range(_PEER_PASSES)]
    return peer_figure(product, peer)


def peer_figure(product: list[Pass], peer: list[Pass]) -> Figure:
    """Return the figure of product and peer (in the floor's place), in microseconds an event.

    Args:
        product: passes over the whole log.
        peer: passes over the part of it in its store; an event always costs it the same.
    """
    p50, p99 = percentiles([each.seconds * _US / each.events for each in product])
    peer_p50, peer_p99 = percentiles([each.seconds * _US / each.events for each in peer])
    return Figure(
        **side_by_side((p50, p99), (peer_p50, peer_p99), digits=2, ratio_digits=3),
        name=_PEER,
        unit="us",
        samples=len(peer),
        goal=f"{PEER_TIMES:g} times as fast as pyeventsourcing, here as the floor",
        met=p50 * PEER_TIMES <= peer_p50,
        detail={
            "times": round(peer_p50 / p50, 1),
            "events": float(peer[0].events),
            "load": round(os.getloadavg()[0], 2),
        },
    )


def _pass(role: str, log: Path, module: str = "benchmarks.table.replay") -> Pass:
    return msgspec.json.decode(_run(module, role, str(log)), type=Pass)


def _run(module: str, *words: str) -> bytes:
    command = [sys.executable, "-m", module, *words]
    return subprocess.run(command, capture_output=True, check=True).stdout  # noqa: S603 - our own modules


def _product(log: Path) -> int:
    with reading(log) as source:
        return state_at(source, source.end).position


def _floor(log: Path) -> int:
    envelopes = msgspec.json.Decoder(Envelope)
    data = {key: msgspec.json.Decoder(kind) for key, kind in TABLE_EVENTS.items()}
    done = 0
    with closing(sqlite3.connect(f"{log.as_uri()}?mode=ro", uri=True)) as db:
        for _, stored, _ in db.execute(_FLOOR_ROWS):
            envelope = envelopes.decode(stored)
            data[envelope.type, envelope.v].decode(envelope.data)
            hashlib.sha256(stored).digest()
            done += 1
    return done


def _main(role: str, log: str) -> None:
    run = _product if role == "product" else _floor
    begun = time.process_time()
    events = run(Path(log))
    seconds = time.process_time() - begun
    sys.stdout.buffer.write(
        msgspec.json.encode(Pass(seconds=seconds, events=events, peak_mb=peak_mb(os.getpid())))
    )


if __name__ == "__main__":
    _main(*sys.argv[1:])
