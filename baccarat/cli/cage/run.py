"""`baccarat cage run [CONFIG] [--url URL]`: book a table's settlements as they arrive."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from baccarat.cli.broker_options import broker_options
from events.errors import InputError

if TYPE_CHECKING:
    from baccarat.services.broker_at import LoginFiles

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
@click.option(
    "--message-key",
    type=click.Path(path_type=Path),
    help="With --url: the file of the cage's message key.",
)
@click.option("--patient", is_flag=True, help="Wait for a database that is not there yet.")
def run(
    config: Path | None,
    *,
    url: str | None,
    ledger: str | None,
    files: "LoginFiles",
    message_key: Path | None,
    patient: bool,
) -> None:
    """Book what the table of CONFIG settles, once each, until SIGTERM or Ctrl-C.

    What it missed while it was away it asks for. Nothing is acknowledged before it is committed.
    With --url it needs nothing of the table's configuration.
    """
    if (config is None) == (url is None):
        raise InputError("cage run: name the table's CONFIG, or its broker by --url")
    from baccarat.config.table import load_config  # noqa: PLC0415 - not for `--help`
    from baccarat.services import cage_ledger  # noqa: PLC0415 - loads the database's driver
    from baccarat.services.registry import configure_logging, run_here  # noqa: PLC0415 - as above

    configure_logging("cage")
    place = (
        cage_ledger.ledger_settings(load_config(config), ledger)
        if config
        else cage_ledger.ledger_settings_at(str(url), ledger or _LEDGER, files, message_key)
    )
    run_here(lambda stop: cage_ledger.serve(place, stop, lambda _: None, patient=patient))
