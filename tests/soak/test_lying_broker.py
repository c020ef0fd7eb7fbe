"""Ten thousand coups over a broker that lies about every kind of message, a block at a time."""

from collections import Counter
from pathlib import Path

import pytest

from simulators.world.fault_plan import parse_world_faults
from simulators.world.parts.lying_broker import GUARDED, LIES
from simulators.world.world import World

COUPS, BLOCK, SEEDS = 20, 50, 500


@pytest.mark.soak(computes=True)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("faults", ["none", "all"])
@pytest.mark.parametrize("first", range(1, SEEDS, BLOCK))
def test_nothing_settles_on_a_lie(first: int, faults: str, tmp_path: Path) -> None:
    broken, told, named = [], Counter[str](), set[str]()
    for seed in range(first, first + BLOCK):
        world = World(seed, parse_world_faults(faults), tmp_path, lies=0.03)
        report = world.run(COUPS)
        world.close()
        broken += [f"seed {seed}, {each}" for each in report.violations]
        told.update(report.lies)
        named.update(report.named)
    assert broken == []
    assert named == GUARDED
    assert {f"{kind} {lie}" for kind in GUARDED for lie in LIES} <= told.keys()
