"""The driver's journal over a long life: in files, without a break; and when its disk lies."""

import asyncio
from pathlib import Path

from shoe_driver.service.retention import JournalRetention
from tests.support.brokers.brokers import Broker
from tests.support.machine.waiting import until
from tests.support.shoe.shoe_bytes import stream
from tests.support.shoe.shoe_line import Core, ShoePort, driver, only_journal, running

COUP = "D P1 9H, D B1 2D, D P2 8S, D B2 KC, G player"


# Every file is followed by another as soon as that can be.
SMALL = JournalRetention(segment_bytes=1)


def count(journals: Path) -> int:
    return len(list(journals.glob("*.journal")))


async def test_a_link_that_is_up_for_weeks_begins_new_files_between_coups(
    mosquitto: Broker, core: Core, shoe: ShoePort, journals: Path
) -> None:
    async with running(driver(mosquitto.port, shoe.url, journals, keep=SMALL)):
        for coup in range(3):
            await until(lambda: core.state() in {"open", "up"}, "the link stands")
            before = count(journals)
            shoe.say(stream(COUP, first_seq=1 + coup * 5 % 9))
            await until(lambda n=before: count(journals) > n, "a new file")
        await until(lambda: core.said.count("device_result") == 3, "all coups")
        await until(lambda: core.state() == "up", "the link is up")
    # Nothing of it is to be seen on the bus.
    assert core.said[:17] == [
        "link_open",
        "link_up",
        *[*["card_drawn"] * 4, "device_result"] * 3,
    ]


async def test_a_new_life_goes_on_where_the_last_file_ends(
    mosquitto: Broker, core: Core, shoe: ShoePort, journals: Path
) -> None:
    for life in range(3):
        async with running(driver(mosquitto.port, shoe.url, journals, keep=SMALL)):
            await until(lambda: core.state() == "open", "the port is open")
            shoe.say(stream(COUP, first_seq=1 + life * 5 % 9))
            await until(lambda n=life: core.said.count("device_result") > n, "a coup")
        await until(lambda: core.state() == "down", "its end")
    assert core.faces == ["9H", "2D", "8S", "KC"] * 3
    assert [event.seq for event in core.log] == list(range(1, len(core.log) + 1))
    assert len({event.journal for event in core.log}) == 1


async def test_a_core_that_has_more_than_the_driver_gets_a_new_journal(
    mosquitto: Broker, core: Core, shoe: ShoePort, journals: Path
) -> None:
    """The disk has lost what was acknowledged, and the note of it: numbers are never reused."""
    async with running(driver(mosquitto.port, shoe.url, journals)):
        await until(lambda: core.said == ["link_open"], "the port is open")
        old = core.journal
        core.ack(40)  # not a hello: somebody's mistake
        await asyncio.sleep(0.5)  # nothing is to happen
        assert core.journal == old
        core.ack(40, hello=True)
        await until(lambda: core.journal != old and core.log, "a new journal")
        assert core.said == ["link_open"]
        await until(
            lambda: core.link and f"lost events of journal {old} (" in core.link.hint, "it is said"
        )
        shoe.say(stream(COUP))
        await until(lambda: core.faces == ["9H", "2D", "8S", "KC"], "the line goes on")
        assert core.log[0].seq == 1


async def test_a_torn_tail_is_said_in_the_links_hint(
    mosquitto: Broker, core: Core, shoe: ShoePort, journals: Path
) -> None:
    async with running(driver(mosquitto.port, shoe.url, journals)):
        await until(lambda: core.said == ["link_open"], "the port is open")
    path = only_journal(journals)
    with path.open("ab") as file:
        file.write(b"\x02\0\0\0")
    async with running(driver(mosquitto.port, shoe.url, journals)):
        wanted = f"an unfinished tail of 4 bytes was cut off {path.name}"
        await until(lambda: core.link and wanted in core.link.hint, "it is said")
