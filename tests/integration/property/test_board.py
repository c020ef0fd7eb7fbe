"""The board filled from a real archive: what is new, and an archive that goes away."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from events.clock import SystemClock
from events.errors import ArchiveError
from events.types.table import CoupSettled
from property.archive.client import ArchiveClient
from property.archive.database import connect_archive, migrate
from property.archive.store import Archive
from property.board.feed import BoardUpdater
from property.hub.replicated_event import Head, ReplicatedEvent
from property.hub.subjects import PARTITIONS
from tests.support.machine.tasks import background
from tests.support.machine.waiting import until
from tests.support.property.logs import carried_in, dealt, entries_in, played, write_log
from tests.support.property.postgres import Postgres

ORIGIN = "harbour/b7"


async def store(url: str, *events: ReplicatedEvent) -> None:
    """Put events into the archive as a worker would, from the first or behind what is there."""
    connection = await connect_archive(url)
    try:
        archive = Archive(url, connection)
        found: dict[str, Head] = {}
        for number in range(PARTITIONS):
            found |= {origin: each.head for origin, each in (await archive.heads(number)).items()}
        intake, _ = await archive.keep(found, events, ())
        assert not intake.faults
    finally:
        await connection.close()


@contextmanager
def away(url: str) -> Iterator[None]:
    """The database takes nobody in while the block runs, and has thrown out who was there."""
    name = url.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(url.replace(f"/{name}?", "/postgres?"), autocommit=True) as db:
        of = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
        db.execute(of.format(sql.Identifier(name), sql.SQL("false")))
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )
        try:
            yield
        finally:
            db.execute(of.format(sql.Identifier(name), sql.SQL("true")))


def shown(feed: BoardUpdater) -> dict[str, Any]:
    tables: dict[str, dict[str, Any]] = json.loads(feed.board.news(0))["tables"]
    return tables[ORIGIN]


async def test_a_table_is_followed_event_by_event_and_its_roads_coup_by_coup(
    postgres: Postgres, tmp_path: Path
) -> None:
    url, log = postgres.database(), tmp_path / "b7.sqlite"
    migrate(url)
    write_log(log, ORIGIN, dealt(9, 6))
    events = carried_in(log)
    ends = [entry.position for entry in entries_in(log) if isinstance(entry.data, CoupSettled)]
    feed = BoardUpdater(url, SystemClock())
    woken: list[int] = []
    feed.subscribe(lambda: woken.append(feed.board.change))
    await store(url, *events[: ends[1]])
    async with background(feed.run()):
        await until(lambda: feed.live and feed.board.position(ORIGIN) == ends[1], "two coups")
        await until(lambda: len(shown(feed).get("bead_plate", [])) == 2, "two beads")
        await store(url, *events[ends[1] : ends[1] + 1])
        await until(lambda: feed.board.position(ORIGIN) == ends[1] + 1, "one event more")
        await store(url, *events[ends[1] + 1 :])
        await until(lambda: len(shown(feed)["bead_plate"]) == len(ends), "all coups")
    assert sum(map(len, shown(feed)["big_road"])) == len(
        [bead for bead in shown(feed)["bead_plate"] if bead[0] != "T"]
    )
    assert woken == sorted(woken)
    assert shown(feed)["feed"] == "running"


async def test_a_board_whose_archive_goes_says_so_keeps_what_it_had_and_comes_back(
    postgres: Postgres, tmp_path: Path
) -> None:
    url, log = postgres.database(), tmp_path / "b7.sqlite"
    migrate(url)
    write_log(log, ORIGIN, played(4, 6))
    events = carried_in(log)
    feed = BoardUpdater(url, SystemClock())
    await store(url, *events[:50])
    async with background(feed.run()):
        await until(lambda: feed.live and feed.board.position(ORIGIN) == 50, "it is there")
        with away(url):
            await until(lambda: not feed.live, "it is not live")
            assert feed.board.position(ORIGIN) == 50
        await store(url, *events[50:])
        await until(lambda: feed.live and feed.board.position(ORIGIN) == len(events), "it goes on")


async def test_an_asker_can_change_nothing(postgres: Postgres) -> None:
    url = postgres.database()
    migrate(url)
    async with await ArchiveClient.open(url) as asker:
        for statement in ("DELETE FROM property.head", "CREATE TABLE a (b int)"):
            with pytest.raises(ArchiveError, match="read-only"):
                await asker.rows(statement)
