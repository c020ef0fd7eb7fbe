"""Faults in random company: a bounded sample; a thousand seeds are in tests/soak."""

from pathlib import Path

import pytest

from tests.support.shoe.fault_games import play_faults
from tests.support.shoe.fault_mixtures import KINDS, mixtures

COUPS = 2
SEEDS = range(8)


@pytest.mark.parametrize("number", range(len(KINDS)), ids=["-".join(kind) for kind in KINDS])
def test_whatever_comes_together_settles_true_or_not_at_all(number: int, tmp_path: Path) -> None:
    """Two seeds a kind of shoe, on one driver."""
    profile, disclosure = KINDS[number]
    seeds = [seed for seed in SEEDS if seed % len(KINDS) == number]
    faults = [name for seed in seeds for name in mixtures(seed, profile, disclosure, COUPS)]
    played = play_faults(tmp_path, profile, disclosure, faults, seed=number, clean_between=False)
    outcomes = [(f, each) for f, coups in played.by_fault.items() for each in coups]
    assert len(outcomes) == len(faults)
    for fault, outcome in outcomes:
        assert outcome.is_true(), f"{fault} of {seeds}"
        assert outcome.last is not None or outcome.logged.voided, f"{fault} of {seeds}"
    assert all(each.is_true() for each in played.clean)
