"""What is found of false shuffles and of honest ones; tests/soak has the whole measurement."""

from random import Random
from time import process_time

import pytest

from table_core.shuffle.chances import FALSE_ALARM
from table_core.shuffle.examination import examine, examine_elsewhere
from table_core.shuffle.orders import FACTORY_ORDERS, piles
from tests.support.shoe.false_shuffles import CURVES, DEALT, Curve, honest

RNG = Random(29)
EARLIER = [(f"20261126-{number:02}", honest(RNG)[:DEALT]) for number in range(12)]
OTHER = EARLIER[3][1]
SAMPLE = 10


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_a_sample_of_false_shuffles_is_found_within_the_curve(curve: Curve) -> None:
    shoes = [curve.make(Random(f"sample/{seed}"), EARLIER) for seed in range(SAMPLE)]
    found = sum(bool(examine(shoe[: curve.cards or DEALT], 8, EARLIER)) for shoe in shoes)
    assert found >= (SAMPLE - 1 if curve.share >= 99 else SAMPLE * curve.share // 200)


def test_a_sample_of_honest_shoes_raises_no_alarm() -> None:
    rng = Random(30)
    shoes = [honest(rng) for _ in range(100)]
    assert [found for shoe in shoes for found in examine(shoe, 8, EARLIER)] == []
    assert [found for shoe in shoes if (found := examine_elsewhere(shoe, EARLIER))] == []


SHOE = honest(Random(31))
WAYS = [
    (OTHER, (1, False, False), 400),
    (OTHER[::-1], (1, True, False), 400),
    (OTHER[150:] + OTHER[:150], (1, False, False), 400),
    ("".join(a + b for a, b in zip(OTHER[:200], OTHER[200:], strict=True)), (2, False, False), 400),
    ("".join(a + b for a, b in zip(OTHER[:200], SHOE, strict=False)), (2, False, False), 200),
    (piles(OTHER), (1, False, True), 400),
    (SHOE[:100] + OTHER[40:60] + SHOE[100:380], (1, False, False), 20),
]


@pytest.mark.parametrize(("order", "way", "run"), WAYS)
def test_an_earlier_shoe_is_named_with_the_way_in_which_it_came(
    order: str, way: tuple[int, bool, bool], run: int
) -> None:
    (found,) = examine(order, 8, EARLIER)
    assert (found.kind, found.source, found.groups) == ("earlier", "20261126-03", 1)
    assert run <= found.length <= run + 1  # one more by chance
    assert (found.way.step, found.way.backwards, found.two_piles) == way
    assert found.chance <= FALSE_ALARM
    # A shoe of another table is found in the same ways, with room for fewer false alarms.
    elsewhere = examine_elsewhere(order, EARLIER)
    assert elsewhere is not None
    assert (elsewhere.source, elsewhere.way, elsewhere.run) == (found.source, found.way, found.run)
    assert elsewhere.chance <= FALSE_ALARM / 4


def test_two_shoes_in_the_order_of_new_packs_are_told_by_both() -> None:
    packs = FACTORY_ORDERS["by_suits"] * 8
    found = {each.kind: each for each in examine(packs[:200], 8, [("20261126-01", packs[7:211])])}
    assert found.keys() == {"factory", "earlier"}
    assert found["factory"].length == 200
    assert found["factory"].exponent > 300


def test_packs_of_one_order_are_told_by_themselves_and_not_by_an_earlier_shoe() -> None:
    pack = "".join(Random(32).sample(FACTORY_ORDERS["by_suits"], 52))
    (found,) = examine(pack * 8, 8, EARLIER)
    assert (found.kind, found.source) == ("itself", "")
    assert found.run in pack * 8


def test_a_comparison_with_a_thousand_shoes_takes_under_a_second() -> None:
    rng = Random(33)
    earlier = [(str(number), honest(rng)[:DEALT]) for number in range(1_000)]
    same, began = earlier[0][1], process_time()
    assert examine(honest(rng)[:DEALT], 8, earlier) == ()
    took = process_time() - began
    # ... also if no shoe was ever shuffled, and each lay another way.
    cut = [(str(at), same[at % DEALT :] + same[: at % DEALT]) for at in range(1_000)]
    began = process_time()
    assert examine(same, 8, cut)[0].length >= DEALT
    assert process_time() - began < 1
    assert took < 1
    # One at each 26 cards and one at the end, in a shoe of eighty minutes.
    assert took * (DEALT // 26 + 1) < 0.05 * 80 * 60


@pytest.mark.parametrize("order", ["", "a", "ab", "abc"])
def test_a_shoe_that_has_hardly_begun_says_nothing(order: str) -> None:
    assert examine(order, 8, EARLIER) == ()
