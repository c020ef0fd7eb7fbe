"""The simulated shoe: every card accounted for, the last coup in its place, one seed one shoe."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.cards import Card
from events.errors import InputError, OurBug
from simulators.device.deck import Deck, burn_count, shuffled
from simulators.device.enq_bcc import POWER_UP_NOISE
from simulators.device.reports import Disclosure
from simulators.shoe.dealing import DealingShoe, Happening, PhysicalCoup, ReportStep, next_shoe_id

SHOE = "20261127-01"
SEEDS = range(20)


def _play(
    seed: int, *, decks: int = 8, disclosure: Disclosure = "immediate", shoe: str = SHOE
) -> tuple[DealingShoe, list[list[ReportStep]], list[PhysicalCoup], list[Card]]:
    """A whole shoe: the world after it, steps by happening, coups, and the burned cards."""
    world = DealingShoe(seed=seed, decks=decks, disclosure=disclosure)
    steps, burn = world.new_shoe(shoe)
    happenings, coups = [steps], []
    while not world.over:
        acts, coup = world.coup()
        happenings.append(steps_of(acts))
        coups.append(coup)
    return world, happenings, coups, [burn.first, *burn.burned]


def steps_of(acts: Sequence[Happening]) -> list[ReportStep]:
    """What an undisturbed coup is made of: nothing but reports."""
    steps = [act for act in acts if isinstance(act, ReportStep)]
    assert len(steps) == len(acts)
    return steps


def _bytes(happenings: list[list[ReportStep]]) -> bytes:
    return b"".join(step.noise + b"".join(step.copies) for steps in happenings for step in steps)


def _kinds(steps: list[ReportStep]) -> str:
    return "".join(chr(step.copies[0][2]) for step in steps)


@pytest.mark.parametrize("decks", [4, 6, 8])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_card_of_the_shoe_is_accounted_for(seed: int, decks: int) -> None:
    world, _, coups, burned = _play(seed, decks=decks)
    dealt = [card for coup in coups for card in coup.cards]
    out = [*burned, *dealt, *world.deck.rest()]
    assert Counter(out) == Counter(dict.fromkeys(Card, decks)), f"seed {seed}"
    assert len(out) == 52 * decks
    assert tuple(out) == shuffled(f"{seed}/01", decks), f"seed {seed}: out of order"
    assert world.deck.composition() == Counter(world.deck.rest())


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_coup_is_the_one_after_the_cut_card(seed: int) -> None:
    """House rule 16, told from the cards alone: the 14th from the end lies behind the cut card."""
    _, _, coups, burned = _play(seed)
    before_cut = 416 - 14
    seen = len(burned)
    last = None
    for number, coup in enumerate(coups, start=1):
        if seen == before_cut:
            last = number  # the cut card came in place of the first card
        elif seen < before_cut < seen + len(coup.cards):
            last = number + 1  # it came in mid-coup: one more
        seen += len(coup.cards)
    assert last == len(coups), f"seed {seed}"
    assert [coup.last for coup in coups] == [False] * (last - 1) + [True]
    assert 60 <= len(coups) <= 95, "a shoe of eight decks has some eighty coups"


def test_both_ways_of_ending_a_shoe_occur_among_the_seeds() -> None:
    in_place_of_first = 0
    for seed in range(60):
        _, _, coups, burned = _play(seed)
        before_last = len(burned) + sum(len(coup.cards) for coup in coups[:-1])
        in_place_of_first += before_last == 416 - 14
    assert 0 < in_place_of_first < 60


def test_no_coup_comes_out_of_a_shoe_that_is_over_or_was_never_begun() -> None:
    world, *_ = _play(1)
    with pytest.raises(OurBug, match="over"):
        world.coup()
    with pytest.raises(OurBug, match="over"):
        DealingShoe(seed=1).coup()
    with pytest.raises(OurBug, match="never begun"):
        _ = DealingShoe(seed=1).deck


@given(seed=st.integers(0, 2**32), disclosure=st.sampled_from(["immediate", "deferred"]))
def test_one_seed_and_shoe_give_the_same_bytes(seed: int, disclosure: Disclosure) -> None:
    def opening(shoe: str) -> bytes:
        world = DealingShoe(seed=seed, disclosure=disclosure)
        return _bytes([world.new_shoe(shoe)[0], *(steps_of(world.coup()[0]) for _ in range(5))])

    assert opening(SHOE) == opening(SHOE)
    assert opening(SHOE) != opening("20261127-02")


def test_a_whole_shoe_is_the_same_bytes_again_and_another_seed_is_not() -> None:
    first, again, other = (_bytes(_play(seed)[1]) for seed in (7, 7, 8))
    assert first == again
    assert first != other


def test_a_shoe_does_not_depend_on_the_shoe_before_it() -> None:
    world, *_ = _play(7, shoe="20261127-01")
    second = _bytes([world.new_shoe("20261127-02")[0], steps_of(world.coup()[0])])
    fresh = DealingShoe(seed=7)
    assert second == _bytes([fresh.new_shoe("20261127-02")[0], steps_of(fresh.coup()[0])])


@pytest.mark.parametrize("seed", SEEDS)
def test_immediate_disclosure_says_cards_then_result(seed: int) -> None:
    _, happenings, coups, _ = _play(seed)
    for steps, coup in zip(happenings[1:], coups, strict=True):
        assert _kinds(steps).rstrip("P") == "D" * len(coup.cards) + "G"
        assert [step.deciding for step in steps].index(True) == len(coup.cards)


@pytest.mark.parametrize("seed", SEEDS)
def test_deferred_disclosure_withholds_every_face_until_just_before_the_result(seed: int) -> None:
    _, happenings, coups, _ = _play(seed, disclosure="deferred")
    for steps, coup in zip(happenings[1:], coups, strict=True):
        n = len(coup.cards)
        assert _kinds(steps).rstrip("P") == "D" * n + "I" * n + "G"
        drawn, disclosed = steps[:n], steps[n : 2 * n]
        assert {step.copies[0][4] for step in drawn} == {0x80}
        targets = [step.copies[0][3] for step in drawn]
        assert [step.copies[0][3] for step in disclosed] == targets


def test_deferred_and_immediate_deal_the_same_cards() -> None:
    assert _play(3)[2] == _play(3, disclosure="deferred")[2]


def test_standby_and_noise_are_sometimes_missing() -> None:
    _, happenings, *_ = _play(5)
    standby = Counter(_kinds(steps).endswith("P") for steps in happenings[1:])
    assert standby[True] > standby[False] > 0
    world = DealingShoe(seed=5)
    noises = {world.new_shoe(f"20261127-{n:02d}")[0][0].noise for n in range(1, 30)}
    assert noises == {b"", POWER_UP_NOISE}


def test_a_new_shoe_powers_up_exposes_its_first_card_and_counts_the_burn_down() -> None:
    world = DealingShoe(seed=11)
    for number in range(1, 15):
        steps, burn = world.new_shoe(f"20261127-{number:02d}")
        assert _kinds(steps) == "SD" + "D" * len(burn.burned)
        left = [step.copies[0][3] - 0xD0 for step in steps[2:]]
        assert left == list(reversed(range(burn_count(burn.first))))


@pytest.mark.parametrize(
    ("first", "burned"),
    [("AS", 1), ("2C", 2), ("9D", 9), ("TH", 10), ("JD", 10), ("QS", 10), ("KC", 10)],
)
def test_the_burn_is_the_first_cards_face_value_court_cards_ten(first: str, burned: int) -> None:
    cards = (Card(first), *shuffled(1))
    deck = Deck(cards)
    burn = deck.burn()
    assert (burn.first, burn.burned) == (Card(first), cards[1 : 1 + burned])
    assert deck.left == 416 - burned


def test_an_empty_shoe_gives_no_card() -> None:
    with pytest.raises(OurBug, match="empty"):
        Deck(()).draw()


@pytest.mark.parametrize("decks", [0, 1, 5, 9])
def test_a_shoe_has_four_six_or_eight_decks(decks: int) -> None:
    with pytest.raises(InputError, match="4, 6 or 8"):
        shuffled(1, decks)


@pytest.mark.parametrize(
    ("shoe", "following"),
    [
        ("20261127-01", "20261127-02"),
        ("20261127-98", "20261127-99"),
        ("20261127-99", "20261128-01"),
        ("20261231-99", "20270101-01"),
    ],
)
def test_shoe_ids_count_on(shoe: str, following: str) -> None:
    assert next_shoe_id(shoe) == following


@pytest.mark.parametrize("shoe", ["", "20261127", "20261127-", "20261127-00", "20261327-01", "x-1"])
def test_what_is_no_shoe_id_is_refused(shoe: str) -> None:
    with pytest.raises(InputError, match="YYYYMMDD-NN"):
        next_shoe_id(shoe)


def test_a_seed_gives_these_cards_on_every_python() -> None:
    """The first eight of seed 7, told once by 3.11, 3.12 and 3.13: a demo can be shown again."""
    assert " ".join(map(str, shuffled(f"7/{SHOE}")[:8])) == "7S TS 7S AC 8H JD QC AC"


def test_a_seed_gives_the_same_game_on_every_day() -> None:
    games = []
    for day in ("20260101", "20261127"):
        dealing = DealingShoe(seed=3)
        dealing.new_shoe(f"{day}-02")
        games.append([dealing.coup()[1].cards for _ in range(5)])
    assert games[0] == games[1]
