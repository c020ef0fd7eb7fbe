"""A thousand seeds of faults in random company, through real drivers on real lines.

Each game has processes of its own and takes a block of seeds in turn, a few coups each. What the
shoe dealt is held against the table's log: what settled are the cards that fell, and no others.
`FAULT_SEEDS=first:last` plays others.
"""

import os
from pathlib import Path

import pytest

from tests.support.shoe.fault_games import play_faults
from tests.support.shoe.fault_mixtures import KINDS, mixtures

COUPS = 3
BLOCK = 20
FIRST, LAST = map(int, os.environ.get("FAULT_SEEDS", "0:1000").split(":"))


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(FIRST, LAST, BLOCK))
def test_a_block_of_seeds_settles_true_or_not_at_all(first: int, tmp_path: Path) -> None:
    profile, disclosure = KINDS[first // BLOCK % len(KINDS)]
    seeds = range(first, min(first + BLOCK, LAST))
    faults = [name for seed in seeds for name in mixtures(seed, profile, disclosure, COUPS)]
    played = play_faults(tmp_path, profile, disclosure, faults, seed=first, clean_between=False)
    outcomes = [(f, each) for f, coups in played.by_fault.items() for each in coups]
    assert len(outcomes) == len(faults)
    for fault, outcome in outcomes:
        assert outcome.is_true(), f"{fault} in coup {outcome.played.coup} of seeds {seeds}"
        assert outcome.last is not None or outcome.logged.voided, f"{fault} of {seeds}"
    assert all(each.is_true() for each in played.clean)
