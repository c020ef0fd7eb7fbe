"""Host one service for many tables in one process, so that no table's failure harms another.

With one table, the end of the service ends the process, and the supervisor restarts it. With more,
that would take every table away for the fault of one. Instead this module reports the failed
service and restarts it alone, after growing pauses, and the other tables do not notice. The tables
still share the process's event loop: code that blocks it delays all of them.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from baccarat.config.form import TableConfig
from baccarat.services.registry import (
    REPORTED_ERRORS,
    Service,
    run_here,
    service_of,
    unwrapped_errors,
)
from events.errors import ConfigError, OurBug
from events.mqtt.backoff import Backoff
from events.mqtt.process import no_probe
from events.structured_log import structlog

__all__ = ["check_nothing_shared", "host", "run_hosted"]

# The same as for processes: a broker that restarts is back by then ...
_PAUSE_S: Final = 0.5
# ... and a person who repairs a service that ends over and over should not wait long after.
_PAUSE_MOST_S: Final = 30.0
# After serving this long, the next end counts as the first.
_STEADY_S: Final = 60.0

_log: Final = structlog.get_logger()


def run_hosted(configs: Sequence[TableConfig], name: str) -> None:
    """Run one service for each of these tables in this process until it is told to stop."""
    service = service_of(name)
    run_here(lambda stop: host(configs, service, stop))


async def host(configs: Sequence[TableConfig], service: Service, stop: asyncio.Event) -> None:
    """Run a service for each table until `stop` is set.

    Args:
        configs: the tables, which `check_nothing_shared` has accepted.
        service: runs for each table.
        stop: ends all of them, in order.
    """
    async with asyncio.TaskGroup() as tables:
        for config in configs:
            tables.create_task(_keep(config, service, stop))


async def _keep(config: TableConfig, service: Service, stop: asyncio.Event) -> None:
    """Restart a table's service whenever it ends, until all are to stop."""
    structlog.contextvars.bind_contextvars(table=config.origin)  # of this task alone
    loop = asyncio.get_running_loop()
    backoff = Backoff(_PAUSE_S, _PAUSE_MOST_S)
    while not stop.is_set():
        began = loop.time()
        error = await _error_of(service(config, stop, no_probe))
        if stop.is_set() and error is None:
            return
        if loop.time() - began > _STEADY_S:
            backoff.reset()
        pause = backoff.next_s()
        _log.error(
            "table.ended", reason=str(error or "it was over"), **_trace(error), again_s=pause
        )
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), pause)


async def _error_of(serving: Awaitable[None]) -> BaseException | None:
    """Return the error that ended a service, of any kind; it ends only this table's service."""

    async def serve() -> None:
        with unwrapped_errors():
            await serving

    task = asyncio.ensure_future(serve())
    try:
        await asyncio.wait({task})
    finally:
        task.cancel()  # no effect on a task that is done
    # A service that cancelled itself would be taken for our own end, and nobody would restart it.
    return asyncio.CancelledError("by itself") if task.cancelled() else task.exception()


def _trace(error: BaseException | None) -> dict[str, str]:
    """Return the traceback, unless the error's line is complete for a person."""
    if error is None or (isinstance(error, REPORTED_ERRORS) and not isinstance(error, OurBug)):
        return {}
    return {"trace": "".join(traceback.format_exception(error))}


def check_nothing_shared(configs: Mapping[Path, TableConfig]) -> None:
    """Check that several tables share nothing that must belong to one table.

    Args:
        configs: by their files.

    Raises:
        ConfigError: two of them share something: names both and it.
    """
    taken: dict[tuple[str, str], Path] = {}
    for path, config in configs.items():
        for what, value in _exclusive_resources(config):
            other = taken.setdefault((what, value), path)
            if other != path:
                raise ConfigError(
                    f"{path}: {what} is {value}, as in {other}: each table needs its own"
                )


def _exclusive_resources(config: TableConfig) -> Iterator[tuple[str, str]]:
    yield "site/table", config.origin
    yield "shoe.url", config.shoe.url
    yield "data.log", str(config.log_path.resolve())
    yield "data.journal", str(config.journal_path.resolve())
    for screens in (config.displays, config.scoreboard):
        if screens is not None:
            yield "the address of a screen", f"{screens.host}:{screens.port}"
    if config.metrics is not None:
        yield "metrics.port", str(config.metrics.port)
