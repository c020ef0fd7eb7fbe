"""The cage's ledger, from a table's configuration."""

import asyncio

from baccarat.caging import place_of
from baccarat.caging import serve as serve_ledger
from baccarat.config_form import TableConfig
from baccarat.services import Probe, no_probe

__all__ = ["serve"]


async def serve(config: TableConfig, stop: asyncio.Event, probe: Probe = no_probe) -> None:
    """Run the cage's ledger until `stop` is set; a database that is away is waited for.

    Raises:
        TableError: the ledger or the broker cannot be used; one line says which.
    """
    await serve_ledger(place_of(config), stop, probe, patient=True)
