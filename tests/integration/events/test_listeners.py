"""Listeners of the tests leave no socket behind, at whatever turn of the loop they end."""

import asyncio
import gc
import socket
import warnings

import pytest

from baccarat.local_brokers.nats import LOOPBACK
from tests.support.brokers.rude_broker import Line, rude_broker


@pytest.fixture(autouse=True)
def _nothing_of_other_tests() -> None:
    """What tests before left for the collector is not of these listeners."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


async def read(line: Line) -> None:
    await line.read()


async def called_and_ended(turns: int) -> None:
    async with rude_broker(read) as port:
        with socket.create_connection((LOOPBACK, port)):
            for _ in range(turns):
                await asyncio.sleep(0)


@pytest.mark.parametrize("turns", range(8))
def test_a_client_of_the_last_moment_leaves_no_open_socket(turns: int) -> None:
    asyncio.run(called_and_ended(turns))
    unreachable = gc.collect()  # which warns of what is open, and a warning is an error here
    assert unreachable >= 0
