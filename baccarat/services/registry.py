"""The services of a table by name, and how to run one in this process.

A service runs until SIGTERM or SIGINT, publishes offline, and ends. A failure ends it with an exit
code, and its supervisor restarts it: a service retries nothing without reporting it.
"""

import asyncio
import gc
import importlib
import logging
import os
import signal
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from baccarat.config.form import TableConfig
from baccarat.deadline import Deadline
from baccarat.services.restart import RestartableError, may_restart
from baccarat.site.notify import keep_notified, notify
from events.errors import OurBug, TableError
from events.mqtt.process import no_probe
from events.structured_log import structlog

__all__ = [
    "REPORTED_ERRORS",
    "SERVICES",
    "Probe",
    "Service",
    "check_service",
    "configure_logging",
    "run_here",
    "run_service",
    "service_command",
    "service_of",
    "unwrapped_errors",
]

Probe = Callable[[str], None]
# Our own errors, the machine's (a pipe, a disk, a port), and a database file's.
REPORTED_ERRORS: Final = (TableError, OSError, sqlite3.Error)
# Publishing offline, closing the link and recording that take seven seconds if all of them hang.
_STOP_MOST_S: Final = 8.0
# What a service writes (logs, journals, ledgers) is its user's alone, also outside systemd's units.
_PRIVATE: Final = 0o077
Service = Callable[[TableConfig, asyncio.Event, Probe], Awaitable[None]]

SERVICES: Final = {
    "cage": "baccarat.services.cage:serve",
    "displays": "baccarat.services.screens:serve_displays",
    "metrics": "baccarat.services.metrics:serve",
    "scoreboard": "baccarat.services.screens:serve_scoreboard",
    "shoe": "baccarat.services.shoe:serve",
    "table": "baccarat.services.table:serve",
}
"""Name to its import path: imported when it runs, so that no process loads another's packages."""

_CHECKS: Final = {
    "shoe": "baccarat.services.shoe:check",
    "table": "baccarat.services.table:check",
}


def service_of(name: str) -> Service:
    """Return the service of that name.

    Returns:
        The coroutine function that serves a table until its event is set. It raises a TableError,
        with one line for a person, where it cannot use something that the configuration names.
    """
    service: Service = _found(SERVICES[name])
    return service


def check_service(name: str, config: TableConfig) -> None:
    """Check a service's inputs for the person who starts it, before anything starts.

    Raises:
        TableError: something that it needs cannot be used: one line names it.
    """
    if name in _CHECKS:
        _found(_CHECKS[name])(config)


def _found(where: str) -> Any:
    module, _, attribute = where.partition(":")
    return getattr(importlib.import_module(module), attribute)


def run_service(config: TableConfig, name: str, probe: Probe = no_probe) -> None:
    """Run one service in this process until it is told to stop.

    Raises:
        RestartableError, TableError: as `run_here`.
    """
    service = service_of(name)
    run_here(lambda stop: service(config, stop, probe))


def run_here(service: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run something until SIGTERM or SIGINT sets its event.

    Raises:
        RestartableError: the machine ended it, and another start may succeed.
        TableError: another of our errors ended it; any other error is raised unchanged.
    """
    os.umask(_PRIVATE)
    deadline, ready = Deadline(_STOP_MOST_S), asyncio.Event()
    # Imported modules stay for ever; scanning them for garbage takes 25 ms in the middle of a coup.
    gc.freeze()
    try:
        with unwrapped_errors():
            asyncio.run(_until_signalled(service, deadline, ready))
    except REPORTED_ERRORS as error:
        if may_restart(error, ready=ready.is_set()):
            raise RestartableError(error) from error
        raise
    finally:
        deadline.settle()


@contextmanager
def unwrapped_errors() -> Iterator[None]:
    """Raise the error with a line for a person, without the task group's wrapping."""
    try:
        yield
    except BaseExceptionGroup as group:
        ours = _first_reported(group)
        if ours is None:
            raise
        raise ours from ours.__cause__ or group


def _first_reported(group: BaseExceptionGroup[BaseException]) -> Exception | None:
    """Return the group's first error that a person can act on; our bugs keep their trace."""
    for error in group.exceptions:
        found = _first_reported(error) if isinstance(error, BaseExceptionGroup) else error
        if isinstance(found, REPORTED_ERRORS) and not isinstance(found, OurBug):
            return found
    return None


async def _until_signalled(
    service: Callable[[asyncio.Event], Awaitable[None]], deadline: Deadline, ready: asyncio.Event
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stopping() -> None:
        notify("STOPPING=1")
        stop.set()
        deadline.start()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping)
    # A service opens everything that it needs before it first waits: only then is it ready.
    serving = asyncio.ensure_future(service(stop))
    await asyncio.sleep(0)
    if serving.done():
        return await serving
    ready.set()
    telling = asyncio.ensure_future(keep_notified())
    try:
        await serving
    finally:
        telling.cancel()


def configure_logging(service: str, *, quiet: bool = False) -> None:
    """Write structured logs as JSON lines on stderr, each with the service's name.

    Args:
        service: the name.
        quiet: errors only; the services' own processes log the rest.
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
    """Return the command line of one service's own process.

    Args:
        config: a table's file.
        service: its name.
        others: the files of further tables that the same process hosts.
    """
    given = [path.absolute() for path in (config, *others)]
    return [sys.executable, "-m", "baccarat", "run", *given, "--only", service, "--patient"]
