"""`ref-crc`, the one device that is answered: greeted at once, acknowledged from disk."""

import fcntl
import os
import struct
import termios
from pathlib import Path

from shoe_driver.profiles.catalogue import profile_text
from tests.support.brokers.brokers import Broker
from tests.support.machine.waiting import until
from tests.support.shoe.device_server import serving
from tests.support.shoe.driver_process import driver_process, table_apart
from tests.support.shoe.ref_bytes import BOOT, POWER_UP, RESEND, Device, host_said
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
