"""`baccarat run CONFIG [--only NAME]`: a controller's services from its TOML file.

Started by a person, a shoe port that cannot be opened is bad input, and said at once. Started with
`--patient`, as a service manager does after a power cut, the driver waits for a reader that is not
there yet, as it does for one that is lost later.
"""

import asyncio
import sys
from pathlib import Path
from typing import Final

import click

from baccarat.config import load_config
from baccarat.config_form import TableConfig
from baccarat.services import SERVICES, configure_logging, run_service
from baccarat.supervision import supervise
from shoe_driver.edge.catalogue import load_profile
from shoe_driver.edge.endpoint import parse_url
from shoe_driver.edge.transport import try_port

__all__ = ["run", "service_command"]

# They may be left out of a configuration; where they are in it, the table does not wait for them.
_BESIDE: Final = ("cage", "displays", "metrics", "scoreboard")


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--only", type=click.Choice(sorted(SERVICES)), help="This service alone.")
@click.option("--patient", is_flag=True, help="Wait for a shoe port that is not there yet.")
def run(config: Path, only: str | None, *, patient: bool) -> int:
    """Run the services of the table that CONFIG describes, until SIGTERM or Ctrl-C."""
    loaded = load_config(config)
    if only in {None, "shoe"} and not patient:
        _try_port(loaded)
    if only in {None, "table"}:
        loaded.checkpoint_keys()  # what cannot be used is said before anything starts
        loaded.roles()
    if only is not None:
        configure_logging(only)
        run_service(loaded, only)
        return 0
    left_out = {name for name in _BESIDE if getattr(loaded, name) is None}
    wanted = sorted(SERVICES.keys() - left_out)
    commands = {name: service_command(config, name) for name in wanted}
    ended_as_told = asyncio.run(supervise(commands, _tell, beside=_BESIDE))
    return 0 if ended_as_told else 1


def _tell(line: str) -> None:
    click.echo(f"baccarat: {line}", err=True)


def _try_port(config: TableConfig) -> None:
    """Open the shoe's port once and close it again.

    Raises:
        TableError: it does not exist, is in use, or may not be used: one line says which.
    """
    profile = load_profile(config.shoe.profile)
    try_port(parse_url(config.shoe.url, baud=profile.serial.baud))


def service_command(config: Path, service: str) -> list[str | Path]:
    """The command line of one service's own process."""
    return [
        sys.executable,
        "-m",
        "baccarat",
        "run",
        config.absolute(),
        "--only",
        service,
        "--patient",
    ]
