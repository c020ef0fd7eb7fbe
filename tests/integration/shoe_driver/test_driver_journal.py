"""The driver's journal over a long life: in files, without a break; and when its disk lies."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

from baccarat.local_brokers.nats import LOOPBACK
from events.clock import SystemClock
from events.mqtt.bus import BusSettings
from shoe_driver.process.retention import JournalRetention
from shoe_driver.service.service import DriverConfig, DriverService
from tests.support.brokers.brokers import Broker
from tests.support.brokers.peers import at_work
from tests.support.machine.waiting import until
from tests.support.shoe.shoe_bytes import stream
from tests.support.shoe.shoe_line import SEED, TOPICS, Core, ShoePort, running

COUP = "D P1 9H, D B1 2D, D P2 8S, D B2 KC, G player"


@asynccontextmanager
async def with_small_files(port: int, shoe: ShoePort, journals: Path) -> AsyncIterator[None]:
    """A driver whose files are followed by others as soon as that can be."""
    config = DriverConfig(
        topics=TOPICS,
        url=shoe.url,
        profile="enq-bcc",
        journal_dir=journals,
        keep=JournalRetention(segment_bytes=1),
    )
    settings = BusSettings(LOOPBACK, port, "driver")
    async with running(DriverService(config, settings, SystemClock(), Random(SEED))):
        yield


def count(journals: Path) -> int:
    return len(list(journals.glob("*.journal")))


async def test_a_link_that_is_up_for_weeks_begins_new_files_between_coups(
    mosquitto: Broker, shoe: ShoePort, journals: Path
) -> None:
    core = Core(mosquitto.port)
    async with at_work(core.peer), with_small_files(mosquitto.port, shoe, journals):
        for coup in range(3):
            await until(lambda: core.state() in {"open", "up"}, "the link stands")
            before = count(journals)
            shoe.say(stream(COUP, first_seq=1 + coup * 5 % 9))
            await until(lambda n=before: count(journals) > n, "a new file")  # type: ignore[misc] # a lambda's default is not inferred
        await until(lambda: core.said.count("device_result") == 3, "all coups")
        await until(lambda: core.state() == "up", "the link is up")
    # Nothing of it is to be seen on the bus.
    assert core.said[:17] == [
        "link_open",
        "link_up",
        *[*["card_drawn"] * 4, "device_result"] * 3,
    ]


async def test_a_new_life_goes_on_where_the_last_file_ends(
    mosquitto: Broker, shoe: ShoePort, journals: Path
) -> None:
    core = Core(mosquitto.port)
    async with at_work(core.peer):
        for life in range(3):
            async with with_small_files(mosquitto.port, shoe, journals):
                await until(lambda: core.state() == "open", "the port is open")
                shoe.say(stream(COUP, first_seq=1 + life * 5 % 9))
                await until(lambda n=life: core.said.count("device_result") > n, "a coup")  # type: ignore[misc] # a lambda's default is not inferred
            await until(lambda: core.state() == "down", "its end")
    assert core.faces == ["9H", "2D", "8S", "KC"] * 3
    assert [event.seq for event in core.log] == list(range(1, len(core.log) + 1))
    assert len({event.journal for event in core.log}) == 1
