"""What goes wrong with a live link, and the one line that says what, where, and what to do.

Titles are rows of failures that people have reported of other products. A device server that is
gone without a word is one on a real network stack: the kernel of this machine drops every packet to
its sockets, so that its connection stands on both sides, and nothing crosses it any more.
"""

import asyncio
import fcntl
import os
import random
import termios
import time
from pathlib import Path

import pytest

from baccarat.local_brokers.nats import LOOPBACK
from shoe_driver.transports.tcp_port import TcpPort
from tests.integration.shoe_driver.test_driver import held_by_another
from tests.support.brokers.brokers import Broker
from tests.support.machine.ports import free_port
from tests.support.machine.waiting import BUSY, until
from tests.support.shoe.device_server import serving
from tests.support.shoe.driver_process import DriverProcess, driver_process, table_apart
from tests.support.shoe.ref_bytes import POWER_UP, Device
from tests.support.shoe.shoe_bytes import frames, site_profile, stream
from tests.support.shoe.shoe_line import SEED, Core, ShoePort, driver, running

COUP = "D P1 9H, D B1 2D, D P2 8S, D B2 KC, G player"


def hint(core: Core) -> str:
    return core.link.hint if core.link else ""


def reason(core: Core) -> str:
    return core.link.reason if core.link else ""


async def test_unplugged_and_back_under_another_name_it_is_found(
    mosquitto: Broker, journals: Path, tmp_path: Path
) -> None:
    """Rows 19 and 20: bound by its stable id; heard again within two seconds of its return."""
    shoe = ShoePort(tmp_path / "usb-shoe_A50285BI-port0")
    url = f"pty:{tmp_path}/usb-shoe_A50285BI-*"
    async with table_apart(mosquitto.port, url, journals) as (core, process):
        shoe.say(stream("D P1 9H"))
        await until(lambda: core.faces == ["9H"], "the first card")
        shoe.unplug()
        await until(lambda: "does not exist" in reason(core), "it is gone")
        assert "look at cable, power and adapter" in hint(core)
        shoe.link = tmp_path / "usb-shoe_A50285BI-port1"
        shoe.plug_in()
        back = time.monotonic()
        await until(lambda: core.state() == "open", "it is back")
        assert time.monotonic() - back < 2.0 * BUSY
        assert hint(core) == ""
        shoe.say(stream("D B1 2D", first_seq=2))
        await until(lambda: core.faces == ["9H", "2D"], "the next card")
        assert [line["event"] for line in process.lines][:4] == [
            "link.open",
            "link.down",
            "link.down",
            "link.open",
        ]
    shoe.unplug()


async def test_two_candidates_are_refused_by_name(
    mosquitto: Broker, core: Core, journals: Path, tmp_path: Path
) -> None:
    """Row 20: the first reader that opens is never taken for the right one."""
    shoes = [ShoePort(tmp_path / f"usb-shoe-{number}") for number in (1, 2)]
    with driver_process(mosquitto.port, f"pty:{tmp_path}/usb-shoe-*", journals):
        await until(lambda: reason(core) not in {"", "starting"}, "a reason")
        assert reason(core) == (
            f"port {tmp_path}/usb-shoe-*: 2 devices match: {shoes[0].link}, {shoes[1].link}"
        )
        assert hint(core) == "name one of them in the link's URL"
        shoes[1].link.unlink()
        await until(lambda: core.state() == "open", "one is left")
    for shoe in shoes:
        shoe.unplug()


async def test_a_port_that_another_program_has_is_said_with_its_name(
    mosquitto: Broker, core: Core, shoe: ShoePort, journals: Path
) -> None:
    """Rows 2 and 15: who has it, once, and not at every attempt."""
    with (
        held_by_another(shoe) as holder,
        driver_process(mosquitto.port, shoe.url, journals) as process,
    ):
        await until(lambda: f"in use by process {holder.pid}" in reason(core), "who")
        assert hint(core) == "end the other program: a live port has one reader"
        began = time.monotonic()
        await until(lambda: time.monotonic() - began > 1.5, "more attempts")
        assert len(process.said("link.down")) == 1


