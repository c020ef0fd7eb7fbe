"""A million coups a rulebook through the real core, with every bet wagered.

Each wager pays by the printed rules, and each category comes as often as its exact odds say.
"""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from table_core.rulebooks.shipped import shipped_ids
from tests.support.table.frequencies import Tally, implausible, odds_of, play_shoes

COUPS = 1_000_000
SEEDS = ("million/1", "million/2")  # one for each process; other seeds are another million
ERRORS = 4  # standard errors; by chance one count in 16,000 is further off, and there are about 120


@pytest.mark.soak(computes=True)
@pytest.mark.parametrize("name", shipped_ids())
def test_a_million_coups_come_out_as_the_exact_odds_say(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    # Processes of their own and not forks: whatever the test run has open stays out of them.
    with ProcessPoolExecutor(len(SEEDS), mp_context=get_context("spawn")) as pool:
        share = -(-COUPS // len(SEEDS))
        parts = [pool.submit(play_shoes, name, f"{seed}/{name}", share) for seed in SEEDS]
        tally = Tally.together(part.result() for part in parts)
    seeds = " and ".join(f"{seed}/{name}" for seed in SEEDS)
    record_property("figures", f"seeds {seeds}: {tally.coups} coups in {tally.shoes} shoes")
    odds = odds_of(name)
    for bet, rows in odds.items():
        for category, row in rows.categories.items():
            share_of = tally.found[bet, category] / tally.coups
            print(f"  {bet:22} {category:16} {share_of:.6f} of {float(row.probability):.6f}")  # noqa: T201 - the same
    assert tally.coups >= COUPS
    assert implausible(tally, odds, ERRORS) == []
