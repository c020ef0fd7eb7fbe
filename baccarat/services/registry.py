"""The services of a table, by name, and what running any of them comes to.

A service runs until SIGTERM or SIGINT, says farewell, and ends. What fails ends it with an exit
code, and whoever supervises it starts it again: nothing is retried behind a person's back.
"""

import asyncio
import gc
import importlib
import logging
import signal
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import structlog

from baccarat.config.form import TableConfig
from baccarat.deadline import Deadline
from baccarat.site.notify import keep_notified, notify
from events.errors import OurBug, TableError

__all__ = [
    "FOR_PEOPLE",
    "SERVICES",
    "Probe",
    "Service",
    "check_service",
    "configure_logging",
    "no_probe",
    "raising_ours",
    "run_here",
    "run_service",
    "service_command",
    "service_of",
]

Probe = Callable[[str], None]
# Our own errors, the machine's (a pipe, a disk, a port), and a database file's.
FOR_PEOPLE: Final = (TableError, OSError, sqlite3.Error)
# Farewells, the end of the link and its record take seven seconds where all of them hang.
_STOP_MOST_S: Final = 8.0
Service = Callable[[TableConfig, asyncio.Event, Probe], Awaitable[None]]

SERVICES: Final = {
    "cage": "baccarat.services.cage:serve",
    "displays": "baccarat.services.screens:serve_displays",
    "metrics": "baccarat.services.metrics:serve",
    "scoreboard": "baccarat.services.screens:serve_scoreboard",
    "shoe": "baccarat.services.shoe:serve",
    "table": "baccarat.services.table:serve",
}
"""Name to where it is: imported when it is run, so that no process pays for another's packages."""

_CHECKS: Final = {
    "shoe": "baccarat.services.shoe:check",
    "table": "baccarat.services.table:check",
}


def no_probe(_: str) -> None:
    """Nobody is told of the steps."""


def service_of(name: str) -> Service:
    """The service of that name.

    Returns:
        What serves a table until its event is set. It raises a TableError, with one line for a
        person, where something that the configuration names cannot be used.
    """
    service: Service = _found(SERVICES[name])
    return service


def check_service(name: str, config: TableConfig) -> None:
    """What a person who starts a service is told before anything starts.

    Raises:
        TableError: something that it needs cannot be used: one line says what.
    """
    if name in _CHECKS:
        _found(_CHECKS[name])(config)


def _found(where: str) -> Any:
    module, _, attribute = where.partition(":")
    return getattr(importlib.import_module(module), attribute)


def run_service(config: TableConfig, name: str, probe: Probe = no_probe) -> None:
    """Run one service in this process until it is told to stop.

    Raises:
        TableError: what ended it, where that is one of ours; whatever else it was, as it came.
    """
    service = service_of(name)
    run_here(lambda stop: service(config, stop, probe))


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


def service_command(config: Path, service: str, *others: Path) -> list[str | Path]:
    """The command line of one service's own process.

    Args:
        config: a table's file.
        service: its name.
        others: the files of further tables that the same process hosts.
    """
    given = [path.absolute() for path in (config, *others)]
    return [sys.executable, "-m", "baccarat", "run", *given, "--only", service, "--patient"]
