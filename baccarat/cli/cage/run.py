"""`baccarat cage run [CONFIG] [--url URL]`: book a table's settlements as they arrive."""

from pathlib import Path
from typing import Final

import click

from baccarat.cli.broker_options import broker_options
from baccarat.config.table import load_config
from baccarat.services.broker_at import LoginFiles
from baccarat.services.cage_ledger import ledger_settings, ledger_settings_at, serve
from baccarat.services.registry import configure_logging, run_here
from events.errors import InputError

__all__ = ["run"]

_LEDGER: Final = "cage.sqlite"


@click.command("run")
@click.argument("config", required=False, type=click.Path(path_type=Path))
@click.option(
    "--url",
    metavar="URL",
    help="mqtt[s]://[user[:password]@]host[:port]/<site>/<table>, instead of CONFIG.",
)
@click.option(
    "--ledger",
    metavar="FILE|URL",
    help=f"A SQLite file or postgresql://...; else CONFIG's, or {_LEDGER}.",
)
@broker_options
@click.option("--patient", is_flag=True, help="Wait for a database that is not there yet.")
def run(
    config: Path | None,
    *,
    url: str | None,
    ledger: str | None,
    files: LoginFiles,
    patient: bool,
) -> None:
    """Book what the table of CONFIG settles, once each, until SIGTERM or Ctrl-C.

    What it missed while it was away it asks for. Nothing is acknowledged before it is committed.
    With --url it needs nothing of the table's configuration.
    """
    if (config is None) == (url is None):
        raise InputError("cage run: name the table's CONFIG, or its broker by --url")
    configure_logging("cage")
    place = (
        ledger_settings(load_config(config), ledger)
        if config
        else ledger_settings_at(str(url), ledger or _LEDGER, files)
    )
    run_here(lambda stop: serve(place, stop, lambda _: None, patient=patient))
