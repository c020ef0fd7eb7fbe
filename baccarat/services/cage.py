"""Run the cage's ledger from a table's configuration."""

import asyncio

from baccarat.config.form import TableConfig
from baccarat.services.cage_ledger import ledger_settings
from baccarat.services.cage_ledger import serve as serve_ledger
from baccarat.services.registry import Probe
from events.mqtt.process import no_probe

__all__ = ["serve"]


async def serve(config: TableConfig, stop: asyncio.Event, probe: Probe = no_probe) -> None:
    """Run the cage's ledger until `stop` is set; wait for a database that is away.

    Raises:
        TableError: the ledger or the broker cannot be used; one line names it.
    """
    await serve_ledger(ledger_settings(config), stop, probe, patient=True)
