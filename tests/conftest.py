"""Fixtures that several suites use."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.brokers import BROKERS, Broker, running


@pytest.fixture(params=sorted(BROKERS))
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    """Each of the brokers in turn: a test that takes this runs on both."""
    with running(request.param, tmp_path / "broker") as started:
        yield started


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[Broker]:
    """The embedded one, for what does not depend on the broker."""
    with running("nats", tmp_path / "broker") as started:
        yield started
