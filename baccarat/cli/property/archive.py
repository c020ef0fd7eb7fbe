"""`baccarat property events|rebuild|reader|retain|backup|restore`: keep the archive."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from psycopg import AsyncConnection

from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.property.run import archive_of
from baccarat.cli.shown import say
from baccarat.cli.value_types import NAME
from baccarat.config.property import load_property
from events.clock import SystemClock
from property.archive.backup import ArchiveBackup, restore_archive, write_backup
from property.archive.database import connect_archive, migrate, require_current
from property.archive.reader import let_read
from property.archive.readings import ReadingStore, SaidReading
from property.archive.rebuild import archived_events, archived_tables, rebuild
from property.archive.retention import KEEP_DAYS_LEAST, drop_events
from property.health.readings import Reading
from property.hub.subjects import split_origin

__all__ = ["backup", "events", "reader", "rebuild_rows", "restore", "retain"]

_CONFIG = click.argument("config", type=click.Path(path_type=Path))
_MOST = 2**53


@click.command()
@_CONFIG
@click.argument("table", metavar="SITE/TABLE")
@click.option("--from", "first", type=click.IntRange(1), default=1, help="Position of the first.")
@click.option("--upto", type=click.IntRange(1), default=_MOST, help="Position of the last.")
def events(config: Path, table: str, first: int, upto: int) -> None:
    """Print a table's archived events as they were stored, a line of JSON each.

    Each block is checked to lead from hash to hash; a damaged one is named.
    """
    split_origin(table)
    url = _archive(config)

    async def read() -> None:
        async with await connect_archive(url) as connection:
            async for part in archived_events(url, connection, table, first, upto):
                for each in part:
                    click.echo(each.stored)

    asyncio.run(read())


@click.command("rebuild")
@_CONFIG
@click.argument("tables", nargs=-1, metavar="[SITE/TABLE...]")
@click.option("--check", is_flag=True, help="Compare only; the rows stay as they are.")
def rebuild_rows(config: Path, tables: tuple[str, ...], *, check: bool) -> int:
    """Make the rows that questions read again from the stored events, of all tables or of these.

    A table's feed waits meanwhile. Exit code 1: something differed.
    """
    for table in tables:
        split_origin(table)
    url = _archive(config)
    differs = False

    async def each() -> None:
        nonlocal differs
        async with await connect_archive(url) as connection:
            await connection.execute("SET statement_timeout = 0")
            for table in tables or [
                found.origin for found in await archived_tables(url, connection)
            ]:
                count, names = await rebuild(url, connection, table, keep=not check)
                differs = differs or bool(names)
                say(f"{table}: {count:,} events, {_difference(names, check=check)}")

    asyncio.run(each())
    return EXIT_NO if differs else EXIT_DONE


def _difference(names: list[str], *, check: bool) -> str:
    if not names:
        return "the rows are what they make"
    return f"{', '.join(names)}: {'not' if check else 'were not'} what they make"


@click.command()
@_CONFIG
@click.argument("role", type=NAME)
def reader(config: Path, role: str) -> None:
    """Let a role of the database ask everything and change nothing: for other tools' SQL.

    The role is there already: CREATE ROLE asker LOGIN. Say it again after an update.
    """
    url = _archive(config)
    _run(lambda connection: let_read(url, connection, role), url)
    say(f"{role}: reads the archive, and changes nothing", err=True)


@click.command()
@_CONFIG
@click.option(
    "--before",
    type=click.DateTime(["%Y-%m-%d"]),
    required=True,
    help=f"A day in UTC, at least {KEEP_DAYS_LEAST} days ago.",
)
def retain(config: Path, before: datetime) -> None:
    """Drop stored events that are older than a day; coups, settlements and totals stay.

    Each table keeps its newest events, and all of them while its feed does not run. Back up first,
    or keep the tables' logs: dropped events come back from nowhere else.
    """
    url = _archive(config)
    done = _run(lambda connection: drop_events(url, connection, before.replace(tzinfo=UTC)), url)
    for each in done:
        dropped = f"{each.first:,} to {each.last:,} dropped" if each.last else "nothing dropped"
        say(f"{each.origin}: {each.kept_for or dropped}")


@click.command()
@_CONFIG
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--without-events", is_flag=True, help="Only what the logs cannot bring again.")
def backup(config: Path, file: Path, *, without_events: bool) -> None:
    """Copy the archive of CONFIG into the new FILE, as it is at one moment; workers go on."""
    url = _archive(config)
    whole = not without_events

    async def written(connection: AsyncConnection) -> ArchiveBackup:
        made = await write_backup(url, connection, file, whole=whole)
        done = Reading(kind="backup", name="archive", at_s=SystemClock().utc_ns() / 1e9)
        await ReadingStore(url, connection).keep([SaidReading.now(done)])
        return made

    made = _run(written, url)
    say(f"{file}: {_told(made)}", err=True)


@click.command()
@_CONFIG
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def restore(config: Path, file: Path) -> None:
    """Copy a backup in FILE into the archive of CONFIG: all or nothing.

    A backup with events goes into an empty database. One without them goes into any: what is there
    stays. End all workers first.
    """
    url = archive_of(load_property(config))
    migrate(url)
    made = _run(lambda connection: restore_archive(url, connection, file), url)
    say(f"{file}: {_told(made)} are in the archive", err=True)


def _told(made: ArchiveBackup) -> str:
    rows = sum(made.rows.values())
    return f"{rows:,} rows of {len(made.rows)} SQL tables"


def _archive(config: Path) -> str:
    url = archive_of(load_property(config))
    require_current(url)
    return url


def _run(does: Callable[[Any], Any], url: str) -> Any:
    async def connected() -> Any:
        async with await connect_archive(url) as connection:
            return await does(connection)

    return asyncio.run(connected())
