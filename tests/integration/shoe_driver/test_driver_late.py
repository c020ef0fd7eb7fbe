"""Bytes that come late to a real driver: each card is told once, and nothing is told as lost."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

import pytest

from tests.support.brokers.brokers import Broker
from tests.support.machine.waiting import until
from tests.support.shoe.driver_process import DriverProcess, table_apart
from tests.support.shoe.shoe_bytes import frames
from tests.support.shoe.shoe_line import Core, ShoePort, driver, running

COUP = "D P1 9H, D B1 2D, D P2 8S, D B2 KC, G player"
FACES = ["9H", "2D", "8S", "KC"]
TOLD = ["link_open", "link_up", *["card_drawn"] * 4, "device_result", "shoe_ready"]
# From one packet that TCP sends again to several, and one latency timer a byte of two copies.
LATE_S = (0.316, 0.7, 1.0, 0.3, 0.5)
BROKER_LATE_S = 5.0


@contextmanager
def standing_still(pid: int) -> Iterator[None]:
    """The process is stopped while the block runs."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _has_told(core: Core, events: int) -> bool:
    return len(core.log) >= events


async def deal(core: Core, shoe: ShoePort, driving: DriverProcess, late: str) -> None:
    """A coup whose further copies come late: on the way, or to a driver that stands still."""
    for number, (report, late_s) in enumerate(zip(frames(COUP), LATE_S, strict=True)):
        shoe.say(report)
        if late == "driver":
            await until(partial(_has_told, core, number + 3), "the first copy is told")
        with standing_still(driving.pid) if late == "driver" else nullcontext():
            await asyncio.sleep(late_s)  # what is tested: the others are held back for so long
            shoe.say(report * 2)
    shoe.say(frames("P", first_seq=6)[0])


async def all_is_told_once(core: Core) -> None:
    await until(lambda: "shoe_ready" in core.said, "the coup is over")
    assert core.said == TOLD
    assert core.faces == FACES
    await until(lambda: core.link and core.link.reports == 6, "it was counted")
    assert core.link is not None
    assert (core.link.short_copies, core.link.rejected) == (0, 0)


@pytest.mark.parametrize("late", ["way", "driver"])
async def test_copies_behind_the_first_are_no_second_card(
    mosquitto: Broker, shoe: ShoePort, journals: Path, late: str
) -> None:
    async with table_apart(mosquitto.port, shoe.url, journals) as (core, driving):
        await deal(core, shoe, driving, late)
        await all_is_told_once(core)


async def test_a_broker_that_is_late_as_well_changes_nothing(
    broker: Broker, shoe: ShoePort, journals: Path
) -> None:
    async with table_apart(broker.port, shoe.url, journals) as (core, driving):
        with standing_still(broker.pid):
            began = time.monotonic()
            await deal(core, shoe, driving, "way")
            await asyncio.sleep(began + BROKER_LATE_S - time.monotonic())
        await all_is_told_once(core)


async def test_what_came_while_the_driver_stood_still_was_not_late(
    mosquitto: Broker, core: Core, shoe: ShoePort, journals: Path
) -> None:
    """The rest of a line waits to be read, for longer than half a line waits for it."""
    stands: list[float] = []

    def probe(step: str) -> None:
        if step == "journal.before" and stands:
            shoe.say(b"rd:9H>\r\n")
            time.sleep(stands.pop())

    served = driver(mosquitto.port, shoe.url, journals, profile="text-line", probe=probe)
    async with running(served):
        await until(lambda: core.state() == "open", "the port is open")
        stands.append(0.6)  # twice `partial_ms`
        shoe.say(b"[Game]<Ca")
        await until(lambda: core.said[1:], "something is told")
        shoe.say(b"[Game]<Card:2D>\r\n")
        await until(lambda: core.faces[-1:] == ["2D"], "and the next card")
    assert core.said[:4] == ["link_open", "link_up", "card_drawn", "card_drawn"]
    assert core.faces == FACES[:2]
