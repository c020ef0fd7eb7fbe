"""Faults of the host beside the shoe, with a real driver process: a full disk, a half-open line."""

import asyncio
import time
from pathlib import Path

from tests.support.brokers.brokers import Broker
from tests.support.brokers.peers import at_work
from tests.support.machine.waiting import until
from tests.support.shoe.device_server import serving
from tests.support.shoe.driver_process import driver_process
from tests.support.shoe.shoe_bytes import frames, site_profile, stream
from tests.support.shoe.shoe_line import Core, ShoePort

FIRST, SECOND, THIRD = "D P1 9H", "D B1 2D", "D P2 8S"


def fill(folder: Path) -> Path:
    """Take every byte of this disk; removing the file gives them back."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as full:
        try:
            while True:
                full.write(b"x" * 4096)
        except OSError:
            return filler


async def test_journal_disk_full_no_card_is_accepted_and_the_break_is_told(
    mosquitto: Broker, shoe: ShoePort, small_disk: Path
) -> None:
    core = Core(mosquitto.port)
    async with at_work(core.peer):
        with driver_process(mosquitto.port, shoe.url, small_disk / "journals"):
            await until(lambda: core.state() == "open", "it is open")
            shoe.say(stream(FIRST))
            await until(lambda: core.faces == ["9H"], "the first card")
            filler = fill(small_disk)
            for seq in range(2, 10):
                shoe.say(stream(SECOND, first_seq=seq) * 20)
                await asyncio.sleep(0.01)
            await until(lambda: core.link is not None and core.link.state == "down", "it says so")
            assert core.link is not None
            assert "No space left" in core.link.reason
            await until(
                lambda: core.link and len(core.log) == core.link.head, "all before has come"
            )
            heard = list(core.faces)
            began = time.monotonic()
            await until(lambda: time.monotonic() - began > 0.5, "nothing is accepted meanwhile")
            assert core.faces == heard
            filler.unlink()
            await until(lambda: core.state() == "open", "the disk has room again")
            await until(lambda: "link_down" in core.said, "a coup in progress is misaligned")
            shoe.say(stream(THIRD, first_seq=3))
            await until(lambda: core.faces[-1] == "8S", "and the next card comes")


async def test_host_restart_in_mid_frame_half_a_frame_is_no_card(
    mosquitto: Broker, shoe: ShoePort, journals: Path
) -> None:
    """At every point that a frame can be cut."""
    core = Core(mosquitto.port)
    card = frames(FIRST)[0]
    async with at_work(core.peer):
        for cut in (1, 4, len(card) - 1):
            opened = core.said.count("link_open")
            with driver_process(mosquitto.port, shoe.url, journals):
                await until(lambda n=opened: core.said.count("link_open") > n, "it is open")
                shoe.say(card[:cut])
                await until(lambda n=cut: _stored(journals, card[:n]), "it is stored")
            with driver_process(mosquitto.port, shoe.url, journals):
                await until(lambda n=opened: core.said.count("link_open") > n + 1, "and again")
                assert "link_down" in core.said[-3:]
                shoe.say(card[cut:] + b"\x05")
                await until(lambda: core.said[-1] == "frame_rejected", "the rest is no frame")
    assert core.faces == []


def _stored(journals: Path, data: bytes) -> bool:
    return any(data in path.read_bytes() for path in journals.glob("*.journal"))


async def test_half_open_tcp_is_noticed_in_mid_deal_and_the_rest_of_the_coup_comes(
    mosquitto: Broker, journals: Path, tmp_path: Path
) -> None:
    """The peer is there and says nothing: silence is a stall, and what comes then is in order."""
    profile = str(site_profile(tmp_path, silence_ms=300))
    core = Core(mosquitto.port)
    async with serving() as server, at_work(core.peer):
        with driver_process(mosquitto.port, server.url, journals, profile=profile):
            await until(lambda: core.state() == "open", "it is open")
            server.say(stream(FIRST))
            await until(lambda: core.state() == "stalled", "nobody speaks")
            server.say(stream(SECOND, first_seq=2))
            await until(lambda: core.faces == ["9H", "2D"], "no card is lost")
            # Up to that card: behind it the line is silent again, and is soon said to be.
            _, second = (at for at, what in enumerate(core.said) if what == "card_drawn")
            assert core.said[:second].count("link_stalled") == 1


async def test_a_second_driver_on_the_same_port_hears_nothing(
    mosquitto: Broker, shoe: ShoePort, journals: Path, tmp_path: Path
) -> None:
    """Port busy: two drivers of ours never share a line."""
    core = Core(mosquitto.port)
    async with at_work(core.peer):
        with driver_process(mosquitto.port, shoe.url, journals):
            await until(lambda: core.state() == "open", "it is open")
            other = tmp_path / "other"
            with driver_process(mosquitto.port, shoe.url, other) as second:
                await until(lambda: second.said("link.down"), "it is refused")
                shoe.say(stream(FIRST))
                await until(lambda: core.faces == ["9H"], "the first has the card")
                assert "in use by process" in second.said("link.down")[0]["reason"]
