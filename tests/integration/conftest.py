"""Fixtures of the integration suites: a shoe's port, a driver's folder, one broker."""

import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.support.brokers.brokers import Broker, running
from tests.support.brokers.peers import at_work
from tests.support.service.table_service import Table1, connected
from tests.support.shoe.shoe_line import Core, ShoePort


@pytest.fixture
def shoe(tmp_path: Path) -> Iterator[ShoePort]:
    made = ShoePort(tmp_path / "shoe")
    yield made
    made.unplug()


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Broker]:
    """Where the broker's kind does not matter."""
    with running("mosquitto", tmp_path / "broker") as started:
        yield started


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 1,000 KB, which it takes root to mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1000k", "tmpfs", str(folder)]
    done = subprocess.run(mount, check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"no small disk can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def journals(tmp_path: Path) -> Path:
    return tmp_path / "journals"


@pytest.fixture
async def core(mosquitto: Broker) -> AsyncIterator[Core]:
    """What hears a driver."""
    made = Core(mosquitto.port)
    async with at_work(made.peer):
        yield made


@pytest.fixture
async def one(mosquitto: Broker) -> AsyncIterator[Table1]:
    """Everybody at the table but the core, where the broker's kind does not matter."""
    async with connected(mosquitto.port) as made:
        yield made


@pytest.fixture
async def table(broker: Broker) -> AsyncIterator[Table1]:
    """Everybody at the table but the core, on each of the brokers."""
    async with connected(broker.port) as made:
        yield made
