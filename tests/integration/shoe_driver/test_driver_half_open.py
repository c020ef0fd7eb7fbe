"""Rows 14, 16 and 23 on a real network stack: a device server that is gone without a word.

The kernel of this machine drops every packet to the server's sockets. Its connection stands on both
sides, and nothing crosses it any more: what a power cut or a pulled cable behind a switch does.
"""

import time
from pathlib import Path

from tests.support.brokers.brokers import Broker
from tests.support.brokers.peers import at_work
from tests.support.machine.waiting import BUSY, until
from tests.support.shoe.device_server import serving
from tests.support.shoe.driver_process import DriverProcess, driver_process
from tests.support.shoe.ref_bytes import POWER_UP, Device
from tests.support.shoe.shoe_bytes import stream
from tests.support.shoe.shoe_line import Core

_LOOK = "look at the device server: its power, its network, its address"


def said_down(process: DriverProcess) -> list[tuple[str, str]]:
    """Reasons and hints that it has logged, in order."""
    return [(line["reason"], line["hint"]) for line in process.said("link.down")]


async def test_a_shoe_that_may_be_mute_is_missed_by_the_kernels_questions(
    mosquitto: Broker, journals: Path
) -> None:
    """Between coups this shoe says nothing: only the network can show that nobody is there."""
    core = Core(mosquitto.port)
    async with serving() as server, at_work(core.peer):
        with driver_process(mosquitto.port, server.url, journals) as process:
            await until(lambda: core.state() == "open", "it is open")
            server.say(stream("D P1 9H, D B1 2D, D P2 8S, D B2 KC, G player"))
            await until(lambda: core.said[-1:] == ["device_result"], "a coup")
            server.vanish()
            gone = time.monotonic()
            await until(lambda: core.state() == "down", "it is missed")
            assert 3 < time.monotonic() - gone < 10 * BUSY  # ten seconds are promised
            await until(lambda: len(said_down(process)) == 2, "it is called again")
            assert said_down(process) == [
                (f"{server.url}: connected, and no sign of life for 10 s", _LOOK),
                (f"{server.url}: no answer within 2 s", _LOOK),
            ]
            last = said_down(process)[-1]
            await until(
                lambda: core.link is not None and (core.link.reason, core.link.hint) == last,
                "the bus tells it too",
            )
            server.come_back()
            back = time.monotonic()
            await until(lambda: core.state() == "open", "it is back")
            assert time.monotonic() - back < 2.0 * BUSY
            server.say(stream("D P1 3C", first_seq=6))
            await until(lambda: core.faces[-1] == "3C", "the next coup")
    assert core.said[-4:] == ["link_down", "link_open", "link_up", "card_drawn"]


async def test_a_device_that_beats_is_missed_by_its_beats(
    mosquitto: Broker, journals: Path
) -> None:
    """Also where the network answers for a server that passes nothing on."""
    device, core = Device(), Core(mosquitto.port)
    async with serving() as server, at_work(core.peer):
        with driver_process(mosquitto.port, server.url, journals, profile="ref-crc") as process:
            await until(lambda: core.state() == "open", "it is open")
            server.say(device.say(POWER_UP))
            await until(lambda: core.state() == "up", "it is up")
            server.vanish()
            await until(lambda: core.state() == "stalled", "it is silent")
            hint = "silent while the shoe ought to speak"
            await until(lambda: core.link is not None and hint in core.link.hint, hint)
            await until(lambda: core.state() == "down", "it is let go")
            reason, hint = said_down(process)[0]
            assert reason.startswith("no heartbeat for ")
            assert (
                hint
                == "look at the shoe's power and cable; behind a device server, at its far side"
            )
            server.come_back()
            back = time.monotonic()
            await until(lambda: core.state() == "open", "it is asked anew")
            assert time.monotonic() - back < 2.0 * BUSY
