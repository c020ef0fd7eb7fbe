"""`baccarat run CONFIG... [--only NAME]`: run the services of one or more tables.

There is one process a service; each hosts all the tables that it is given.

When a person starts the driver and the shoe's port cannot be opened, that is bad input and is
reported at once. With `--patient`, which a service manager uses after a power cut, the driver
waits for a port that is not there yet, as it does for one that is lost later.
"""

import asyncio
from pathlib import Path
from typing import Final

import click

from baccarat.cli.main import print_error
from baccarat.config.form import TableConfig
from baccarat.config.table import load_config
from baccarat.processes.supervision import supervise
from baccarat.services.hosting import check_nothing_shared, run_hosted
from baccarat.services.registry import (
    SERVICES,
    check_service,
    configure_logging,
    run_service,
    service_command,
)
from baccarat.site.credentials import link_credentials

__all__ = ["run"]

# Services that a configuration may leave out. The table does not wait for them.
_OPTIONAL: Final = ("cage", "displays", "metrics", "scoreboard")


@click.command()
@click.argument("config", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--only", type=click.Choice(sorted(SERVICES)), help="This service alone.")
@click.option("--patient", is_flag=True, help="Wait for a shoe port that is not there yet.")
def run(config: tuple[Path, ...], only: str | None, *, patient: bool) -> int:
    """Run the services of the tables that CONFIG... describe, until SIGTERM or Ctrl-C."""
    link_credentials()
    # Only the table's service reads the rulebooks; a service that runs alone reads what it needs.
    loaded = {path: load_config(path, rules=only is None) for path in config}
    check_nothing_shared(loaded)
    for name in [only] if only else sorted(SERVICES):
        for each in loaded.values():
            if not (patient and name == "shoe"):
                check_service(name, each)
    if only is not None:
        configure_logging(only)
        # If no table has the service, the service reports that itself.
        hosted = [each for each in loaded.values() if _has(each, only)] or [*loaded.values()][:1]
        if len(hosted) == 1:
            run_service(hosted[0], only)
        else:
            run_hosted(hosted, only)
        return 0
    wanted = [
        name for name in sorted(SERVICES) if any(_has(each, name) for each in loaded.values())
    ]
    commands = {name: service_command(config[0], name, *config[1:]) for name in wanted}
    ended_as_told = asyncio.run(supervise(commands, print_error, beside=_OPTIONAL))
    return 0 if ended_as_told else 1


def _has(config: TableConfig, service: str) -> bool:
    """Return whether the table's configuration has this service."""
    return service not in _OPTIONAL or getattr(config, service) is not None
