"""`baccarat property run|check|release|edges`: run services, and instruct the archive."""

import asyncio
import sys
from pathlib import Path

import click
import msgspec

from baccarat.cli.main import print_error
from baccarat.cli.shown import say
from baccarat.cli.value_types import NAME
from baccarat.config.errors import ConfigFault, ConfigFaults
from baccarat.config.property import load_property
from baccarat.config.property_form import PropertyConfig
from baccarat.processes.supervision import supervise
from baccarat.property.services import PROPERTY_SERVICES, present_services
from baccarat.rulebooks.library import site_rulebook
from baccarat.services.registry import configure_logging, run_here
from events.errors import ConfigError, InputError
from property.archive.database import connect_archive, migrate, require_current
from property.archive.store import release as release_feed
from property.hub.subjects import split_origin
from table_core.odds.exact import exact_odds
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.rulebook_file import full_shoe

__all__ = ["archive_of", "check", "edges", "release", "run"]

_CONFIG = click.argument("config", type=click.Path(path_type=Path))
_EDGE = """
INSERT INTO property.edge (rulebook, bet, numerator, denominator) VALUES (%s, %s, %s, %s)
ON CONFLICT (rulebook, bet) DO UPDATE
SET numerator = excluded.numerator, denominator = excluded.denominator
"""


@click.command()
@_CONFIG
@click.option("--only", type=click.Choice(sorted(PROPERTY_SERVICES)), help="This service alone.")
def run(config: Path, only: str | None) -> int:
    """Run what CONFIG says is on this machine, until SIGTERM or Ctrl-C.

    A hub or a database that is away is waited for. Nothing here can stop a table from dealing.
    """
    loaded = load_property(config)
    if only is not None:
        configure_logging(only)
        run_here(lambda stop: PROPERTY_SERVICES[only](loaded, stop))
        return 0
    commands: dict[str, list[str | Path]] = {
        name: [sys.executable, "-m", "baccarat", "property", "run", config.absolute(),
               "--only", service]
        for name, service in present_services(loaded).items()
    }  # fmt: skip
    if not commands:
        raise InputError(f"{config}: nothing runs here: it only reads the archive")
    ended_as_told = asyncio.run(supervise(commands, print_error, beside=commands))
    return 0 if ended_as_told else 1


@click.command()
@_CONFIG
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def check(config: Path, *, as_json: bool) -> int:
    """Say everything that is wrong with CONFIG, a line each; exit code 2 where something is."""
    if not as_json:
        load_property(config)
        say(f"{config}: in order")
        return 0
    faults: list[ConfigFault] = []
    try:
        load_property(config)
    except ConfigFaults as error:
        faults = list(error.faults)
    except ConfigError as error:
        faults = [ConfigFault(key="", reason=str(error))]
    click.echo(msgspec.json.encode({"ok": not faults, "errors": faults}))
    return 2 if faults else 0


@click.command()
@_CONFIG
@click.argument("table", metavar="SITE/TABLE")
@click.option("--by", type=NAME, required=True, help="Who has looked at it, for the record.")
def release(config: Path, table: str, by: str) -> int:
    """Let the archive take up a table's feed again that was stopped by a fork or a forgery.

    Exit code 1: it was not stopped.
    """
    split_origin(table)
    url = archive_of(load_property(config))
    require_current(url)
    released = asyncio.run(_release(url, table, by))
    say(f"{table}: {'goes on' if released else 'was not stopped'}", err=True)
    return 0 if released else 1


@click.command()
@_CONFIG
@click.option("--rulebook", "files", metavar="FILE", multiple=True, help="A site's own, too.")
def edges(config: Path, files: tuple[str, ...]) -> None:
    """Tell the archive what the house keeps of each bet, exactly, by every shipped rulebook.

    Theoretical win is computed from it. Say it again after an update.
    """
    url = archive_of(load_property(config))
    books = [*map(load_rulebook, shipped_ids()), *map(site_rulebook, files)]
    hashes: dict[str, str] = {}
    for book in books:
        if hashes.setdefault(book.id, book.hash) != book.hash:
            raise InputError(f"--rulebook: {book.id} is given in two versions: give one")
    migrate(url)
    for book in books:
        found = exact_odds(book, full_shoe(book.decks))
        rows = [
            (book.id, b, odds.edge.numerator, odds.edge.denominator) for b, odds in found.items()
        ]
        asyncio.run(_store_edges(url, rows))
        say(f"{book.id}: {len(rows)} bets", err=True)


def archive_of(config: PropertyConfig) -> str:
    """Return the archive's URL.

    Raises:
        ConfigError: the configuration has none.
    """
    if config.archive is None:
        raise ConfigError("archive: the configuration has no [archive], which is asked here")
    return config.archive.database


async def _release(url: str, table: str, by: str) -> bool:
    connection = await connect_archive(url)
    try:
        return await release_feed(url, connection, table, by)
    finally:
        await connection.close()


async def _store_edges(url: str, rows: list[tuple[str, str, int, int]]) -> None:
    connection = await connect_archive(url)
    try:
        async with connection.transaction(), connection.cursor() as cursor:
            await cursor.executemany(_EDGE, rows)
    finally:
        await connection.close()
