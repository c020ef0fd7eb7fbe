"""Some thousand coups through the real core pay by the printed rules, as often as the odds say.

In every coup every wager is held against an oracle that was written from the printed rules, and
over all of them each category must come as often as its exact odds say. A million coups a rulebook
are played in `tests/soak`, to four standard errors; here the sample is small and the bound wide.
The seeds are fixed: the same game every time.
"""

import math

import pytest

from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from tests.support.table.frequencies import Tally, every_bet, implausible, odds_of, play_shoes

COUPS = 400
ERRORS = 5  # standard errors; by chance alone less than one in a million counts is further off


@pytest.mark.sweep
@pytest.mark.parametrize("name", shipped_ids())
def test_wagers_pay_by_the_rules_and_each_category_comes_as_often_as_it_should(name: str) -> None:
    seed = f"unit/{name}"
    print(f"seed {seed}")  # noqa: T201 - a failure shows how to repeat it
    tally = play_shoes(name, seed, COUPS)
    assert tally.coups >= COUPS
    assert implausible(tally, odds_of(name), ERRORS) == []
    assert {bet for bet, _ in tally.found} == set(load_rulebook(name).bets)


def as_expected(name: str, coups: int) -> Tally:
    """Every count as near to its mean as a count can be."""
    tally = Tally.together(())._replace(coups=coups)
    for bet, rows in odds_of(name).items():
        for category, row in rows.categories.items():
            tally.found[bet, category] = round(coups * row.probability)
    return tally


@pytest.mark.parametrize("name", ["au-commission", "mini-lucky8"])
@pytest.mark.parametrize(("bet", "category"), [("tie", "win"), ("player", "push")])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_bound_finds_a_count_just_beyond_it(
    name: str, bet: str, category: str, sign: int
) -> None:
    chance = float(odds_of(name)[bet].categories[category].probability)
    spread = math.sqrt(10_000 * chance * (1 - chance))
    for errors, found in ((0.9 * ERRORS, False), (1.1 * ERRORS, True)):
        tally = as_expected(name, 10_000)
        tally.found[bet, category] += sign * round(errors * spread)
        complaints = implausible(tally, odds_of(name), ERRORS)
        assert [line.partition(":")[0] for line in complaints] == [f"{bet} {category}"] * found


def test_the_bound_finds_a_rare_category_that_comes_too_often() -> None:
    tally = as_expected("mini-lucky8", 10_000)
    assert implausible(tally, odds_of("mini-lucky8"), ERRORS) == []
    # It is expected 0.08 times in 10,000 coups: five of them are one chance in forty million.
    tally.found["lucky8_player", "double_suited_8"] = 5
    (complaint,) = implausible(tally, odds_of("mini-lucky8"), ERRORS)
    assert complaint == "lucky8_player double_suited_8: 5 of 10000, expected 0.1"


def test_a_payment_or_a_category_that_the_odds_do_not_know_is_found() -> None:
    tally = as_expected("ez", 10_000)
    tally.found["tie", "push"] = 1
    paid = {("tie", "win"): frozenset({800, 801})}
    complaints = implausible(tally._replace(paid=paid), odds_of("ez"), ERRORS)
    assert [line.partition(":")[0] for line in complaints] == ["tie win", "('tie', 'push')"]


@pytest.mark.parametrize("name", shipped_ids())
def test_every_bet_of_every_rulebook_is_wagered(name: str) -> None:
    rulebook = load_rulebook(name)
    assert {wager.bet for wager in every_bet(rulebook)} == set(rulebook.bets)
