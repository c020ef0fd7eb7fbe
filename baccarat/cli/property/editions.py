"""`baccarat property editions CONFIG [LOG...]`: archive the rulebooks and profiles of events."""

import asyncio
from pathlib import Path

import click

from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.property.run import archive_of
from baccarat.cli.shown import say
from baccarat.config.property import load_property
from baccarat.property.editions import editions_next_to_logs, shipped_editions
from events.errors import InputError
from events.log.editions import damaged_editions
from property.archive.database import connect_archive, migrate
from property.archive.store import Edition, store_editions

__all__ = ["editions"]


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("logs", nargs=-1, type=click.Path(path_type=Path), metavar="[LOG...]")
def editions(config: Path, logs: tuple[Path, ...]) -> int:
    """Give the archive of CONFIG the rulebooks and wire profiles that its tables' events cite.

    Those that ship it has from its own workers. What is a site's own lies in the folders
    `rulebooks` and `profiles` beside each LOG (table.sqlite), and beside a backup of it. Exit code
    1: some of that is damaged, and was left out.
    """
    url = archive_of(load_property(config))
    for log in logs:
        if not log.is_file():
            raise InputError(f"{log}: no such log; name a table's table.sqlite, or a backup of it")
    found = [*shipped_editions(), *editions_next_to_logs(logs)]
    migrate(url)
    asyncio.run(_store(url, found))
    say(f"{len(set(found))} editions are in the archive", err=True)
    damage = [line for log in logs for line in damaged_editions(log)]
    for line in damage:
        say(f"baccarat: left out: {line}", err=True)
    return EXIT_NO if damage else EXIT_DONE


async def _store(url: str, found: list[Edition]) -> None:
    connection = await connect_archive(url)
    try:
        await store_editions(url, connection, found)
    finally:
        await connection.close()
