"""The bounds of chance: never below what is exact, or what honest shuffles show."""

from fractions import Fraction
from random import Random

import pytest

from events.cards import Card
from table_core.shuffle.chances import chance_of_groups, exponent
from table_core.shuffle.orders import FACTORY_ORDERS, WAYS, cards_of, order_of, piles
from tests.support.shoe.false_shuffles import honest

# The next card of a pack that lies suit by suit.
NEXT = dict(zip(FACTORY_ORDERS["by_suits"], FACTORY_ORDERS["by_suits"][1:], strict=False))


def test_one_pack_shows_a_pair_as_often_as_it_must() -> None:
    # 51 places, of which each has the pair in one of 52 x 51 cases, and never two of them.
    exact = Fraction(51, 52 * 51)
    bound = chance_of_groups(1, 1, 2, sources=1, searches=1)
    assert exact <= bound <= exact * Fraction(52, 51)


def test_a_given_run_of_a_whole_shoe_counts_its_copies() -> None:
    # 52 different cards in a row: 8 copies of each, at 416 places at most.
    exact = Fraction(1)
    for taken in range(52):
        exact *= Fraction(8, 416 - taken)
    assert chance_of_groups(8, 1, 52, sources=1, searches=1) == 416 * exact
    # The 53rd has one of the seven copies left.
    longer = chance_of_groups(8, 1, 53, sources=1, searches=1)
    assert longer == 416 * exact * Fraction(7, 416 - 52)


def test_every_search_counts() -> None:
    one = chance_of_groups(8, 1, 9, sources=416, searches=1)
    assert chance_of_groups(8, 1, 9, sources=416, searches=1000) == 1000 * one
    assert chance_of_groups(8, 1, 2, sources=416, searches=1000) == 1


@pytest.mark.parametrize("groups", [8, 12, 15])
def test_honest_shoes_show_pairs_no_more_often_than_the_bound(groups: int) -> None:
    rng, shoes = Random(29), 400
    shown = 0
    for _ in range(shoes):
        order, free, count = honest(rng), 0, 0
        for at in range(len(order) - 1):
            if at >= free and NEXT.get(order[at]) == order[at + 1]:
                count, free = count + 1, at + 2
        shown += count >= groups
    bound = chance_of_groups(8, groups, 2, sources=51, searches=1)
    assert shown / shoes <= bound + Fraction(1, 20)


@pytest.mark.parametrize(
    ("chance", "power"),
    [(Fraction(1), 0), (Fraction(1, 999), 2), (Fraction(1, 1000), 3), (Fraction(3, 10**20), 19)],
)
def test_a_chance_is_at_most_one_in_ten_to_its_power(chance: Fraction, power: int) -> None:
    assert exponent(chance) == power
    assert chance <= Fraction(1, 10**power)


def test_an_order_is_read_and_dealt_in_every_way() -> None:
    assert cards_of(order_of(Card)) == tuple(Card)
    assert piles("abcde") == "acebd"
    read = {(way.step, way.backwards): way.read("abcdefg") for way in WAYS}
    assert (read[1, True], read[2, False], read[3, True]) == ("gfedcba", "acegbdf", "fcebgda")
    for way in WAYS:
        places = [way.place(7, at) for at in range(7)]
        assert "".join("abcdefg"[place] for place in places) == way.read("abcdefg")
