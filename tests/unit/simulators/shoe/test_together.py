"""Faults in random company are woven whatever they are, and the cards fall as they would."""

import pytest

from simulators.device.reports import Disclosure
from simulators.shoe.dealing import DealingShoe
from tests.support.shoe.fault_mixtures import KINDS, mixtures
from tests.support.shoe.faulty_coups import SHOE, SPARE, fallen

COUPS = 20


@pytest.mark.parametrize(("profile", "disclosure"), KINDS)
def test_any_mixture_is_woven_and_its_cards_fall(profile: str, disclosure: Disclosure) -> None:
    for seed in range(60):
        dealing = DealingShoe(seed=seed, profile=profile, disclosure=disclosure)
        dealing.new_shoe(SHOE)
        for fault in mixtures(seed, profile, disclosure, COUPS):
            can = dealing.can_have(fault)
            happenings, coup = dealing.coup(fault, spare=SPARE)
            assert coup.fault == (fault if can else None), f"seed {seed}"
            assert fallen(happenings) == list(coup.cards), f"seed {seed}"


@pytest.mark.parametrize(("profile", "disclosure"), KINDS)
def test_a_seed_weaves_the_same_again(profile: str, disclosure: Disclosure) -> None:
    def bytes_of(seed: int) -> list[object]:
        dealing = DealingShoe(seed=seed, profile=profile, disclosure=disclosure)
        dealing.new_shoe(SHOE)
        return [dealing.coup(f, spare=SPARE) for f in mixtures(seed, profile, disclosure, COUPS)]

    assert all(bytes_of(seed) == bytes_of(seed) for seed in range(5))
