"""Fixtures of the integration suites: a shoe's port, a driver's folder, one broker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.brokers import Broker, running
from tests.support.shoe_line import ShoePort


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
def journals(tmp_path: Path) -> Path:
    return tmp_path / "journals"
