"""A real driver with a shoe that is answered (`ref-crc`), and with bytes that come late.

The one is greeted at once and acknowledged from disk; of the others each card is told once, and
nothing is told as lost.
"""

import asyncio
import fcntl
import os
import signal
import struct
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

import pytest

from shoe_driver.profiles.catalogue import profile_text
from tests.support.brokers.brokers import Broker
from tests.support.machine.waiting import until
from tests.support.shoe.device_server import serving
from tests.support.shoe.driver_process import DriverProcess, driver_process, table_apart
from tests.support.shoe.ref_bytes import BOOT, POWER_UP, RESEND, Device, host_said
from tests.support.shoe.shoe_bytes import frames
from tests.support.shoe.shoe_line import Core, ShoePort, driver, running

CARD = 0x10
EIGHT_OF_SPADES = b"\x11\x18"


def waiting(shoe: ShoePort) -> int:
    """Bytes that the host has sent and the device has not read."""
    return int(struct.unpack("i", fcntl.ioctl(shoe.master, termios.FIONREAD, b"\0" * 4))[0])


def heard(shoe: ShoePort) -> bytes:
    """What the host has sent so far."""
    return os.read(shoe.master, 4096) if waiting(shoe) else b""


def acknowledged(shoe: ShoePort, device: Device, count: int) -> bool:
    """Whether the device has been told so; it answers what it is asked meanwhile."""
    shoe.say(device.answer(heard(shoe)))
    return device.unacked == count


async def test_what_is_acknowledged_is_on_disk_first(
    mosquitto: Broker, core: Core, shoe: ShoePort, journals: Path
) -> None:
    sent_before_the_disk: list[int] = []

    def probe(step: str) -> None:
        if step == "journal.before":
            sent_before_the_disk.append(waiting(shoe))

    device = Device()
    served = driver(mosquitto.port, shoe.url, journals, profile="ref-crc", probe=probe)
    async with running(served):
        await until(lambda: waiting(shoe) > 0, "the greeting")
        assert host_said(heard(shoe)) == [(RESEND, 0, 0)]
        for number in range(1, 4):
            shoe.say(device.say(CARD, EIGHT_OF_SPADES))
            await until(lambda n=number: acknowledged(shoe, device, n), "its acknowledgement")
        await until(lambda: core.said.count("card_drawn") == 3, "the cards")
    assert sent_before_the_disk
    assert set(sent_before_the_disk) == {0}


async def test_what_was_said_while_the_driver_was_away_is_asked_for_again(
    mosquitto: Broker, core: Core, shoe: ShoePort, journals: Path
) -> None:
    device = Device()
    with driver_process(mosquitto.port, shoe.url, journals, profile="ref-crc"):
        await until(lambda: host_said(heard(shoe)) == [(RESEND, 0, 0)], "the greeting")
        shoe.say(device.say(CARD, EIGHT_OF_SPADES))
        await until(lambda: acknowledged(shoe, device, 1), "its acknowledgement")
    shoe.unplug()
    shoe.plug_in()
    device.say(CARD, EIGHT_OF_SPADES)  # nobody hears it
    with driver_process(mosquitto.port, shoe.url, journals, profile="ref-crc"):
        await until(lambda: waiting(shoe) > 0, "the greeting")
        greeting = heard(shoe)
        assert host_said(greeting) == [(RESEND, BOOT, 1)]
        shoe.say(device.answer(greeting))
        await until(lambda: core.said.count("card_drawn") == 2, "the lost card")
    assert "report_lost" not in core.said


async def test_a_report_whose_last_acknowledgement_was_lost_before_a_new_journal_is_told_once(
    mosquitto: Broker, core: Core, shoe: ShoePort, journals: Path, tmp_path: Path
) -> None:
    other = tmp_path / "site.toml"
    other.write_bytes(profile_text("ref-crc").replace(b'1 = "cannot_read"', b'1 = "blind"'))
    device = Device()
    with driver_process(mosquitto.port, shoe.url, journals, profile="ref-crc"):
        await until(lambda: host_said(heard(shoe)) == [(RESEND, 0, 0)], "the greeting")
        shoe.say(device.say(POWER_UP))
        shoe.say(device.say(CARD, EIGHT_OF_SPADES))
        await until(lambda: core.faces == ["8S"], "the card")
    assert waiting(shoe) > 0
    shoe.unplug()  # and with it goes what the driver had acknowledged
    shoe.plug_in()
    assert (device.unacked, core.said.count("card_drawn")) == (0, 1)
    before = core.journal
    with driver_process(mosquitto.port, shoe.url, journals, profile=str(other)):
        await until(lambda: waiting(shoe) > 0, "the greeting")
        shoe.say(device.answer(heard(shoe)))
        await until(lambda: acknowledged(shoe, device, 2), "its acknowledgement at last")
        shoe.say(device.say(CARD, b"\x21\x29"))
        await until(lambda: acknowledged(shoe, device, 3), "the next card's")
        await until(lambda: core.journal != before, "a new journal")
        await until(lambda: core.faces != [], "its first card")
    assert core.said == ["link_open", "link_up", "card_drawn"]
    assert core.faces == ["9H"]


async def test_a_device_that_beats_and_falls_silent_is_let_go_and_asked_anew(
    mosquitto: Broker, journals: Path
) -> None:
    """Rows 14, 16 and 23: a half-open link is noticed by time, whatever the network says."""
    device = Device()
    async with (
        serving() as server,
        table_apart(mosquitto.port, server.url, journals, profile="ref-crc") as (core, _),
    ):
        server.say(device.say(0x01))
        await until(lambda: core.state() == "up", "it is up")
        await until(lambda: core.state() == "stalled", "it is silent")
        await until(lambda: server.clients == 2, "it is asked anew")
        await until(lambda: core.state() == "open", "it is open again")
        await until(lambda: core.said.count("link_open") >= 2, "the core has it")
        assert any("no heartbeat for" in status.reason for status in core.statuses)


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
