"""`baccarat property checkpoint CONFIG SITE/TABLE`: print the newest cosigned checkpoint."""

from pathlib import Path

import click

from baccarat.cli.shown import say
from baccarat.config.property import load_property
from events.errors import ConfigError
from property.hub.subjects import split_origin
from property.witness.store import read_book

__all__ = ["checkpoint"]


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("table", metavar="SITE/TABLE")
def checkpoint(config: Path, table: str) -> int:
    """Print a table's newest cosigned checkpoint, out of the file of the witness on this machine.

    `baccarat log verify LOG --checkpoint FILE --key PUB --witness KEY` holds a log against it. Exit
    code 1: none was cosigned yet.
    """
    split_origin(table)
    loaded = load_property(config)
    if loaded.witness is None:
        raise ConfigError(f"{config}: has no [witness], whose file is read here")
    kept, _ = read_book(loaded.beside(loaded.witness.book))
    note = next((each.note for each in kept if each.origin == table), None)
    if note is None:
        say(f"{table}: nothing is cosigned yet", err=True)
        return 1
    click.echo(note.decode(), nl=False)
    return 0
