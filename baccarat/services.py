"""The composition root of the services: each put together from a table's configuration.

A service runs until SIGTERM or SIGINT, says farewell, and ends. What fails ends it with an exit
code, and whoever supervises it starts it again: nothing is retried behind a person's back.
"""

import asyncio
import logging
import random
import signal
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Final

import structlog

from baccarat.config import TableConfig
from baccarat.deadline import Deadline
from baccarat.inspection import inspect_behind
from events.clock import SystemClock
from events.errors import OurBug, TableError
from events.log import EventLog
from shoe_driver.edge.catalogue import load_profile
from shoe_driver.edge.service import DriverConfig, DriverService
from table_core.shell.checkpoints import Checkpoints
from table_core.shell.service import TableService
from table_core.shell.table import Table, no_probe
from table_core.stores import load_rulebook, shipped

__all__ = [
    "SERVICES",
    "Probe",
    "Service",
    "configure_logging",
    "raising_ours",
    "run_service",
    "serve_shoe",
    "serve_table",
]

Probe = Callable[[str], None]
# Our own errors, the machine's (a pipe, a disk, a port), and a database file's.
_FOR_PEOPLE: Final = (TableError, OSError, sqlite3.Error)
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
        service = TableService(
            table,
            log,
            config.topics,
            config.bus_settings("table"),
            clock,
            checkpoints=Checkpoints(table, log, keys, clock) if keys else None,
            probe=probe,
            inspection=partial(inspect_behind, log.path) if log.checked_from > 1 else None,
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
        config.bus_settings("shoe"),
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


SERVICES: Final[dict[str, Service]] = {"shoe": serve_shoe, "table": serve_table}


def run_service(config: TableConfig, name: str, probe: Probe = no_probe) -> None:
    """Run one service in this process until it is told to stop.

    Raises:
        TableError: what ended it, where that is one of ours; whatever else it was, as it came.
    """
    deadline = Deadline(_STOP_MOST_S)
    with raising_ours():
        try:
            asyncio.run(_until_signalled(SERVICES[name], config, probe, deadline))
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
        if isinstance(found, _FOR_PEOPLE) and not isinstance(found, OurBug):
            return found
    return None


async def _until_signalled(
    service: Service, config: TableConfig, probe: Probe, deadline: Deadline
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stopping() -> None:
        stop.set()
        deadline.start()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping)
    await service(config, stop, probe)


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
