"""Serve a table's metrics from its configuration."""

import asyncio

from baccarat.config.form import TableConfig
from baccarat.services.registry import Probe
from baccarat.site.metrics import TableHealth
from baccarat.site.metrics import serve as serve_page
from events.clock import SystemClock
from events.errors import ConfigError
from events.mqtt.process import no_probe

__all__ = ["serve"]


async def serve(
    config: TableConfig,
    stop: asyncio.Event,
    probe: Probe = no_probe,  # noqa: ARG001 - the same
) -> None:
    """Serve the table's metrics until `stop` is set.

    Raises:
        ConfigError: none are configured, or the port is in use.
    """
    given = config.metrics
    if given is None:
        raise ConfigError("metrics: the configuration has no [metrics]")
    disks = {"log": config.log_path.parent, "journal": config.journal_path}
    screens = {name: getattr(config, name) for name in ("displays", "scoreboard")}
    named = {"bus.ca": config.bus.ca, "bus.cert": config.bus.cert}
    named |= {f"{name}.cert": section.cert for name, section in screens.items() if section}
    certificates = {key: path for key, it in named.items() if (path := config.beside(it))}
    health = TableHealth(config.table, disks, SystemClock(), certificates=certificates)
    await serve_page(health, config.topics, config.own_bus("metrics"), given.port, stop)
