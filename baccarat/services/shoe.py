"""Run the shoe driver from a table's configuration."""

import asyncio
import random
from typing import Final

from baccarat.config.form import KeepConfig, TableConfig
from baccarat.services.registry import Probe
from events.clock import SystemClock
from events.mqtt.process import no_probe
from shoe_driver.process.retention import JournalRetention
from shoe_driver.profiles.catalogue import load_profile
from shoe_driver.service.service import DriverConfig, DriverService
from shoe_driver.transports.endpoint import parse_url
from shoe_driver.transports.port import try_port

__all__ = ["check", "serve"]

_MEGABYTE: Final = 1024 * 1024


async def serve(config: TableConfig, stop: asyncio.Event, probe: Probe = no_probe) -> None:
    """Run the shoe driver until `stop` is set.

    Raises:
        TableError: the port, the journal or the broker cannot be used; one line names it.
    """
    driver = DriverService(
        DriverConfig(
            topics=config.topics,
            url=config.shoe.url,
            profile=config.profile_name,
            journal_dir=config.journal_path,
            keep=_keep(config.shoe.keep),
        ),
        config.own_bus("shoe"),
        SystemClock(),
        random.Random(),  # noqa: S311 - spreads attempts in time, guards nothing
        probe,
        keys=config.own_keys("shoe"),
    )
    await driver.run(stop)


def check(config: TableConfig) -> None:
    """Open the shoe's port once and close it again.

    Raises:
        TableError: it does not exist, is in use, or may not be used, or the message key cannot be
            used: one line says which.
    """
    config.own_keys("shoe")
    profile = load_profile(config.profile_name)
    try_port(parse_url(config.shoe.url, baud=profile.serial.baud, line=profile.serial))


def _keep(given: KeepConfig) -> JournalRetention:
    size = given.segment_megabytes * _MEGABYTE
    return JournalRetention(days=given.days, megabytes=given.megabytes, segment_bytes=size)
