"""The driver on a real port, a real disk and real brokers: nothing lost, nothing invented."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from events.errors import InputError
from events.mqtt.messages import Message
from events.mqtt.presence import read_status
from tests.support.brokers.brokers import Broker
from tests.support.brokers.peers import Peer, at_work
from tests.support.machine.disk import disk_full_at
from tests.support.machine.waiting import until
from tests.support.shoe.shoe_bytes import NOISE, PROFILE, frames, site_profile, stream
from tests.support.shoe.shoe_line import (
    TOPICS,
    Core,
    ShoePort,
    driver,
    running,
    size_of_journal,
    stored,
    table,
)

FACES = ["9H", "2D", "8S", "KC"]
COUP = "D P1 9H, D B1 2D, D P2 8S, D B2 KC, G player"
HEARD = ["link_up", *["card_drawn"] * 4, "device_result"]


async def test_a_coup_reaches_the_core_in_order(
    broker: Broker, shoe: ShoePort, journals: Path
) -> None:
    async with table(broker.port, shoe, journals) as core:
        shoe.say(NOISE + stream(f"S, {COUP}"))
        await until(lambda: core.faces == FACES and len(core.log) == 9, "the coup arrives")
        assert core.said == ["link_open", "frame_rejected", "link_up", "shoe_booted", *HEARD[1:]]
    # The driver's own account, from its journal, is the same to the last field.
    assert core.log == stored(journals)[: len(core.log)]
    assert [event.seq for event in core.log][:9] == list(range(1, 10))


async def test_no_event_comes_more_than_itself_ahead_of_a_live_head(
    mosquitto: Broker, shoe: ShoePort, journals: Path
) -> None:
    """On mosquitto, which keeps the order between topics; nats-server keeps it within one only."""
    async with table(mosquitto.port, shoe, journals) as core:
        for report in frames(f"{COUP}, {COUP}"):
            shoe.say(report * 3)
        await until(lambda: core.faces == FACES * 2, "both coups arrive")
    head = 0
    for word, number in (text.split() for text in core.seen):
        assert word == "head" or int(number) <= head + 1, core.seen
        head = max(head, int(number))


async def test_what_the_link_says_of_itself(
    mosquitto: Broker, shoe: ShoePort, journals: Path
) -> None:
    async with table(mosquitto.port, shoe, journals) as core:
        shoe.say(NOISE + stream(COUP) + stream("P", copies=1, first_seq=6))
        await until(lambda: core.state() == "up" and len(core.log) == 9, "the link is up")
        shoe.say(stream("D P1 9H", first_seq=7))
        await until(
            lambda: core.link and core.link.reports == 7 and core.link.head == len(core.log),
            "it was counted, and came",
        )
        link = core.link
        assert link is not None
        assert (link.profile, link.transport) == ("enq-bcc", f"pty:{shoe.link}")
        assert (link.loss_detection, link.reason) == ("weak", "")
        assert (link.rejected, link.short_copies) == (1, 1)
        assert (link.journal, link.head) == (core.journal, 10)
        assert link.last_frame_age_ms is not None
        assert 0 <= link.last_frame_age_ms < 15_000


async def test_a_core_that_was_away_is_told_what_it_missed(
    broker: Broker, shoe: ShoePort, journals: Path
) -> None:
    core = Core(broker.port)
    async with running(driver(broker.port, shoe.url, journals)):
        async with at_work(core.peer):
            await until(lambda: core.log, "the first event")
        later = Core(broker.port)
        later.journal, later.log = core.journal, core.log
        shoe.say(stream(f"{COUP}, {COUP}"))
        async with at_work(later.peer):
            await until(lambda: later.faces == FACES * 2, "all that was missed")


async def test_a_core_that_has_lost_its_log_is_told_from_the_beginning(
    mosquitto: Broker, shoe: ShoePort, journals: Path
) -> None:
    core, restored, empty = (Core(mosquitto.port) for _ in range(3))
    async with running(driver(mosquitto.port, shoe.url, journals)):
        async with at_work(core.peer):
            await until(lambda: core.log, "the first event")
            shoe.say(stream(COUP))
            await until(lambda: core.said[-1] == "device_result", "the coup arrives")
        restored.journal, restored.log = core.journal, core.log[:3]
        async with at_work(restored.peer):
            await until(lambda: restored.log == core.log, "the rest, from the third on")
        async with at_work(empty.peer):
            await until(lambda: empty.log == core.log, "everything, from the first on")


async def test_a_broker_that_is_killed_and_wiped_in_mid_coup_changes_nothing(
    broker: Broker, shoe: ShoePort, journals: Path
) -> None:
    async with table(broker.port, shoe, journals) as core:
        first, *middle, last = frames(COUP)
        shoe.say(first * 3)
        await until(lambda: core.faces == FACES[:1], "the first card")
        broker.kill()
        for report in middle:
            shoe.say(report * 3)
        broker.restart(wipe=True)
        await until(lambda: core.faces == FACES, "the cards dealt meanwhile")
        shoe.say(last * 3)
        await until(lambda: core.said == ["link_open", *HEARD], "the result")
        await until(lambda: core.state() == "up", "link/shoe is there again")


async def test_unplugged_in_mid_coup_and_back_under_the_same_name(
    broker: Broker, shoe: ShoePort, journals: Path
) -> None:
    """Rows 1, 5 to 7 and 19: one loss is one event, and the link comes back by itself."""
    async with table(broker.port, shoe, journals) as core:
        shoe.say(stream("D P1 9H") + frames("D P1 9H, D B1 2D")[1][:4])
        await until(lambda: core.faces == ["9H"], "the first card")
        shoe.unplug()
        await until(lambda: core.state() == "down", "the loss is said")
        await until(lambda: core.link and "does not exist" in core.link.reason, "and why")
        shoe.plug_in()
        await until(lambda: core.said[-1] == "link_open", "it is open again")
        shoe.say(stream("D B1 2D", first_seq=2))
        await until(lambda: core.faces == ["9H", "2D"], "the next card")
        assert core.said == [
            "link_open",
            "link_up",
            "card_drawn",
            "frame_rejected",  # the half that was arriving
            "link_down",
            "link_open",
            "link_up",
            "card_drawn",
        ]


@contextmanager
def held_by_another(shoe: ShoePort) -> Iterator["subprocess.Popen[bytes]"]:
    """Another program has the port, and its lock."""
    program = (
        "import serial, sys; port = serial.Serial(sys.argv[1], exclusive=True)\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, shoe.link], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


async def test_a_port_in_use_is_said_and_tried_again(
    mosquitto: Broker, core: Core, shoe: ShoePort, journals: Path
) -> None:
    with held_by_another(shoe) as holder:
        async with running(driver(mosquitto.port, shoe.url, journals)):
            wanted = f"in use by process {holder.pid} (python"
            await until(lambda: core.link and wanted in core.link.reason, "who has it")
            assert (core.state(), core.said) == ("down", [])
            holder.kill()
            await until(lambda: core.state() == "open", "it is ours when it is free")


async def test_a_stop_is_said_and_stored(
    mosquitto: Broker, core: Core, shoe: ShoePort, journals: Path
) -> None:
    states: list[tuple[str, int]] = []

    async def note(message: Message) -> None:
        status = read_status(message.payload)
        assert status is not None
        states.append((status.state, status.session))

    watcher = Peer(mosquitto.port, "watcher", TOPICS.status("shoe"), handler=note)
    async with at_work(watcher):
        for session in (1, 2):
            async with running(driver(mosquitto.port, shoe.url, journals)):
                await until(lambda: core.state() == "open", "the port is open")
            await until(lambda n=session: states[-1:] == [("offline", n)], "it says farewell")
            assert ("online", session) in states
            await until(lambda: core.state() == "down", "the link is said to be down")
            said = ["link_open", "link_down"] * session
            await until(lambda said=said: core.said == said, "and the core has it")
    assert core.link is not None
    assert core.link.reason == "driver stopped"


async def test_a_second_driver_on_the_same_folder_refuses_to_start(
    mosquitto: Broker, shoe: ShoePort, journals: Path
) -> None:
    async with table(mosquitto.port, shoe, journals):
        with pytest.raises(InputError, match="in use by another driver"):
            await driver(mosquitto.port, shoe.url, journals).run(asyncio.Event())


async def test_silence_in_mid_deal_is_a_stall_and_between_coups_is_none(
    mosquitto: Broker, shoe: ShoePort, journals: Path, tmp_path: Path
) -> None:
    profile = site_profile(tmp_path, silence_ms=1_000)
    async with table(mosquitto.port, shoe, journals, profile=str(profile)) as core:
        shoe.say(stream(COUP))
        await until(lambda: core.faces == FACES, "a whole coup")
        await asyncio.sleep(1.5)  # silence itself is what is tested here
        assert core.state() == "up"
        shoe.say(stream("D P1 9H", first_seq=6))
        await until(lambda: core.state() == "stalled", "silence in mid-deal")
        silent = len(core.statuses)
        shoe.say(stream("D B1 2D", first_seq=7))
        await until(lambda: core.faces[-1] == "2D", "it speaks again")
        await until(lambda: any(x.state == "up" for x in core.statuses[silent:]), "and says so")
        said = ["link_open", *HEARD, "card_drawn", "link_stalled", "link_up", "card_drawn"]
        assert core.said[: len(said)] == said  # a late look finds it silent again


async def test_while_the_journal_cannot_be_written_no_card_is_accepted(
    mosquitto: Broker, shoe: ShoePort, journals: Path
) -> None:
    async with table(mosquitto.port, shoe, journals) as core:
        shoe.say(stream("D P1 9H"))
        await until(lambda: core.faces == ["9H"], "the first card")
        with disk_full_at(size_of_journal(journals)):
            shoe.say(stream("D B1 2D", first_seq=2))
            await until(
                lambda: core.link and "cannot be written: File too large" in core.link.reason,
                "the link says why",
            )
            assert core.state() == "down"
        await until(lambda: core.said[-1] == "link_open", "it comes back by itself")
        shoe.say(stream("D P2 8S", first_seq=3))
        await until(lambda: core.faces == ["9H", "8S"], "the next card")
        # The card that was not stored is missed, and says so: by the break and by its number.
        missed = ["link_down", "link_open", "link_up", "report_lost", "card_drawn"]
        assert core.said == ["link_open", "link_up", "card_drawn", *missed]


async def test_an_old_journal_of_another_profile_is_drained_and_replaced(
    mosquitto: Broker, shoe: ShoePort, journals: Path, tmp_path: Path
) -> None:
    async with table(mosquitto.port, shoe, journals) as core:
        shoe.say(stream(COUP))
        await until(lambda: core.faces == FACES, "a coup under the old profile")
    before, last = core.journal, core.log[-1].seq
    profile = site_profile(tmp_path, silence_ms=1234)
    core.statuses.clear()
    async with (
        at_work(core.peer),
        running(driver(mosquitto.port, shoe.url, journals, profile=str(profile))),
    ):
        await until(lambda: core.journal != before and core.log, "a new journal")
    assert core.said[0] == "link_open"
    assert core.log[0].profile_hash != PROFILE.digest
    assert last <= max(int(t.split()[1]) for t in core.seen if t.startswith("event"))