async def test_a_second_reader_that_steals_bytes_ends_the_link(
    mosquitto: Broker, core: Core, shoe: ShoePort, journals: Path
) -> None:
    """Rows 1 and 4: one that ignores every lock; what it leaves is no card."""
    async with running(driver(mosquitto.port, shoe.url, journals)):
        await until(lambda: core.state() == "open", "it is open")
        thief = os.open(shoe.link, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        card = frames("D P1 9H")[0]
        stolen = 0
        for _ in range(200):
            shoe.say(card)
            try:
                stolen += len(os.read(thief, 3))
            except BlockingIOError:
                continue
        assert stolen
        os.close(thief)
        shoe.say(stream("D B1 2D", first_seq=2))
        await until(lambda: "2D" in core.faces, "the line goes on")
        assert set(core.faces) <= {"9H", "2D"}


async def test_noise_and_no_valid_frame_asks_for_baud_and_profile(
    mosquitto: Broker, shoe: ShoePort, journals: Path
) -> None:
    """A wrong baud rate delivers bytes all day: 10,000 bad frames are a handful of lines."""
    rng = random.Random(SEED)
    async with table_apart(mosquitto.port, shoe.url, journals) as (core, process):
        bad = frames("D P1 9H")[0][:-1] + b"X"
        for _ in range(100):
            shoe.say(b"".join(bad[:5] + rng.randbytes(3) for _ in range(100)))
        await until(lambda: hint(core).startswith("noise: "), "it is called noise")
        assert "wrong baud or wrong profile? Compare `shoe.url`" in hint(core)
        assert core.state() == "open"
        assert core.faces == []
        shoe.say(b"\x05" + stream("D P1 9H"))
        await until(lambda: core.state() == "up" and hint(core) == "", "a valid frame is proof")
        assert len(process.lines) < 12, SEED
        assert len(process.said("link.unproven")) == 1


async def test_a_link_that_comes_and_goes_does_not_flood_the_log(
    mosquitto: Broker, core: Core, shoe: ShoePort, journals: Path
) -> None:
    """Row 21: transitions, the first few at once."""
    with driver_process(mosquitto.port, shoe.url, journals) as process:
        for lost in range(12):
            await until(lambda n=lost: core.said.count("link_open") > n, "it is open")
            shoe.unplug()
            shoe.plug_in()
        await until(lambda: core.said.count("link_down") == 12, "every loss is an event")
        await until(lambda: core.link and core.link.opened >= 12, "the link tells as many")
        assert len(process.said("link.open")) <= 6
        assert len(process.said("link.down")) <= 7


async def test_behind_a_device_server_a_coup_comes_as_over_a_wire(
    mosquitto: Broker, journals: Path
) -> None:
    async with serving() as server, table_apart(mosquitto.port, server.url, journals) as (core, _):
        server.say(stream(COUP))
        await until(lambda: core.said[-1:] == ["device_result"], "the coup")
        assert core.faces == ["9H", "2D", "8S", "KC"]
        assert core.link is not None
        assert (core.link.transport, server.got) == (server.url, b"")


async def test_what_a_device_server_had_buffered_is_never_taken_for_new(
    mosquitto: Broker, core: Core, journals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 17: it arrives right behind the connection; it is told, and it is no card."""
    # The kernel connects at once, and our server says its backlog when this loop has its turn.
    monkeypatch.setattr(TcpPort, "settle_s", 2.0)
    async with serving() as server:
        server.backlog = stream("D P1 9H")
        async with running(driver(mosquitto.port, server.url, journals)):
            # Its bus may come after its port: then it tells how the link stands before the events.
            await until(lambda: core.state() == "open" and len(core.log) == 2, "it is open")
            assert core.said == ["frame_rejected", "link_open"]
            assert core.log[0].report.reason == "stale"  # type: ignore[union-attr] # a reject
            server.say(stream("D B1 2D", first_seq=2))
            await until(lambda: core.faces == ["2D"], "what is new is a card")
            server.backlog = stream("D B1 2D", first_seq=2)
            server.hang_up()
            await until(lambda: "closed the connection" in reason(core), "the loss")
            await until(lambda: core.state() == "open", "and again")
            server.say(stream("D P2 8S", first_seq=3))
            await until(lambda: core.faces == ["2D", "8S"], "the next")


async def test_connected_is_not_alive(mosquitto: Broker, journals: Path, tmp_path: Path) -> None:
    """Row 16: open proves nothing; silence counts where the shoe ought to speak."""
    profile = str(site_profile(tmp_path, silence_ms=600))
    async with (
        serving() as server,
        table_apart(mosquitto.port, server.url, journals, profile=profile) as (core, _),
    ):
        opened = time.monotonic()
        await until(lambda: time.monotonic() - opened > 1.5, "silence between coups")
        assert core.state() == "open"
        assert core.link is not None
        assert core.link.last_frame_age_ms is None
        server.say(stream("D P1 9H"))
        await until(lambda: core.state() == "stalled" and hint(core), "silence in mid-deal")
        assert hint(core) == "silent while the shoe ought to speak: look at its power and its cable"
        silent = len(core.statuses)
        server.say(stream("D B1 2D", first_seq=2))
        # It is silent again soon after, and then for good.
        await until(
            lambda: any(x.state == "up" and not x.hint for x in core.statuses[silent:]),
            "it speaks again",
        )


async def test_a_device_server_that_is_not_there_is_waited_for(
    mosquitto: Broker, core: Core, journals: Path
) -> None:
    """Rows 15 and 19: refused, said once, and heard within two seconds of its return."""
    port = free_port()
    with driver_process(mosquitto.port, f"tcp://{LOOPBACK}:{port}", journals):
        await until(lambda: "Connection refused" in reason(core), "nobody listens")
        assert "does not listen there" in hint(core)
        async with serving(port):
            back = time.monotonic()
            await until(lambda: core.state() == "open", "it is back")
            assert time.monotonic() - back < 2.5 * BUSY


async def test_twenty_seconds_of_silence_and_then_a_burst_are_cards_in_order(
    mosquitto: Broker, shoe: ShoePort, journals: Path, tmp_path: Path
) -> None:
    """Row 22, with the time made short: the stall is told, the burst decoded whole."""
    profile = str(site_profile(tmp_path, silence_ms=200))
    async with table_apart(mosquitto.port, shoe.url, journals, profile=profile) as (core, _):
        shoe.say(stream("D P1 9H"))
        await until(lambda: core.state() == "stalled", "the stall")
        shoe.say(stream("D B1 2D, D P2 8S, D B2 KC, G player", first_seq=2))
        await until(lambda: core.said[-1] == "device_result", "the burst")
        assert core.faces == ["9H", "2D", "8S", "KC"]


async def test_a_replay_is_played_once_and_never_again(
    mosquitto: Broker, core: Core, journals: Path, tmp_path: Path
) -> None:
    capture = tmp_path / "capture.raw"
    capture.write_bytes(stream(COUP))
    url = f"file:{capture}?speed=0"
    with driver_process(mosquitto.port, url, journals) as process:
        await until(lambda: "the capture has ended, 117 bytes" in reason(core), "its end")
        assert hint(core).startswith("it is not played again")
        await until(lambda: core.said[-1:] == ["link_down"], "the link has ended")
        assert len(process.said("link.open")) == 1
    with driver_process(mosquitto.port, url, journals):
        await until(lambda: "has events already" in reason(core), "not in a new life either")
    assert core.faces == ["9H", "2D", "8S", "KC"]
    assert core.said.count("link_open") == 1


@pytest.mark.parametrize("lost", [False, True], ids=["silent", "lost"])
async def test_a_stop_ends_a_silent_driver_within_seconds(
    lost: bool, mosquitto: Broker, core: Core, shoe: ShoePort, journals: Path
) -> None:
    """Rows 9 to 13: no read blocks, and nothing is waited for that may never come."""
    async with running(driver(mosquitto.port, shoe.url, journals)):
        await until(lambda: core.state() == "open", "it is open")
        if lost:
            shoe.unplug()
            await until(lambda: core.state() == "down", "it is lost")
        began = time.monotonic()
    assert time.monotonic() - began < 3 * BUSY


async def test_a_shoe_that_is_only_listened_to_is_sent_not_one_byte(
    mosquitto: Broker, shoe: ShoePort, journals: Path
) -> None:
    async with table_apart(mosquitto.port, shoe.url, journals) as (core, _):
        shoe.say(stream(f"S, {COUP}"))
        await until(lambda: core.said[-1:] == ["device_result"], "a whole coup")
        waiting = fcntl.ioctl(shoe.master, termios.FIONREAD, b"\0" * 4)
        assert waiting == b"\0" * 4


_LOOK = "look at the device server: its power, its network, its address"


def said_down(process: DriverProcess) -> list[tuple[str, str]]:
    """Reasons and hints that it has logged, in order."""
    return [(line["reason"], line["hint"]) for line in process.said("link.down")]


async def test_a_shoe_that_may_be_mute_is_missed_by_the_kernels_questions(
    mosquitto: Broker, journals: Path
) -> None:
    """Between coups this shoe says nothing: only the network can show that nobody is there."""
    async with (
        serving() as server,
        table_apart(mosquitto.port, server.url, journals) as (core, process),
    ):
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
    device = Device()
    async with (
        serving() as server,
        table_apart(mosquitto.port, server.url, journals, profile="ref-crc") as (core, process),
    ):
        server.say(device.say(POWER_UP))
        await until(lambda: core.state() == "up", "it is up")
        server.vanish()
        await until(lambda: core.state() == "stalled", "it is silent")
        hint = "silent while the shoe ought to speak"
        await until(lambda: core.link is not None and hint in core.link.hint, hint)
        await until(lambda: core.state() == "down", "it is let go")
        reason, hint = said_down(process)[0]
        assert reason.startswith("no heartbeat for ")
        assert hint == "look at the shoe's power and cable; behind a device server, at its far side"
        server.come_back()
        back = time.monotonic()
        await until(lambda: core.state() == "open", "it is asked anew")
        assert time.monotonic() - back < 2.0 * BUSY


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
    async with table_apart(mosquitto.port, shoe.url, small_disk / "journals") as (core, _):
        shoe.say(stream(FIRST))
        await until(lambda: core.faces == ["9H"], "the first card")
        filler = fill(small_disk)
        for seq in range(2, 10):
            shoe.say(stream(SECOND, first_seq=seq) * 20)
            await asyncio.sleep(0.01)
        await until(
            lambda: core.state() == "down" and "No space left" in core.statuses[-1].reason,
            "it says so",
        )
        await until(lambda: core.link and len(core.log) == core.link.head, "all before has come")
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
    mosquitto: Broker, core: Core, shoe: ShoePort, journals: Path
) -> None:
    """At every point that a frame can be cut."""
    card = frames(FIRST)[0]
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
    async with (
        serving() as server,
        table_apart(mosquitto.port, server.url, journals, profile=profile) as (core, _),
    ):
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
    async with table_apart(mosquitto.port, shoe.url, journals) as (core, _):
        other = tmp_path / "other"
        with driver_process(mosquitto.port, shoe.url, other) as second:
            await until(lambda: second.said("link.down"), "it is refused")
            shoe.say(stream(FIRST))
            await until(lambda: core.faces == ["9H"], "the first has the card")
            assert "in use by process" in second.said("link.down")[0]["reason"]
