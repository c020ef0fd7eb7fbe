"""A cage that never acknowledges costs the core no memory that grows, and no latency."""

from pathlib import Path

import pytest

from tests.support.brokers.brokers import Broker
from tests.support.cage.silent_cage import play_beside_a_silent_cage

COUPS = 25
# What a table's process takes for itself meanwhile; a settlement that is kept has 5 KB.
MOST_KB = 6_144


@pytest.mark.cold_start
async def test_a_cage_that_never_acknowledges_costs_nothing(nats: Broker, tmp_path: Path) -> None:
    found = await play_beside_a_silent_cage(tmp_path, nats, coups=COUPS, alarm=False)
    print(found)  # noqa: T201 - the figures
    speaking, silent = found.median_ms
    # Machines are noisy; one that waited for an acknowledgement would be seconds late.
    assert silent < 5 * speaking + 500
    assert found.grown_kb[1] < MOST_KB
