"""One service of many tables in one process: each table's on its own, so that none harms another.

With one table what ends the service ends the process, and its supervisor starts it again. With more
of them that would take every table away for the fault of one: here such a table's service is told
of and started again by itself, after pauses that grow, and the others never notice. They share what
a process shares, which is its loop: what keeps that from turning keeps all of them waiting.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

from baccarat.config.form import TableConfig
from baccarat.services.registry import (
    FOR_PEOPLE,
    Probe,
    Service,
    no_probe,
    raising_ours,
    run_here,
    service_of,
)
from events.errors import ConfigError, OurBug

__all__ = ["check_apart", "host", "run_hosted"]

# As the supervisor of processes has it: a broker that restarts is back by then ...
_PAUSE_S: Final = 0.5
# ... and who mends what ends over and over should not have to wait long after.
_PAUSE_MOST_S: Final = 30.0
# Having served for so long, an end is the first one again.
_STEADY_S: Final = 60.0

_log: Final = structlog.get_logger()


def run_hosted(configs: Sequence[TableConfig], name: str) -> None:
    """Run one service for each of these tables in this process until it is told to stop."""
    service = service_of(name)
    run_here(lambda stop: host(configs, service, stop))


async def host(
    configs: Sequence[TableConfig],
    service: Service,
    stop: asyncio.Event,
    probe: Probe = no_probe,
) -> None:
    """Run a service for each table until `stop` is set.

    Args:
        configs: the tables, `check_apart` from one another.
        service: what runs for each.
        stop: ends all of them, in order.
        probe: told of each step.
    """
    async with asyncio.TaskGroup() as tables:
        for config in configs:
            tables.create_task(_keep(config, service, stop, probe))


async def _keep(config: TableConfig, service: Service, stop: asyncio.Event, probe: Probe) -> None:
    """Start a table's service again whenever it ends, until all are to stop."""
    structlog.contextvars.bind_contextvars(table=config.origin)  # of this task alone
    loop = asyncio.get_running_loop()
    pause = _PAUSE_S
    while not stop.is_set():
        began = loop.time()
        error = await _end_of(service(config, stop, probe))
        if stop.is_set() and error is None:
            return
        if loop.time() - began > _STEADY_S:
            pause = _PAUSE_S
        _log.error(
            "table.ended", reason=str(error or "it was over"), **_trace(error), again_s=pause
        )
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), pause)
        pause = min(2 * pause, _PAUSE_MOST_S)


async def _end_of(serving: Awaitable[None]) -> BaseException | None:
    """What ended it, whatever it is: it is told and is the end of this table's service alone."""

    async def serve() -> None:
        with raising_ours():
            await serving

    task = asyncio.ensure_future(serve())
    try:
        await asyncio.wait({task})
    finally:
        task.cancel()  # which does nothing to what is done
    # One that cancelled itself would else be taken for our own end, and its table be forgotten.
    return asyncio.CancelledError("by itself") if task.cancelled() else task.exception()


def _trace(error: BaseException | None) -> dict[str, str]:
    """Where it came from, unless its line says all that there is to say."""
    if error is None or (isinstance(error, FOR_PEOPLE) and not isinstance(error, OurBug)):
        return {}
    return {"trace": "".join(traceback.format_exception(error))}


def check_apart(configs: Mapping[Path, TableConfig]) -> None:
    """See that several tables share nothing that can be one table's alone.

    Args:
        configs: by their files.

    Raises:
        ConfigError: two of them do: which, and what.
    """
    taken: dict[tuple[str, str], Path] = {}
    for path, config in configs.items():
        for what, value in _own(config):
            other = taken.setdefault((what, value), path)
            if other != path:
                raise ConfigError(
                    f"{path}: {what} is {value}, as in {other}: each table needs its own"
                )


def _own(config: TableConfig) -> Iterator[tuple[str, str]]:
    yield "site/table", config.origin
    yield "shoe.url", config.shoe.url
    yield "data.log", str(config.log_path.resolve())
    yield "data.journal", str(config.journal_path.resolve())
    for screens in (config.displays, config.scoreboard):
        if screens is not None:
            yield "the address of a screen", f"{screens.host}:{screens.port}"
    if config.metrics is not None:
        yield "metrics.port", str(config.metrics.port)
