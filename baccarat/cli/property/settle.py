"""`baccarat property settle CONFIG SITE/TABLE`: settle a table of which two stories are told."""

import asyncio
from pathlib import Path
from typing import Final

import click

from baccarat.cli.property.hub import run_as_keeper
from baccarat.cli.shown import say
from baccarat.cli.value_types import NAME
from baccarat.config.property import load_property
from baccarat.property.settling import SettleWish, settle_archive, settle_witness
from events.clock import SystemClock
from events.errors import ConfigError
from events.proof.note import VerifierKey, parse_verifier_key
from property.hub.subjects import split_origin

__all__ = ["settle"]

_PATH: Final = click.Path(path_type=Path)


@click.command()
@click.argument("config", type=_PATH)
@click.argument("table", metavar="SITE/TABLE")
@click.option("--by", type=NAME, help="Who settles it, for the record; without, it is only told.")
@click.option("--password-file", type=_PATH, help="With the password of the login `keeper`.")
@click.option("--key", "keys", multiple=True, help="A public key of the table, or its file.")
@click.option("--from", "since", type=click.IntRange(1), help="Accept the log from this position.")
@click.option("--as", "goes_on_as", default="", metavar="SITE/TABLE-rN", help="As a new origin.")
def settle(
    config: Path,
    table: str,
    by: str | None,
    password_file: Path | None,
    keys: tuple[str, ...],
    since: int | None,
    goes_on_as: str,
) -> int:
    """Settle a table of which two stories are told; what gives way is kept as evidence.

    What no checkpoint of the table's own key covers gives way to the log. With --from a person
    accepts the log's history from a position; never behind what the witness has cosigned: such a
    log goes on as a new origin, --as. Say it on the machine of the archive, and on the witness's.
    """
    split_origin(table)
    loaded = load_property(config)
    wish = SettleWish(table, by or "", since, goes_on_as, tuple(map(_key, keys)))
    lines: list[str] = []
    if loaded.archive is not None:
        if password_file is None:
            raise ConfigError("--password-file: the hub's keeper settles it, with his password")
        asked = settle_archive(loaded, wish, lambda act: run_as_keeper(config, password_file, act))
        lines += asyncio.run(asked)
    if loaded.witness is not None and not goes_on_as:
        lines += settle_witness(loaded, wish, SystemClock())
    for line in lines or [f"{config}: has no [archive] and no [witness], which are settled here"]:
        say(line)
    return 0 if lines else 1


def _key(given: str) -> VerifierKey:
    path = Path(given)
    return parse_verifier_key(path.read_text("utf-8") if path.is_file() else given)
