"""The cage's consumer under test, in this process."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from cage.ledger.database import parse_ledger_url
from cage.ledger.store import LedgerStore
from cage.service import CageService
from events.clock import SystemClock
from events.mqtt.bus import BusSettings
from tests.support.brokers.brokers import Broker
from tests.support.cage.ledgers import STREAM
from tests.support.machine.waiting import PATIENCE_SECONDS
from tests.support.service.small_table import HOST, TOPICS

__all__ = ["cage"]


@asynccontextmanager
async def cage(
    broker: Broker, ledger: str, probe: Callable[[str], None] = lambda _: None
) -> AsyncIterator[CageService]:
    settings = BusSettings(HOST, broker.port, "cage")
    open_store = partial(LedgerStore.open, parse_ledger_url(ledger), STREAM)
    made = CageService(settings, TOPICS, open_store, SystemClock(), probe=probe)
    stop = asyncio.Event()
    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as tasks:
        tasks.create_task(made.run(stop))
        try:
            yield made
        finally:
            stop.set()
