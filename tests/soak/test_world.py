"""Ten thousand worlds, with everything going wrong, a block of seeds at a time.

`WORLD_SEEDS=first:last` plays others. A seed that broke is told with its step; the command that
plays it again stands beside it.
"""

import os
from pathlib import Path

import pytest

from baccarat.history.log_judging import verify_and_judge
from simulators.world.fault_plan import parse_world_faults
from simulators.world.world import World

COUPS = 30
BLOCK = 100
FIRST, LAST = map(int, os.environ.get("WORLD_SEEDS", "0:10000").split(":"))


@pytest.mark.soak(computes=True)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(FIRST, LAST, BLOCK))
def test_nothing_breaks_in_a_block_of_worlds(first: int, tmp_path: Path) -> None:
    faults = parse_world_faults("all")
    broken = []
    for seed in range(first, min(first + BLOCK, LAST)):
        made = World(seed, faults, tmp_path)
        report = made.run(COUPS)
        made.save_log(log := tmp_path / f"{seed}.log")
        made.close()
        verdict, _ = verify_and_judge(log, None, jobs=1, held=(), keys=())
        log.unlink()
        again = f"baccarat sim world --seeds {seed} --coups {COUPS} --faults all"
        broken += [] if verdict.ok else [f"seed {seed}, log verify: {verdict.reason}; {again}"]
        broken += [f"seed {seed}, {each}; {again}" for each in report.violations]
        if report.coups != COUPS and not report.violations:
            broken.append(f"seed {seed} played {report.coups} coups; {again}")
    assert broken == []
