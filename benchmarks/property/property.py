"""Measure a property of two hundred tables on one machine: rate, lateness, catch-up, costs.

Product: the tables' logs, one uplink, a hub of three nodes that forces every message to the disk,
two archive workers, the witness and the page, each as a site runs it. Four things are measured:

- `property_rate`: the logs are full when the uplink starts, and events a second are counted in
  PostgreSQL until the last is there.
- `property_page`: then each table goes on at 70 coups an hour. The time counts from the moment when
  a commit in its log is on the disk to the moment when the page's stream has sent it.
- `property_catchup`: meanwhile a table that was off for a day comes back.
- `property_status`: then `baccarat property status` asks all parts, and its processor time is told.

The floor of the rate is psycopg's COPY of the same rows over one connection, a thousand a commit,
into a bare table: PostgreSQL's work without any of the product. The others have none.

On two processors some thirteen processes share the work that a site gives to five machines.
"""

import asyncio
import http.client
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import nan
from pathlib import Path
from time import monotonic, process_time, sleep
from typing import Final, NamedTuple

import psycopg

from baccarat.config.property import load_property
from baccarat.property.status import property_status
from benchmarks.instruments.figures import (
    Figure,
    percentiles,
    side_by_side,
    without_floor,
)
from benchmarks.instruments.postgres import postgres_cluster
from benchmarks.property.place import (
    BenchProperty,
    Costs,
    LogFiller,
    running_property,
    server_costs,
    template,
)
from benchmarks.rows import BenchOptions, Unmeasurable
from events.clock import SystemClock
from property.archive.database import connect_archive, migrate
from property.archive.rebuild import archived_tables
from property.archive.rows import read_events

__all__ = ["measure"]

_TABLES: Final = 200
_EVENTS: Final = 60_000
_WORKERS: Final = 2
_COUPS_AN_HOUR: Final = 70
_EVENTS_A_COUP: Final = 21  # with seven wagers; of the template
_HOURS: Final = 24
_RATE_LEAST: Final = 3_000.0
_CATCHUP_LEAST: Final = 5_000.0
_PAGE_MOST_MS: Final = 500.0
_STATUS_MOST_MS: Final = 2_000.0
_STATUS_TIMES: Final = 5
_SAMPLES_A_S: Final = 10
_PATIENCE_S: Final = 300.0
_POLL_S: Final = 0.02
_BATCH: Final = 1_000
_MS: Final = 1_000
_HEADS: Final = "SELECT coalesce(sum(position), 0) FROM property.head"
_HEAD: Final = 'SELECT coalesce(max(position), 0) FROM property.head WHERE "table" = %s'
_COPIED_MOST: Final = 60_000
_BARE: Final = """
CREATE TEMPORARY TABLE bare (table_id integer, position bigint, hash bytea, bytes bytea)
"""
_SIZE: Final = """
SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n
    ON n.oid = c.relnamespace WHERE n.nspname = 'property' AND c.relkind = 'r'
"""


