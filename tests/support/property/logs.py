"""Tables' logs for the property: games played by the core, written as logs of their own origins."""

import asyncio
import random
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Final

import psycopg

from events.clock import rfc3339
from events.log.reader import reading
from events.log.store import EventLog
from events.types import Entry, TableEvent, decode_entry
from property.archive.database import connect_archive, migrate
from property.archive.rows import read_events
from property.archive.store import Archive
from property.hub.replicated_event import Head, ReplicatedEvent
from tests.support.log.logs import stored_bytes, to_append
from tests.support.table.money_game import BOOKS, Game, Played, random_coup

BEGIN_S: Final = 1_795_822_745  # some evening
_COMMIT: Final = 500
_WELL: Final = """
INSERT INTO property.reading
VALUES (%s, %s, '{"state": "running"}', '', clock_timestamp() + interval '1 hour')
ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value, read_at = excluded.read_at
"""


@cache
def played(seed: int, coups: int, book: str = "per_shoe") -> tuple[TableEvent, ...]:
    """A game with everything in it, corrections among it.

    Args:
        seed: of the cards and of what people do.
        coups: how many.
        book: by which rulebook.
    """
    rng, game = random.Random(seed), Game(BOOKS[book](), seed)
    for _ in range(coups):
        game.play(random_coup(rng))
    return tuple(game.world.log)


def dealt(seed: int, coups: int) -> list[TableEvent]:
    """A game in which every coup is dealt and settled as it comes, and nobody wagers."""
    game = Game(BOOKS["per_shoe"](), seed)
    for _ in range(coups):
        game.play(Played([], [], closed_by_card=False, end="settled", owing=""))
    return game.world.log


def write_log(
    path: Path,
    origin: str,
    events: Sequence[TableEvent],
    *,
    every_s: int = 1,
    begin_s: int = BEGIN_S,
) -> None:
    """A log of these events, one every so many seconds; what is there already goes on."""
    with EventLog.open(path, origin) as log:
        for first in range(0, len(events), _COMMIT):
            base = log.position
            made = [
                stored_bytes(
                    event,
                    position,
                    stream=origin,
                    at=rfc3339((begin_s + position * every_s) * 1_000_000_000),
                    correlation=str(getattr(event, "coup", None) or ""),
                )
                for position, event in enumerate(events[first:][:_COMMIT], base + 1)
            ]
            log.append(base, [to_append(each) for each in made], None)


def carried_in(path: Path) -> list[ReplicatedEvent]:
    """What an uplink says of a log."""
    with reading(path) as log:
        return [
            ReplicatedEvent(log.origin, position, stored, head)
            for position, stored, head in log.bare()
        ]


def played_logs(folder: Path, origins: Sequence[str], *, first_seed: int) -> list[Path]:
    """A log of sixty coups for each origin, each by a seed of its own."""
    paths = [folder / f"{number}.sqlite" for number in range(len(origins))]
    for seed, (path, origin) in enumerate(zip(paths, origins, strict=True), first_seed):
        write_log(path, origin, played(seed, 60), every_s=50)
    return paths


def entries_in(path: Path) -> list[Entry]:
    """A log's events, read."""
    return [decode_entry(each.stored) for each in carried_in(path)]


def into_archive(url: str, *logs: Path) -> None:
    """Make an archive and store logs in it, without a hub."""

    async def store() -> None:
        async with await connect_archive(url) as connection:
            archive = Archive(url, connection)
            for log in logs:
                intake, _ = await archive.keep({}, carried_in(log), ())
                assert not intake.faults, intake.faults

    migrate(url)
    asyncio.run(store())
    well_for_an_hour(url)


def archive_config(folder: Path, url: str) -> Path:
    """Write the file by which a person's commands reach an archive."""
    path = folder / "property.toml"
    path.write_text(f'[archive]\ndatabase = "{url}"\nworkers = 0\n')
    return path


def well_for_an_hour(url: str) -> None:
    """As if a worker and the uplinks of all archived tables had spoken, and did for so long."""
    with psycopg.connect(url) as db:
        rows = db.execute("SELECT 'table', site || '/' || \"table\" FROM property.head").fetchall()
        for kind, name in (*rows, ("worker", "there-1")):
            db.execute(_WELL, (kind, name))
    disk_reported(url)


def disk_reported(url: str, ago: str = "-1 hour") -> None:
    """PostgreSQL's machine reports its disk, so long ago."""
    with psycopg.connect(url) as db:
        db.execute("SELECT property.report_disk(free => 9, used => 1)")
        aged = "UPDATE property.reading SET read_at = read_at - %s::interval WHERE kind = 'disk'"
        db.execute(aged, (ago,))


def archived(url: str, origin: str) -> tuple[Head, list[ReplicatedEvent]]:
    """A table's head and events in the archive, of one moment."""

    async def read() -> tuple[Head, list[ReplicatedEvent]]:
        async with await connect_archive(url) as db, db.transaction(), db.cursor() as cursor:
            await cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            asked = 'SELECT id, position, hash FROM property.head WHERE site = %s AND "table" = %s'
            await cursor.execute(asked, origin.split("/"))
            row = await cursor.fetchone()
            if row is None:
                return Head.beginning(origin), []
            parts = [part async for part in read_events(cursor, row[0], origin)]
            return Head(row[1], row[2]), [each for part in parts for each in part]

    with ThreadPoolExecutor(1) as apart:  # the caller may run in a loop of its own
        return apart.submit(asyncio.run, read()).result()


def differences(url: str, logs: Iterable[Path]) -> list[str]:
    """Where the archive is not the union of the logs: byte by byte, hash by hash, head by head."""
    found = []
    for path in logs:
        wanted = carried_in(path)
        origin = wanted[0].origin
        head, rows = archived(url, origin)
        if head != wanted[-1].head:
            found.append(f"{origin}: head {head.position}, the log's {wanted[-1].position}")
        if rows != wanted:
            found.append(f"{origin}: {len(rows)} events, the log has {len(wanted)}")
    return found
