"""The driver as a process, killed at each of its steps, and what its next life makes of it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from events.mqtt.bus import Message
from events.mqtt.presence import read_status
from tests.support.brokers.brokers import Broker
from tests.support.brokers.peers import Peer, at_work
from tests.support.machine.waiting import until
from tests.support.shoe.shoe_bytes import frames, stream
from tests.support.shoe.shoe_line import TOPICS, Core, ShoePort, stored

FACES = ["9H", "2D", "8S", "KC"]
COUP = "D P1 9H, D B1 2D, D P2 8S, D B2 KC, G player"


CHILD = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.support.shoe.shoe_line import driver
port, url, journals, step, count = sys.argv[1:]
left = int(count)
def probe(name):
    global left
    left -= name == step
    if left == 0 and name == step:
        os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(driver(int(port), url, Path(journals), probe=probe).run())
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@contextmanager
def driver_process(
    broker: Broker, shoe: ShoePort, journals: Path, *, step: str = "never", count: int = 1
) -> Iterator["subprocess.Popen[bytes]"]:
    """The driver as a process of its own; killed at its `count`-th `step`."""
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(broker.port), shoe.url, journals, step, str(count)],
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


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
    step: str, count: int, mosquitto: Broker, shoe: ShoePort, journals: Path
) -> None:
    core = Core(mosquitto.port)
    reports = frames(COUP)
    async with at_work(core.peer):
        with driver_process(mosquitto, shoe, journals, step=step, count=count) as first:
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
        with driver_process(mosquitto, shoe, journals):
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
        with driver_process(broker, shoe, journals) as process:
            await until(lambda: "online" in states, "the birth")
            process.kill()
            await until(lambda: states[-1] == "offline", "the Will")


async def test_the_process_stays_small(mosquitto: Broker, shoe: ShoePort, journals: Path) -> None:
    """A controller hosts several tables: 60 MB a driver is the limit."""
    core = Core(mosquitto.port)
    async with at_work(core.peer):
        with driver_process(mosquitto, shoe, journals) as process:
            await until(lambda: core.state() == "open", "it is up")
            for number in range(30):
                shoe.say(stream(COUP, first_seq=1 + number * 5 % 9))
                await until(lambda n=number: len(core.faces) == 4 * (n + 1), "a coup")
            peak_kb = peak_of(process.pid)
    assert peak_kb < 60_000


def peak_of(pid: int) -> int:
    """The most memory that the process ever had, in kB."""
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text("utf-8"))
    assert peak is not None
    return int(peak[1])
