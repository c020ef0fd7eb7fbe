"""The group `baccarat property`: uplinks, archive, witness, page and queries of many tables."""

from pathlib import Path
from typing import Final

import click

from baccarat.cli.lazy import LazyGroup
from baccarat.cli.shown import say
from baccarat.config.property_form import PROPERTY
from events.errors import InputError

__all__ = ["init", "property_command"]

_COMMANDS: Final = {
    "backup": ("baccarat.cli.property.archive:backup", "copy the archive into a file"),
    "check": ("baccarat.cli.property.run:check", "everything that is wrong with a TOML file"),
    "checkpoint": (
        "baccarat.cli.property.checkpoint:checkpoint",
        "a table's newest cosigned checkpoint",
    ),
    "editions": (
        "baccarat.cli.property.editions:editions",
        "give the archive the rulebooks and profiles that logs cite",
    ),
    "edges": ("baccarat.cli.property.run:edges", "tell the archive the rulebooks' exact odds"),
    "events": ("baccarat.cli.property.archive:events", "a table's archived events as stored"),
    "hub": ("baccarat.cli.property.hub:hub", "write the files of the hub's nodes and leaves"),
    "init": ("baccarat.cli.property.group:init", "begin a TOML file, every key explained"),
    "query": ("baccarat.cli.property.query:query", "ask the archive a question by name"),
    "reader": (
        "baccarat.cli.property.archive:reader",
        "let a role of the database ask and change nothing",
    ),
    "rebuild": (
        "baccarat.cli.property.archive:rebuild_rows",
        "make the archive's rows again from its events",
    ),
    "refill": ("baccarat.cli.property.hub:refill", "have a table's feed filled in anew"),
    "release": ("baccarat.cli.property.run:release", "let a stopped table's feed go on"),
    "restore": ("baccarat.cli.property.archive:restore", "copy a backup back into an archive"),
    "retain": ("baccarat.cli.property.archive:retain", "drop the archive's old events"),
    "retire": ("baccarat.cli.property.hub:retire", "say that a table is given up"),
    "run": ("baccarat.cli.property.run:run", "run what a TOML file says, supervised"),
    "settle": (
        "baccarat.cli.property.settle:settle",
        "settle a table of which two stories are told",
    ),
    "status": ("baccarat.cli.property.status:status", "how far everything is, what stands"),
    "streams": ("baccarat.cli.property.hub:streams", "make the hub's streams"),
}


@click.group("property", cls=LazyGroup, lazy=_COMMANDS)
def property_command() -> None:
    """A property of many tables: each log goes to a hub, from there to an archive and a witness."""


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def init(file: Path) -> None:
    """Write FILE, a property's configuration with every key explained; `-` writes it to stdout."""
    if str(file) == "-":
        click.echo(PROPERTY.template(), nl=False)
        return
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(PROPERTY.template())
    except FileExistsError as error:
        raise InputError(f"{file}: is there already; choose another name") from error
    say(f"{file} is written: give it the sections of this machine, then check it", err=True)