def measure(options: BenchOptions) -> list[Figure]:
    """Measure the row `property`.

    Raises:
        Unmeasurable: there is no PostgreSQL here, or the hub does not come up.
    """
    events = options.events or _EVENTS
    tables = [f"bench/t{number:03}" for number in range(1, _TABLES + 1)]
    day = min(_COUPS_AN_HOUR * _HOURS * _EVENTS_A_COUP, events)
    with ExitStack() as stack:
        advance = stack.enter_context(options.progress("of rate, page, catch-up and status", 4))
        folder = stack.enter_context(options.folder())
        url = options.ledger or stack.enter_context(postgres_cluster(options.data)).database()
        migrate(url)
        place = stack.enter_context(running_property(folder, url, [*tables, "bench/late"]))
        told = template(folder, max(day, events // _TABLES) + 1)
        writers = [LogFiller(place.log(table), table, told) for table in place.tables]
        for writer in writers:
            stack.callback(writer.close)
        *usual, late = writers
        for writer in usual:
            writer.fill(events // _TABLES)
        late.fill(day)
        run = _Run(place, usual)
        rate = run.fill_archive(events // _TABLES * _TABLES)
        advance(1)
        page = run.at_pace(min(options.samples, 600) / _SAMPLES_A_S)
        advance(2)
        catchup = run.catch_up(day)
        advance(3)
        status = run.status()
        advance(4)
        found = [_rate_figure(rate, url), _hub_figure(rate), _page_figure(page)]
        return [*found, _catchup_figure(catchup), _status_figure(status)]


class _Rate(NamedTuple):
    events: int
    seconds: float
    detail: dict[str, float]


class _Pace(NamedTuple):
    late_ms: list[float]
    detail: dict[str, float]


class _CatchUp(NamedTuple):
    events: int
    seconds: float
    late_ms: list[float]


class _Run:
    """A property that is measured step by step."""

    def __init__(self, place: BenchProperty, writers: Sequence[LogFiller]) -> None:
        self._place = place
        self._writers = writers
        self._db = psycopg.connect(place.archive, autocommit=True)

    def fill_archive(self, events: int) -> _Rate:
        """Archive full logs: all services run when the uplink starts."""
        for number in range(1, _WORKERS + 1):
            self._place.service(f"archive{number}", "archive")
        self._place.service("witness", "witness")
        self._place.service("page", "page")
        self._until_page()
        self._place.service("uplink", "uplink")
        first = self._until(_HEADS, 1)
        began, before = monotonic(), self._costs()
        self._until(_HEADS, events)
        seconds = monotonic() - began
        detail = _spent(before, self._costs(), events - first)
        logs = [self._place.log(table) for table in self._place.tables[:-1]]
        detail["log_bytes"] = round(sum(_bytes_of(log.parent) for log in logs) / events)
        hub = [_bytes_of(folder) for folder in self._place.hub_folders()]
        detail["hub_bytes_a_node"] = round(sum(hub) / len(hub) / events)
        row = self._db.execute(_SIZE).fetchone()
        detail["archive_bytes"] = round(int(row[0]) / events) if row else nan
        return _Rate(events - first, seconds, detail)

    def at_pace(self, seconds: float) -> _Pace:
        """Let each table go on at a table's pace."""
        before = self._costs()
        with _watching(self._place.page) as heard:
            sent = self._write(lambda elapsed: elapsed < seconds)
            self._settle(sent, heard)
        after = self._costs()
        cores = {
            f"cpu_{name}": round((after[name].cpu_s - cost.cpu_s) / seconds, 3)
            for name, cost in before.items()
        }
        resident = {f"mb_{name}": round(cost.resident_mb, 1) for name, cost in after.items()}
        return _Pace(_lateness(sent, heard), cores | resident)

    def catch_up(self, day: int) -> _CatchUp:
        """Let a table that was off for a day catch up, while the others go on."""
        self._place.service("uplink-late", "uplink", "late")
        with _watching(self._place.page) as heard:
            times: list[tuple[float, int]] = []

            def on(elapsed: float) -> bool:
                row = self._db.execute(_HEAD, ("late",)).fetchone()
                position = int(row[0]) if row else 0
                if position:
                    times.append((monotonic(), position))
                if elapsed > _PATIENCE_S:
                    raise Unmeasurable(f"the late table stands at {position} of {day}")
                return position < day

            sent = self._write(on)
            self._settle(sent, heard)
        (began, first), (ended, last) = times[0], times[-1]
        late = _lateness([each for each in sent if each[2] >= began], heard)
        return _CatchUp(last - first, ended - began, late)

    def status(self) -> list[tuple[float, float]]:
        """Ask for the status again and again; return milliseconds, and those of a processor."""
        config = load_property(self._place.folder / "property.toml")
        took = []
        for _ in range(_STATUS_TIMES):
            began, spent = monotonic(), process_time()
            found = asyncio.run(property_status(config, SystemClock()))
            took.append(((monotonic() - began) * _MS, (process_time() - spent) * _MS))
            if len(found.tables) < _TABLES or found.archive or found.hub:
                raise Unmeasurable(f"status has {len(found.tables)} tables: {found.hub}")
        return took

    def _costs(self) -> dict[str, Costs]:
        found = {process.name: process.costs() for process in self._place.processes}
        return found | {"postgres": server_costs(self._db.info.backend_pid)}

    def _write(self, on: Callable[[float], bool]) -> list[tuple[str, int, float]]:
        """Append events one by one at the pace of all tables; return each one's place and time."""
        pause = 3600 / (_COUPS_AN_HOUR * _EVENTS_A_COUP * len(self._writers))
        sent: list[tuple[str, int, float]] = []
        began = monotonic()
        while on(monotonic() - began):
            turn = len(sent) % len(self._writers)
            at = self._writers[turn].append()
            sent.append((self._place.tables[turn], self._writers[turn].position, at))
            sleep(max(0.0, began + len(sent) * pause - monotonic()))
        return sent

    def _settle(self, sent: Sequence[tuple[str, int, float]], heard: "_PageStream") -> None:
        """Wait until the page has sent the last of them."""
        deadline = monotonic() + _PATIENCE_S
        newest = {table: position for table, position, _ in sent}
        while any(heard.position(table) < place for table, place in newest.items()):
            if heard.ended or monotonic() > deadline:
                raise Unmeasurable("the page does not say what was archived")
            sleep(_POLL_S)

    def _until(self, asked: str, wanted: int) -> int:
        deadline = monotonic() + _PATIENCE_S
        while True:
            row = self._db.execute(asked).fetchone()
            found = int(row[0]) if row else 0
            if found >= wanted:
                return found
            if monotonic() > deadline:
                raise Unmeasurable(f"{found} of {wanted} events are archived, and no more come")
            sleep(_POLL_S)

    def _until_page(self) -> None:
        deadline = monotonic() + _PATIENCE_S
        while monotonic() < deadline:
            try:
                page = http.client.HTTPConnection("127.0.0.1", self._place.page, timeout=5)
                page.request("GET", "/health")
                if page.getresponse().status == http.client.OK:
                    return
            except OSError:
                pass
            sleep(_POLL_S)
        raise Unmeasurable("the page does not come up")


class _PageStream:
    """The page's stream so far: each table's positions, and their times."""

    def __init__(self) -> None:
        self.first = threading.Event()
        self.leaving = self.ended = False
        self._said: dict[str, list[tuple[int, float]]] = {}

    def take(self, data: bytes, at: float) -> None:
        """Take a document of the stream."""
        for table, fields in json.loads(data)["tables"].items():
            if "position" in fields:
                self._said.setdefault(table, []).append((fields["position"], at))

    def position(self, table: str) -> int:
        """Return the newest position of a table."""
        said = self._said.get(table)
        return said[-1][0] if said else 0

    def when(self, table: str, position: int) -> float:
        """Return when the page first showed that a table had reached this position."""
        return next(at for place, at in self._said[table] if place >= position)


@contextmanager
def _watching(port: int) -> Iterator[_PageStream]:
    """Read the page's stream as a browser does, in a thread, from its first document on."""
    heard = _PageStream()
    with socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE_S) as line:
        # HTTP/1.0, so that the stream comes unchanged, without chunks.
        line.sendall(b"GET /events HTTP/1.0\r\nhost: localhost\r\n\r\n")
        thread = threading.Thread(target=_listen, args=(line, heard), daemon=True)
        thread.start()
        if not heard.first.wait(_PATIENCE_S):
            raise Unmeasurable("the page says nothing")
        try:
            yield heard
        finally:
            heard.leaving = True
            line.shutdown(socket.SHUT_RDWR)
            thread.join(_PATIENCE_S)


def _listen(line: socket.socket, heard: _PageStream) -> None:
    kind = b""
    with line.makefile("rb") as told:
        for text in told:
            name, _, data = text.rstrip(b"\n").partition(b": ")
            kind = data if name == b"event" else kind
            if name == b"data" and kind == b"state":
                heard.take(data, monotonic())
                heard.first.set()
    heard.ended = not heard.leaving


def _lateness(sent: Sequence[tuple[str, int, float]], heard: _PageStream) -> list[float]:
    return [(heard.when(table, position) - at) * _MS for table, position, at in sent]


def _spent(before: dict[str, Costs], after: dict[str, Costs], events: int) -> dict[str, float]:
    """Return microseconds of processor for an event, by process."""
    return {
        f"us_{name}": round((after[name].cpu_s - cost.cpu_s) / events * 1_000_000, 1)
        for name, cost in before.items()
    }


def _bytes_of(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


async def _archived_rows(url: str) -> list[tuple[int, int, bytes, bytes]]:
    rows: list[tuple[int, int, bytes, bytes]] = []
    async with await connect_archive(url) as connection, connection.cursor() as cursor:
        for table in await archived_tables(url, connection):
            async for part in read_events(cursor, table.id, table.origin):
                rows += ((table.id, e.position, e.hash, e.stored) for e in part)
            if len(rows) >= _COPIED_MOST:
                break
    return rows


def _copied(url: str) -> float:
    """Return the rows a second of a bare COPY."""
    rows = asyncio.run(_archived_rows(url))
    with psycopg.connect(url) as db:
        db.execute(_BARE)
        db.commit()
        began = monotonic()
        for first in range(0, len(rows), _BATCH):
            with db.cursor() as cursor, cursor.copy("COPY bare FROM STDIN") as copy:
                for row in rows[first : first + _BATCH]:
                    copy.write_row(row)
            db.commit()
        return len(rows) / (monotonic() - began)


def _rate_figure(found: _Rate, url: str) -> Figure:
    rate, floor = found.events / found.seconds, _copied(url)
    return Figure(
        **side_by_side((rate, rate), (floor, floor), digits=None, ratio_digits=3),
        name="property_rate",
        unit="1/s",
        samples=found.events,
        goal=f"at least {_RATE_LEAST:,.0f} events a second from {_TABLES} logs into PostgreSQL",
        met=rate >= _RATE_LEAST,
        detail=found.detail | {"load": round(os.getloadavg()[0], 2)},
    )


def _hub_figure(found: _Rate) -> Figure:
    size = found.detail["hub_bytes_a_node"] * _EVENTS_A_COUP
    return Figure(
        **without_floor(size, size, digits=0),
        name="property_hub",
        unit="bytes",
        samples=found.events,
        goal=f"none: a coup of {_EVENTS_A_COUP} events in one node of the hub",
        met=True,
        detail={"an_event": found.detail["hub_bytes_a_node"]},
    )


def _page_figure(found: _Pace) -> Figure:
    p50, p99 = percentiles(found.late_ms)
    return Figure(
        **without_floor(p50, p99, digits=1),
        name="property_page",
        unit="ms",
        samples=len(found.late_ms),
        goal=f"p99 < {_PAGE_MOST_MS:g} ms from a commit in a log to the page, at normal pace",
        met=p99 < _PAGE_MOST_MS,
        detail=found.detail | {"load": round(os.getloadavg()[0], 2)},
    )


def _catchup_figure(found: _CatchUp) -> Figure:
    rate = found.events / found.seconds
    p50, p99 = percentiles(found.late_ms) if found.late_ms else (nan, nan)
    return Figure(
        **without_floor(rate, rate, digits=None),
        name="property_catchup",
        unit="1/s",
        samples=found.events,
        goal=(
            f"a table that was off for a day at {_CATCHUP_LEAST:,.0f} events a second or better, "
            f"the others' p99 under {_PAGE_MOST_MS:g} ms meanwhile"
        ),
        met=rate >= _CATCHUP_LEAST and p99 < _PAGE_MOST_MS,
        detail={
            "others_p50_ms": round(p50, 1),
            "others_p99_ms": round(p99, 1),
            "others_samples": float(len(found.late_ms)),
            "load": round(os.getloadavg()[0], 2),
        },
    )


def _status_figure(took: list[tuple[float, float]]) -> Figure:
    p50, p99 = percentiles([ms for ms, _ in took])
    return Figure(
        **without_floor(p50, p99, digits=0),
        name="property_status",
        unit="ms",
        samples=len(took),
        goal=f"p50 < {_STATUS_MOST_MS:g} ms for the status of {_TABLES} tables",
        met=p50 < _STATUS_MOST_MS,
        detail={
            "cpu_ms": round(min(cpu for _, cpu in took), 1),
            "load": round(os.getloadavg()[0], 2),
        },
    )
