"""Detection curves of docs/shoe/shuffle.md: `SHOES` false shoes a kind, and ten times honest ones.

Each shoe has its own seed; a test prints and records what it measured.
"""

import os
from collections.abc import Callable
from math import sqrt
from random import Random

import pytest

from table_core.shuffle.chances import FALSE_ALARM
from table_core.shuffle.examination import examine
from tests.support.shoe.false_shuffles import CURVES, DEALT, Curve, honest

SHOES = int(os.environ.get("SHOES", "10000"))
RNG = Random(29)
EARLIER = [(f"e{number}", honest(RNG)[:DEALT]) for number in range(100)]


@pytest.mark.soak(computes=True)
@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_false_shuffles_are_found_within_the_curve(
    curve: Curve, record_property: Callable[[str, object], None]
) -> None:
    shoes = (curve.make(Random(f"{curve.name}/{seed}"), EARLIER) for seed in range(SHOES))
    found = sum(bool(examine(shoe[: curve.cards or DEALT], 8, EARLIER)) for shoe in shoes)
    record_property("figures", f"{curve.name}: {found} of {SHOES} within {curve.cards or DEALT}")
    share = curve.share / 100
    assert found >= SHOES * share - 3 * sqrt(SHOES * share * (1 - share))


@pytest.mark.soak(computes=True)
def test_honest_shoes_raise_no_more_alarms_than_stated(
    record_property: Callable[[str, object], None],
) -> None:
    # An alarm in play stays one at the shoe's end: the bound is that of the whole shoe.
    rng, shoes = Random(30), 10 * SHOES
    alarms = sum(bool(examine(honest(rng)[:DEALT], 8, EARLIER[:12])) for _ in range(shoes))
    record_property("figures", f"{alarms} alarms in {shoes} honest shoes")
    expected = float(shoes * FALSE_ALARM)
    assert alarms <= expected + 3 * sqrt(expected)
