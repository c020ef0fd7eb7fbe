"""The composition root of the services: each put together from a table's configuration.

A service runs until SIGTERM or SIGINT, says farewell, and ends. What fails ends it with an exit
code, and whoever supervises it starts it again: nothing is retried behind a person's back.
"""

import asyncio
import gc
import logging
import random
import signal
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Final

import msgspec
import structlog

from baccarat.config_form import ScoreboardConfig, TableConfig
from baccarat.deadline import Deadline
from baccarat.inspection import inspect_behind
from baccarat.site.notify import keep_notified, notify
from displays.service import DisplayService, DisplaySettings
from events.bus import BusSettings
from events.clock import SystemClock
from events.errors import ConfigError, OurBug, TableError
from events.log import EventLog
from shoe_driver.edge.catalogue import load_profile
from shoe_driver.edge.service import DriverConfig, DriverService
from table_core.shell.checkpoints import Checkpoints
from table_core.shell.looking_process import ReaderProcess
from table_core.shell.service import TableService
from table_core.shell.table import Table, no_probe
from table_core.stores import load_rulebook, shipped

__all__ = [
    "FOR_PEOPLE",
    "SERVICES",
    "Probe",
    "Service",
    "configure_logging",
    "raising_ours",
    "run_here",
    "run_service",
    "serve_cage",
    "serve_displays",
    "serve_metrics",
    "serve_scoreboard",
    "serve_shoe",
    "serve_table",
]

Probe = Callable[[str], None]
# Our own errors, the machine's (a pipe, a disk, a port), and a database file's.
FOR_PEOPLE: Final = (TableError, OSError, sqlite3.Error)
# Farewells, the end of the link and its record take seven seconds where all of them hang.
_STOP_MOST_S: Final = 8.0
Service = Callable[[TableConfig, asyncio.Event, Probe], Awaitable[None]]

_log: Final = structlog.get_logger()


async def serve_table(config: TableConfig, stop: asyncio.Event, probe: Probe = no_probe) -> None:
    """Run the table core until `stop` is set.

    Raises:
        TableError: the rulebook, the log or the broker cannot be used; one line says which.
    """
    rulebook, profile = load_rulebook(config.rulebook), load_profile(config.shoe.profile)
    keys, clock = config.checkpoint_keys(), SystemClock()
    with ExitStack() as stack:
        log = stack.enter_context(EventLog.open(config.log_path, config.origin))
        table = Table(
            log,
            config.topics,
            rulebook,
            clock,
            roles=config.roles(),
            result_required=profile.result == "required",
            library=tuple(map(load_rulebook, shipped())),
            probe=probe,
        )
        table.close_files(config.data.new_file)
        table.take_limits(config.limits.as_event() if config.limits else None)
        service = TableService(
            table,
            log,
            config.topics,
            config.bus_settings("table"),
            clock,
            checkpoints=Checkpoints(table, log, keys, clock) if keys else None,
            probe=probe,
            inspection=partial(inspect_behind, log.path) if log.checked_from > 1 else None,
            consumers=[f"{config.cage.user}/{config.cage.consumer}"] if config.cage else (),
            past=ReaderProcess([sys.executable, "-m", "baccarat.past", log.path]),
        )
        if keys is None:
            _log.warning("checkpoints.off", why="no checkpoints.key is configured")
        await service.run(stop)


async def serve_shoe(config: TableConfig, stop: asyncio.Event, probe: Probe = no_probe) -> None:
    """Run the shoe driver until `stop` is set.

    Raises:
        TableError: the port, the journal or the broker cannot be used; one line says which.
    """
    driver = DriverService(
        DriverConfig(
            topics=config.topics,
            url=config.shoe.url,
            profile=config.shoe.profile,
            journal_dir=config.journal_path,
            keep=config.shoe.keep.policy(),
        ),
        config.shoe_bus(),
        SystemClock(),
        random.Random(),  # noqa: S311 - spreads attempts in time, guards nothing
        probe,
    )
    running = asyncio.ensure_future(driver.run())
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
    for task in (stopping, running):
        task.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def serve_displays(
    config: TableConfig,
    stop: asyncio.Event,
    probe: Probe = no_probe,  # noqa: ARG001 - a display has no step that matters to a crash test
) -> None:
    """Run the screens' web server until `stop` is set.

    Raises:
        TableError: the users file, the certificate, the address or the broker cannot be used.
    """
    given = config.displays
    if given is None:
        raise ConfigError("displays: the configuration has no [displays]")
    settings = msgspec.structs.replace(
        _screens(config, "displays", given),
        users=config.beside(given.users),
        idle_s=given.idle_minutes * 60,
    )
    await _serve_screens(config, settings, config.displays_bus(), stop)


