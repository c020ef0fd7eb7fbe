"""The C example, with paho's client: another language and client against a running table."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from events.clock import SystemClock
from events.mqtt.bus import BusSettings
from events.mqtt.topics import Topics
from simulators.conformance.book import ConsumerBook, read_book
from simulators.conformance.log import make_sample_log
from simulators.conformance.server import CageFeed
from table_core.rulebooks.shipped import load_rulebook
from tests.house.sources import ROOT
from tests.support.brokers.brokers import Broker
from tests.support.cage.consumers import process, seats_of, settlements_of, shown
from tests.support.cage.integrators import acknowledged, correct, coup
from tests.support.machine.waiting import until
from tests.support.service.table_service import TOPICS, Table1, played

SOURCE = ROOT / "examples/cage_book.c"
LAB = Topics("lab", "t1")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled as its first lines say, with every warning an error."""
    made = tmp_path_factory.mktemp("c") / "cage_book"
    strict = ["-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command: list[str | Path] = ["cc", *strict, "-o", made, SOURCE, "-lpaho-mqtt3c", "-lsqlite3"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"apt-get install gcc libpaho-mqtt-dev libsqlite3-dev: {done}"
    return made


async def test_it_keeps_the_right_book_of_a_running_table(
    table: Table1, program: Path, tmp_path: Path
) -> None:
    book, log = tmp_path / "book.sqlite", tmp_path / "table.sqlite"
    command = (program, book, "127.0.0.1", str(table.port), TOPICS.root)
    async with played(table, tmp_path):  # before it is there
        with process(*command):
            await acknowledged(table, log, "cage")
            await coup(table, 2)
            await acknowledged(table, log, "cage")
        await correct(table)  # while it is gone: killed where it stood
        await coup(table, 3)
        with process(*command):
            await acknowledged(table, log, "cage")
            await coup(table, 4)
            await acknowledged(table, log, "cage")
    settlements = settlements_of(log)
    assert [each.revision for each in settlements] == [1, 1, 2, 2, 1, 1]
    assert shown(book) == {"seats": seats_of(settlements)}


def kit(port: int, path: Path, *, seed: int, settlements: int) -> CageFeed:
    """The conformance kit, which looks into the book at this path."""

    async def look() -> ConsumerBook | None:
        said = await asyncio.to_thread(shown, path)
        return read_book(json.dumps(said).encode())

    return CageFeed(
        BusSettings("127.0.0.1", port, "kit"),
        LAB,
        "cage",
        make_sample_log(seed, settlements, LAB, load_rulebook("nz-scale-one")),
        seed=seed,
        clock=SystemClock(),
        book=look,
    )


async def test_it_passes_the_conformance_kit(broker: Broker, program: Path, tmp_path: Path) -> None:
    """Messages that come twice, are lost, or come again late; revisions; voids."""
    path = tmp_path / "book.sqlite"
    made = kit(broker.port, path, seed=4, settlements=40)
    with process(program, path, "127.0.0.1", str(broker.port), LAB.root):
        verdict = await made.run(wait_s=15, patience_s=20, book_s=15)
    assert (verdict.ok, verdict.first_difference) == (True, None)
    assert verdict.faults.keys() >= {"twice", "lost", "again", "twice in a replay"}


async def test_it_comes_back_by_itself_when_the_broker_was_wiped(
    nats: Broker, program: Path, tmp_path: Path
) -> None:
    path = tmp_path / "book.sqlite"
    made = kit(nats.port, path, seed=5, settlements=20)
    with process(program, path, "127.0.0.1", str(nats.port), LAB.root):
        playing = asyncio.create_task(made.run(wait_s=15, patience_s=20, book_s=15))
        await until(path.exists, "it keeps a book")
        nats.kill()
        nats.restart(wipe=True)
        verdict = await playing
    assert (verdict.ok, verdict.first_difference) == (True, None)
