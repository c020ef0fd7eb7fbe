"""Detection curves of docs/shoe/shuffle.md: `SHOES` false shoes in all, ten times honest ones.

Each shoe has its own seed; a test prints and records what it measured.
"""

import os
from collections import Counter
from collections.abc import Callable
from math import ceil, sqrt
from random import Random

import pytest

from events.cards import Card
from events.types import ShoeAudited, ShoeCounted
from table_core.decide.shoe_doubts import count_faults, hold_by_cards
from table_core.shuffle.chances import FALSE_ALARM
from table_core.shuffle.examination import examine
from table_core.shuffle.orders import cards_of
from tests.support.shoe.false_shuffles import (
    CONTENTS,
    CURVES,
    DEALT,
    DECKS,
    Contents,
    Curve,
    honest,
)

SHOES = int(os.environ.get("SHOES", "10000"))
OF_A_KIND = ceil(SHOES / (len(CURVES) + len(CONTENTS)))
RNG = Random(29)
EARLIER = [(f"e{number}", honest(RNG)[:DEALT]) for number in range(100)]
LOOKS = (*range(26, DEALT, 26), DEALT)


def first_alarm(shoe: str) -> int | None:
    """The cards that had come when the order was found to be false."""
    return next((cards for cards in LOOKS if examine(shoe[:cards], DECKS, EARLIER)), None)


@pytest.mark.soak(computes=True)
@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_false_shuffles_are_found_within_the_curve(
    curve: Curve, record_property: Callable[[str, object], None]
) -> None:
    shoes = (curve.make(Random(f"{curve.name}/{seed}"), EARLIER) for seed in range(OF_A_KIND))
    alarms = [first_alarm(shoe) for shoe in shoes]
    cards = sorted(each for each in alarms if each is not None)
    parts = [ceil(OF_A_KIND * percent / 100) for percent in (50, 90, 99)]
    told = [cards[part - 1] if part <= len(cards) else None for part in parts]
    share = len(cards) / OF_A_KIND
    record_property("figures", f"{curve.name}: 50, 90, 99 % after {told}; {share:.1%} found")
    found = sum(each <= (curve.cards or DEALT) for each in cards)
    due = curve.share / 100
    assert found >= OF_A_KIND * due - 3 * sqrt(OF_A_KIND * due * (1 - due))


@pytest.mark.soak(computes=True)
@pytest.mark.parametrize("contents", CONTENTS, ids=lambda contents: contents.name)
def test_false_cards_are_found_in_play_or_at_the_count(
    contents: Contents, record_property: Callable[[str, object], None]
) -> None:
    in_play = 0
    for seed in range(OF_A_KIND):
        cards = cards_of(contents.make(Random(f"{contents.name}/{seed}")))
        dealt = Counter(cards[:DEALT])
        audit = ShoeAudited(
            shoe="s", decks=DECKS, seen=DEALT, known=DEALT, burned=0, carried=0, coups=80, voids=0,
            left={card: DECKS - dealt[card] for card in Card},
        )  # fmt: skip
        in_play += bool(hold_by_cards(audit))
        faces = dict(Counter(cards)) if contents.faces else {}
        assert count_faults(ShoeCounted(shoe="s", cards=len(cards), faces=faces), DECKS)
    told = f"{in_play / OF_A_KIND:.1%} by the cards dealt, all at the count"
    record_property("figures", f"{contents.name}: {told}")
    assert in_play >= OF_A_KIND * contents.in_play / 100


@pytest.mark.soak(computes=True)
def test_honest_shoes_raise_no_more_alarms_than_stated(
    record_property: Callable[[str, object], None],
) -> None:
    # An alarm in play stays one at the shoe's end: the bound is that of the whole shoe.
    rng, shoes = Random(30), 10 * SHOES
    alarms = sum(bool(examine(honest(rng)[:DEALT], DECKS, EARLIER[:12])) for _ in range(shoes))
    record_property("figures", f"{alarms} alarms in {shoes} honest shoes")
    expected = float(shoes * FALSE_ALARM)
    assert alarms <= expected + 3 * sqrt(expected)
