"""The patrons' wagers: fixed by seed, shoe and coup, and never a wager the rules refuse."""

from collections import Counter

import pytest

from simulators.patrons import SEATS, STAKES, wagers

SHOE = "20261127-01"
COUPS = range(1, 301)


def test_wagers_follow_from_seed_shoe_and_coup_alone() -> None:
    forwards = [wagers(1, SHOE, coup) for coup in COUPS]
    backwards = [wagers(1, SHOE, coup) for coup in reversed(COUPS)]
    assert forwards == backwards[::-1]
    assert forwards != [wagers(2, SHOE, coup) for coup in COUPS]
    assert forwards != [wagers(1, "20261127-02", coup) for coup in COUPS]


def test_transactions_name_shoe_coup_and_seat_and_are_unique() -> None:
    asked = [command for coup in COUPS for command in wagers(1, SHOE, coup)]
    assert wagers(1, SHOE, 31)[0].transaction.startswith("w-20261127-01-31-s")
    assert len({command.transaction for command in asked}) == len(asked)
    for command in asked:
        assert {f"s{wager.seat}" for wager in command.wagers} == {
            command.transaction.rpartition("-")[2]
        }


@pytest.mark.parametrize("seed", range(5))
def test_no_seat_plays_both_sides_or_one_bet_twice(seed: int) -> None:
    for coup in COUPS:
        for command in wagers(seed, SHOE, coup):
            bets = [wager.bet for wager in command.wagers]
            assert len(set(bets)) == len(bets), f"seed {seed}, coup {coup}"
            assert not {"player", "banker"} <= set(bets), f"seed {seed}, coup {coup}"


def test_stakes_are_whole_hundreds_within_the_chips() -> None:
    stakes = {
        w.stake for coup in COUPS for command in wagers(1, SHOE, coup) for w in command.wagers
    }
    assert stakes == set(STAKES)
    assert all(stake % 100 == 0 and 100 <= stake <= 50_000 for stake in stakes)


def test_every_kind_of_wager_occurs_and_every_seat_sits_out_now_and_then() -> None:
    asked = [command for coup in COUPS for command in wagers(1, SHOE, coup)]
    kinds = {tuple(wager.bet for wager in command.wagers) for command in asked}
    assert kinds == {("player",), ("banker",), ("tie",), ("player", "tie"), ("banker", "tie")}
    played = Counter(wager.seat for command in asked for wager in command.wagers[:1])
    assert set(played) == set(SEATS)
    assert all(0.7 * len(COUPS) < count < len(COUPS) for count in played.values())
