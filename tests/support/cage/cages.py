"""The cage's consumer under test, in this process."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from baccarat.services.cage_ledger import LedgerSettings, make_cage
from cage.ledger.database import parse_ledger_url
from cage.service import CageService
from events.mqtt.bus import BusSettings
from events.mqtt.process import no_probe
from events.mqtt.topics import Topics
from tests.support.brokers.brokers import Broker
from tests.support.machine.waiting import PATIENCE_SECONDS
from tests.support.service.small_table import HOST, TOPICS


@asynccontextmanager
async def cage(
    broker: Broker, ledger: str, probe: Callable[[str], None] = no_probe
) -> AsyncIterator[CageService]:
    bus = BusSettings(HOST, broker.port, "cage")
    async with asyncio.timeout(PATIENCE_SECONDS), cage_at(bus, TOPICS, ledger, probe) as made:
        yield made


@asynccontextmanager
async def cage_at(
    bus: BusSettings, topics: Topics, ledger: str, probe: Callable[[str], None] = no_probe
) -> AsyncIterator[CageService]:
    """A cage of any table."""
    settings = LedgerSettings(topics=topics, bus=bus, ledger=parse_ledger_url(ledger))
    made = make_cage(settings, probe=probe)
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(made.run(stop))
        try:
            yield made
        finally:
            stop.set()
