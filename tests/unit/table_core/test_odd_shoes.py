"""Whatever happens in shoes, and whoever tells of it: no card is lost, none is counted twice."""

from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from events.cards import Card
from events.types import ShoeAudited
from table_core.state.shoe import ShoeState
from tests.support.table.odd_shoes import OddShoes


def faces(shoe: ShoeState) -> Counter[Card]:
    return Counter(Card(shoe.order[at : at + 2]) for at in range(0, len(shoe.order), 2))


def check(odd: OddShoes) -> None:
    """Every shoe that the table still knows holds what physically left it."""
    state = odd.world.state
    for shoe in (odd.view(), *state.replaced):
        assert shoe.cards == odd.out[shoe.id].total(), odd.ways
        assert faces(shoe) == odd.out[shoe.id] - odd.untold[shoe.id], odd.ways


def check_audits(odd: OddShoes) -> None:
    audits = [event for event in odd.world.log if isinstance(event, ShoeAudited)]
    assert [audit.shoe for audit in audits] == sorted(odd.out), "each shoe once, in order"
    for audit in audits:
        out, untold = odd.out[audit.shoe], odd.untold[audit.shoe]
        assert (audit.seen, audit.known) == (out.total(), (out - untold).total()), odd.ways
        left = {card: odd.decks - (out - untold)[card] for card in Card}
        assert audit.left == left, odd.ways
        assert audit.coups == odd.coups[audit.shoe], odd.ways
        assert audit.voids == odd.voids[audit.shoe], odd.ways
        assert audit.carried == odd.carried[audit.shoe], odd.ways


@pytest.mark.sweep
@pytest.mark.parametrize("policy", ["carry", "burn", "void"])
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([4, 4, 8]))
@example(1, 8)
def test_every_card_of_every_shoe_is_accounted_for_exactly_once(
    policy: str, seed: int, decks: int
) -> None:
    odd = OddShoes(seed, decks, policy)
    while not odd.over:
        odd.play()
        check(odd)
    odd.end()
    check_audits(odd)


def test_the_ways_of_the_test_above_are_gone_in() -> None:
    """Overdraws in both modes, replacements, free and dummy hands: all come within a few seeds."""
    ways: Counter[str] = Counter()
    dummies = 0
    for seed in range(4):
        odd = OddShoes(seed, 8, "carry")
        while not odd.over:
            dummies += odd.world.state.link.dummy
            odd.play()
        ways.update(odd.ways)
    played = Counter(word for way, times in ways.items() for word in way.split() * times)
    assert min(played[word] for word in ("continue", "overdrawn", "lost", "booted")) > 3
    assert played["void"] > 3
    assert ways["squeeze  overdrawn"] > 3
    assert ways["open  overdrawn"] > 3
    assert dummies > 3
