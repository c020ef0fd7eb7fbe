"""Hundreds of coups beside a cage that acknowledges no more; the alarm rises, and is cleared."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.brokers.brokers import Broker
from tests.support.cage.cage_game import play_beside_a_silent_cage


@pytest.mark.soak
@pytest.mark.cold_start
@pytest.mark.timeout(900)
async def test_the_alarm_rises_and_clears_and_nothing_grows(
    nats: Broker, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    found = await play_beside_a_silent_cage(tmp_path, nats, coups=300, alarm=True)
    record_property("figures", str(found))  # as text it goes from one process to another
    assert found.rung == ["raised", "cleared"]
    speaking, silent = found.median_ms
    assert silent < 2 * speaking + 5
    assert found.grown_kb[1] < 6_144
