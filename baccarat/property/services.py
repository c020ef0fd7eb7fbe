"""The property's services, each assembled from the property's configuration."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from baccarat.config.property_form import PropertyConfig
from events.clock import SystemClock
from events.errors import ConfigError
from property.background_tasks import end_tasks
from property.uplink.service import UplinkLog, feeds_of, run_uplink
from property.witness.service import run_witness
from property.witness.store import WitnessBook

__all__ = ["PROPERTY_SERVICES", "PropertyService", "present_services"]

PropertyService = Callable[[PropertyConfig, asyncio.Event], Awaitable[None]]


async def _uplink(config: PropertyConfig, stop: asyncio.Event) -> None:
    if config.uplink is None:
        raise ConfigError("uplink: the configuration has no [uplink]")
    logs = [
        UplinkLog(
            path=config.beside(table.log), hub=config.hub_settings(origin, table.password_file)
        )
        for origin, table in config.uplink.tables.items()
    ]
    await run_uplink(feeds_of(logs, SystemClock()), stop)


async def _archive(config: PropertyConfig, stop: asyncio.Event) -> None:
    # Its packages take 30 MB and a third of a second, which the other services save.
    from baccarat.property.editions import (  # noqa: PLC0415 - as explained above
        read_edition,
        shipped_editions,
    )
    from baccarat.property.machine import machine_readings  # noqa: PLC0415 - as explained above
    from baccarat.property.shuffles import order_alarm  # noqa: PLC0415 - as explained above
    from property.archive.shuffles import watch_shuffles  # noqa: PLC0415 - as explained above
    from property.archive.worker import run_worker  # noqa: PLC0415 - as explained above

    archive = config.archive
    if archive is None or archive.password_file is None:
        raise ConfigError("archive: the configuration has no [archive] with a password_file")
    hub = config.hub_settings("archive", archive.password_file)
    watching = asyncio.create_task(watch_shuffles(archive.database, order_alarm, stop))
    try:
        await run_worker(
            archive.database,
            hub,
            stop,
            read_edition,
            editions=shipped_editions(),
            local=partial(machine_readings, config),
        )
    finally:
        await end_tasks([watching])


async def _witness(config: PropertyConfig, stop: asyncio.Event) -> None:
    given = config.witness
    if given is None:
        raise ConfigError("witness: the configuration has no [witness]")
    settings = config.witness_settings()
    hub = config.hub_settings("witness", given.password_file)
    book = WitnessBook.open(config.beside(given.book))
    try:
        await run_witness(settings, book, hub, SystemClock(), stop)
    finally:
        book.close()


async def _page(config: PropertyConfig, stop: asyncio.Event) -> None:
    from baccarat.property.page import serve  # noqa: PLC0415 - as for the archive

    await serve(config, stop)


async def _metrics(config: PropertyConfig, stop: asyncio.Event) -> None:
    from baccarat.property.metrics import serve  # noqa: PLC0415 - as for the archive

    await serve(config, stop)


PROPERTY_SERVICES: Final[dict[str, PropertyService]] = {
    "archive": _archive,
    "metrics": _metrics,
    "page": _page,
    "uplink": _uplink,
    "witness": _witness,
}


def present_services(config: PropertyConfig) -> dict[str, str]:
    """Return the services that run on this machine: process name to service."""
    found = {
        name: name for name in ("uplink", "witness", "page", "metrics") if getattr(config, name)
    }
    workers = config.archive.workers if config.archive else 0
    for number in range(1, workers + 1):
        found["archive" if workers == 1 else f"archive-{number}"] = "archive"
    return found
