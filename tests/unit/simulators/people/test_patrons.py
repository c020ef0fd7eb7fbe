"""The patrons' wagers: fixed by seed, shoe and coup, and never a wager the rules refuse."""

import random
from collections import Counter
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from events.types import Wager
from simulators.people.patrons import SEATS, STAKES, wagers
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.rulebook import Limits, Options, Requirement, Rulebook
from table_core.rules.wager_checks import check_wagers

SHOE = "20261127-01"
COUPS = range(1, 301)
USUAL = load_rulebook("au-commission")


def test_wagers_follow_from_seed_shoe_and_coup_alone() -> None:
    forwards = [wagers(1, SHOE, coup, USUAL) for coup in COUPS]
    backwards = [wagers(1, SHOE, coup, USUAL) for coup in reversed(COUPS)]
    assert forwards == backwards[::-1]
    assert forwards != [wagers(2, SHOE, coup, USUAL) for coup in COUPS]
    assert forwards != [wagers(1, "20261127-02", coup, USUAL) for coup in COUPS]
    assert [c.wagers for c in wagers(1, SHOE, 9, USUAL)] == [
        c.wagers for c in wagers(1, "20300101-01", 9, USUAL)
    ], "a seed gives the same game on every day"


def test_transactions_name_shoe_coup_and_seat_and_are_unique() -> None:
    asked = [command for coup in COUPS for command in wagers(1, SHOE, coup, USUAL)]
    assert wagers(1, SHOE, 31, USUAL)[0].transaction.startswith("w-20261127-01-31-s")
    assert len({command.transaction for command in asked}) == len(asked)
    for command in asked:
        assert {f"s{wager.seat}" for wager in command.wagers} == {
            command.transaction.rpartition("-")[2]
        }


@pytest.mark.parametrize("rulebook", shipped_ids())
def test_no_seat_plays_both_sides_or_one_bet_twice(rulebook: str) -> None:
    for coup in COUPS:
        for command in wagers(1, SHOE, coup, load_rulebook(rulebook)):
            bets = [wager.bet for wager in command.wagers]
            assert len(set(bets)) == len(bets), f"coup {coup}"
            assert not {"player", "banker"} <= set(bets), f"coup {coup}"


@pytest.mark.parametrize("rulebook", shipped_ids())
def test_everything_that_a_table_offers_is_asked_for_and_every_seat_sits_out_now_and_then(
    rulebook: str,
) -> None:
    rules = load_rulebook(rulebook)
    asked = [command for coup in COUPS for command in wagers(1, SHOE, coup, rules)]
    bets = Counter(wager.bet for command in asked for wager in command.wagers)
    assert bets.keys() == {name for name, bet in rules.bets.items() if bet.offered}
    assert min(bets.values()) > len(COUPS) / 2
    played = Counter(wager.seat for command in asked for wager in command.wagers[:1])
    assert set(played) == set(SEATS)
    assert all(0.7 * len(COUPS) < count < len(COUPS) for count in played.values())
    stakes = {wager.stake for command in asked for wager in command.wagers}
    assert stakes == set(STAKES)


def _refusals(rules: Rulebook, seed: int, coup: int) -> list[str]:
    """What the table says to each seat's command, heard in any order, as the seats bet at once."""
    order = random.Random(f"{seed}/{coup}")
    commands = wagers(seed, SHOE, coup, rules)
    order.shuffle(commands)
    standing: list[Wager] = []
    refusals = []
    for command in commands:
        asked = [
            Wager(id=f"{command.transaction}/{n}", seat=w.seat, bet=w.bet, stake=w.stake)
            for n, w in enumerate(command.wagers)
        ]
        refusals += [refusal.code for refusal in check_wagers(rules, standing, asked) if refusal]
        standing += asked
    return refusals


def _narrow(rules: Rulebook) -> Rulebook:
    """The same bets under every kind of limit at once."""
    bets = {
        name: replace(bet, minimum=700, maximum=6_000, step=150, per="spot", table_maximum=30_000)
        for name, bet in rules.bets.items()
    }
    limits = Limits(
        table_maximum=60_000, differential=21_000, patron_maximum=7_000, seat_maximum=6_500
    )
    return replace(rules, bets=bets, limits=limits, options=Options(max_options=2))


def _supported(rules: Rulebook) -> Rulebook:
    """The same bets, each side bet with a main wager in its box."""
    bets = {
        name: bet
        if name in {"player", "banker", "tie"}
        else replace(bet, requirement=Requirement.SAME_SEAT)
        for name, bet in rules.bets.items()
    }
    return replace(rules, bets=bets)


def _without_tie(rules: Rulebook) -> Rulebook:
    """The same bets, where a tie supports no other and no side bet comes first."""
    return replace(rules, options=Options(tie_is_main=False, side_bet_first=False))


@pytest.mark.sweep
@pytest.mark.parametrize("alter", [lambda rules: rules, _narrow, _supported, _without_tie])
@pytest.mark.parametrize("rulebook", shipped_ids())
def test_no_table_refuses_any_of_it(rulebook: str, alter: Callable[[Rulebook], Rulebook]) -> None:
    rules = alter(load_rulebook(rulebook))
    for coup in range(1, 101):
        assert _refusals(rules, coup, coup) == [], f"seed and coup {coup}"
    asked = [command for coup in COUPS for command in wagers(1, SHOE, coup, rules)]
    bets = {wager.bet for command in asked for wager in command.wagers}
    assert bets == set(rules.bets), "narrow limits do not keep a bet from being asked for"


def test_a_bet_for_which_no_chip_is_small_enough_is_left_out() -> None:
    tie = replace(USUAL.bets["tie"], minimum=1_000, maximum=900)
    rules = replace(USUAL, bets={**USUAL.bets, "tie": tie})
    asked = [command for coup in COUPS for command in wagers(1, SHOE, coup, rules)]
    assert asked
    assert "tie" not in {wager.bet for command in asked for wager in command.wagers}


def test_where_no_chip_is_a_multiple_of_the_step_its_least_multiple_is_staked() -> None:
    tie = replace(USUAL.bets["tie"], minimum=700, step=333)
    rules = replace(USUAL, bets={**USUAL.bets, "tie": tie})
    asked = [command for coup in COUPS for command in wagers(1, SHOE, coup, rules)]
    assert {w.stake for command in asked for w in command.wagers if w.bet == "tie"} == {999}
