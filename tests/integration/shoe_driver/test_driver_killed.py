"""The driver as a process, killed at each of its steps, and what its next life makes of it.

A service that is told to stop ends, whatever hangs: by itself, or by force at its deadline.
"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from events.mqtt.messages import Message
from events.mqtt.presence import read_status
from shoe_driver.process.retention import JournalRetention
from tests.support.brokers.brokers import Broker, freeze, thaw
from tests.support.brokers.peers import Peer, at_work
from tests.support.machine.processes import environment, peak_kilobytes
from tests.support.machine.waiting import until, until_blocking
from tests.support.shoe.driver_process import driver_process, table_apart
from tests.support.shoe.shoe_bytes import frames, stream
from tests.support.shoe.shoe_line import (
    TOPICS,
    Core,
    ShoePort,
    driver,
    running,
    stored,
)

FACES = ["9H", "2D", "8S", "KC"]
COUP = "D P1 9H, D B1 2D, D P2 8S, D B2 KC, G player"


STEPS = [
    ("journal.before", 2),
    ("journal.after", 2),
    ("journal.before", 4),
    ("journal.after", 4),
    ("event.before", 2),
    ("event.after", 3),
    ("event.after", 5),
    ("ack.received", 1),
    ("ack.received", 3),
]


@pytest.mark.parametrize(("step", "count"), STEPS)
async def test_killed_at_any_step_nothing_that_was_stored_is_lost(
    step: str, count: int, mosquitto: Broker, core: Core, shoe: ShoePort, journals: Path
) -> None:
    reports = frames(COUP)
    with driver_process(mosquitto.port, shoe.url, journals, step=step, count=count) as driving:
        first = driving.process
        await until(lambda: core.state() == "open" or first.poll() is not None, "it is up")
        for report in reports:
            if first.poll() is None:
                shoe.say(report * 3)
                heard = len(core.log)
                await until(
                    lambda n=heard: len(core.log) > n or first.poll() is not None,
                    "the report arrives, or the driver is dead",
                )
        await until(lambda: first.poll() is not None, "the driver is killed")
        assert first.returncode == -9
    before = list(core.log)
    with driver_process(mosquitto.port, shoe.url, journals):
        await until(lambda: core.said[-1:] == ["link_open"] and len(core.log) > 1, "a new life")
        shoe.say(stream("P", first_seq=9))
        await until(lambda: core.said[-1] == "shoe_ready", "the line goes on")
    assert core.log[: len(before)] == before
    assert [event.seq for event in core.log] == list(range(1, len(core.log) + 1))
    # Everything that is in the journal came to the core, once, and nothing else did.
    assert core.log == stored(journals)[: len(core.log)]
    assert "link_down" in core.said
    faces = core.faces
    assert faces == FACES[: len(faces)]


async def test_killed_the_driver_leaves_its_will(
    broker: Broker, shoe: ShoePort, journals: Path
) -> None:
    states: list[str] = []

    async def note(message: Message) -> None:
        status = read_status(message.payload)
        states.append(status.state if status else "junk")

    watcher = Peer(broker.port, "watcher", TOPICS.status("shoe"), handler=note)
    async with at_work(watcher):
        with driver_process(broker.port, shoe.url, journals) as process:
            await until(lambda: "online" in states, "the birth")
            process.process.kill()
            await until(lambda: states[-1] == "offline", "the Will")


@pytest.mark.cold_start
async def test_the_process_stays_small(mosquitto: Broker, shoe: ShoePort, journals: Path) -> None:
    """A controller hosts several tables: 60 MB a driver is the limit."""
    async with table_apart(mosquitto.port, shoe.url, journals) as (core, process):
        for number in range(30):
            shoe.say(stream(COUP, first_seq=1 + number * 5 % 9))
            await until(lambda n=number: len(core.faces) == 4 * (n + 1), "a coup")
        assert peak_kilobytes(process.pid) < 60_000


UNIT_STOPS_S = 15  # TimeoutStopSec of its unit: whoever is later is killed

HANGING = """
import sys, threading, time
from baccarat.deadline import Deadline
hangs = sys.argv[1] == "hangs"
threading.Thread(target=time.sleep, args=(600 if hangs else 0.1,)).start()
deadline = Deadline(1.5 if hangs else 60)
deadline.start()
deadline.settle()
"""


@pytest.mark.parametrize(("what", "code"), [("hangs", 1), ("ends", 0)])
def test_a_thread_that_hangs_does_not_keep_the_process(what: str, code: int) -> None:
    """Row 13: a shutdown deadline, then a hard exit."""
    done = subprocess.run(
        [sys.executable, "-c", HANGING, what],
        env=environment(),
        capture_output=True,
        check=False,
        timeout=60,  # the thread takes ten minutes
    )
    assert done.returncode == code
    assert (b"service.hung" in done.stdout) is (what == "hangs")


def config(folder: Path, broker: Broker, shoe: ShoePort) -> Path:
    path = folder / "table.toml"
    path.write_text(
        f'site = "sydney"\ntable = "t1"\nrulebook = "au-commission"\n'
        f'[shoe]\nurl = "{shoe.url}"\n[bus]\nport = {broker.port}\n',
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_driver_whose_broker_is_frozen_ends_in_time(
    number: signal.Signals, mosquitto: Broker, shoe: ShoePort, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "baccarat", "run"]
    command += [str(config(tmp_path, mosquitto, shoe)), "--only", "shoe"]
    log = tmp_path / "driver.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment(), stderr=output)
    try:
        until_blocking(lambda: b"bus_connected" in log.read_bytes(), "it is at work")
        freeze(mosquitto)
        process.send_signal(number)
        assert process.wait(timeout=UNIT_STOPS_S) in {0, 1}
    finally:
        thaw(mosquitto)
        process.kill()
        process.wait()


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