async def serve_scoreboard(
    config: TableConfig,
    stop: asyncio.Event,
    probe: Probe = no_probe,  # noqa: ARG001 - the same
) -> None:
    """Run the web server of the scoreboard alone until `stop` is set.

    Raises:
        TableError: the certificate, the address or the broker cannot be used.
    """
    given = config.scoreboard
    if given is None:
        raise ConfigError("scoreboard: the configuration has no [scoreboard]")
    settings = _screens(config, "scoreboard", given)
    await _serve_screens(config, settings, config.scoreboard_bus(), stop)


def _screens(config: TableConfig, section: str, given: ScoreboardConfig) -> DisplaySettings:
    return DisplaySettings(
        section=section,
        host=given.host,
        port=given.port,
        names=given.names,
        cert=config.beside(given.cert),
        key=config.beside(given.key),
        betting_s=given.betting_s,
    )


async def _serve_screens(
    config: TableConfig, settings: DisplaySettings, bus: BusSettings, stop: asyncio.Event
) -> None:
    clock = SystemClock()
    service = DisplayService(
        settings, config.topics, bus, clock, session=clock.utc_ns() // 1_000_000
    )
    await service.run(stop)


async def serve_cage(config: TableConfig, stop: asyncio.Event, probe: Probe = no_probe) -> None:
    """Run the cage's ledger until `stop` is set; a database that is away is waited for.

    Raises:
        TableError: the ledger or the broker cannot be used; one line says which.
    """
    # Its packages take 30 MB and a third of a second, which the other services do without.
    from baccarat.caging import place_of, serve  # noqa: PLC0415 - as said above

    await serve(place_of(config), stop, probe, patient=True)


async def serve_metrics(
    config: TableConfig,
    stop: asyncio.Event,
    probe: Probe = no_probe,  # noqa: ARG001 - the same
) -> None:
    """Serve the table's metrics until `stop` is set.

    Raises:
        ConfigError: none are configured, or the port is in use.
    """
    # Its package is for this service alone.
    from baccarat.site import metrics  # noqa: PLC0415 - as said above

    given = config.metrics
    if given is None:
        raise ConfigError("metrics: the configuration has no [metrics]")
    disks = {"log": config.log_path.parent, "journal": config.journal_path}
    health = metrics.Health(config.table, disks, SystemClock())
    await metrics.serve(health, config.topics, config.metrics_bus(), given.port, stop)


SERVICES: Final[dict[str, Service]] = {
    "cage": serve_cage,
    "displays": serve_displays,
    "metrics": serve_metrics,
    "scoreboard": serve_scoreboard,
    "shoe": serve_shoe,
    "table": serve_table,
}


def run_service(config: TableConfig, name: str, probe: Probe = no_probe) -> None:
    """Run one service in this process until it is told to stop.

    Raises:
        TableError: what ended it, where that is one of ours; whatever else it was, as it came.
    """
    run_here(lambda stop: SERVICES[name](config, stop, probe))


def run_here(service: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run something until SIGTERM or SIGINT sets its event.

    Raises:
        TableError: what ended it, where that is one of ours; whatever else it was, as it came.
    """
    deadline = Deadline(_STOP_MOST_S)
    # What was imported stays for ever. To look through it for garbage takes 25 ms, in mid-coup.
    gc.freeze()
    with raising_ours():
        try:
            asyncio.run(_until_signalled(service, deadline))
        finally:
            deadline.settle()


@contextmanager
def raising_ours() -> Iterator[None]:
    """Take the error that has a line for a person out of the group that a task group made of it."""
    try:
        yield
    except BaseExceptionGroup as group:
        ours = _first_of_ours(group)
        if ours is None:
            raise
        raise ours from group


def _first_of_ours(group: BaseExceptionGroup[BaseException]) -> Exception | None:
    """The first error in the group that a person can act on; a bug of ours keeps its trace."""
    for error in group.exceptions:
        found = _first_of_ours(error) if isinstance(error, BaseExceptionGroup) else error
        if isinstance(found, FOR_PEOPLE) and not isinstance(found, OurBug):
            return found
    return None


async def _until_signalled(
    service: Callable[[asyncio.Event], Awaitable[None]], deadline: Deadline
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stopping() -> None:
        notify("STOPPING=1")
        stop.set()
        deadline.start()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping)
    # What a service opens it opens before it first waits: then, and not before, it is ready.
    serving = asyncio.ensure_future(service(stop))
    telling = asyncio.ensure_future(keep_notified())
    try:
        await serving
    finally:
        telling.cancel()


def configure_logging(service: str, *, quiet: bool = False) -> None:
    """Structured logs as JSON lines on stderr, each with the service's name.

    Args:
        service: the name.
        quiet: errors only; the services' own processes say the rest.
    """
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.ERROR if quiet else logging.INFO
        ),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(service=service)
