"""`baccarat run CONFIG [--only shoe|table]`: a controller's services from its TOML file.

Started by a person, a shoe port that cannot be opened is bad input, and said at once. Started with
`--patient`, as a service manager does after a power cut, the driver waits for a reader that is not
there yet, as it does for one that is lost later.
"""

import asyncio
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

import click

from baccarat.children import Child
from baccarat.config import TableConfig, load_config
from baccarat.services import SERVICES, configure_logging, run_service
from shoe_driver.edge.catalogue import load_profile
from shoe_driver.edge.transport import Port, parse_url

__all__ = ["run", "service_command"]


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--only", type=click.Choice(sorted(SERVICES)), help="This service alone.")
@click.option("--patient", is_flag=True, help="Wait for a shoe port that is not there yet.")
def run(config: Path, only: str | None, *, patient: bool) -> int:
    """Run the services of the table that CONFIG describes, until SIGTERM or Ctrl-C."""
    loaded = load_config(config)
    if only != "table" and not patient:
        _try_port(loaded)
    if only is not None:
        configure_logging(only)
        run_service(loaded, only)
        return 0
    return asyncio.run(_supervise(config))


def _try_port(config: TableConfig) -> None:
    """Open the shoe's port once and close it again.

    Raises:
        TableError: it does not exist, is in use, or may not be used: one line says which.
    """
    profile = load_profile(config.shoe.profile)
    Port(parse_url(config.shoe.url, baud=profile.serial.baud)).close()


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


async def _supervise(config: Path) -> int:
    """A process a service; when one ends, the others are stopped too and the controller says so."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    with ExitStack() as children:
        running = [
            children.enter_context(Child.start(service_command(config, name), name=name))
            for name in sorted(SERVICES)
        ]
        ends = {asyncio.ensure_future(child.ended()): child.name for child in running}
        stopping = asyncio.ensure_future(stop.wait())
        done, _ = await asyncio.wait({*ends, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for task in (*ends, stopping):
            task.cancel()
        ended = [ends[task] for task in done if task in ends]
    if ended:
        click.echo(f"baccarat: the service {ended[0]} has ended; its reason stands above", err=True)
        return 1
    return 0
