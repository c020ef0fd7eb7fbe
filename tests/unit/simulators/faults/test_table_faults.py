"""Each fault of the line and of the people by its bytes, and what every fault keeps to."""

from collections import Counter

import pytest

from events.cards import Card
from events.types.shoe_reports import (
    CardCarriedOver,
    CardDrawn,
    CopyConflict,
    DeviceResult,
    FrameRejected,
    ReportLost,
    ShoeReady,
)
from simulators.device.deck import shuffled
from simulators.device.reports import Disclosure
from simulators.device.script import CableFault, DealerCall
from simulators.device.wire import Wire
from simulators.faults.table_faults import COUP_FAULTS
from simulators.shoe.dealing import DealingShoe, ReportStep
from tests.support.shoe.faulty_coups import (
    DISCLOSURES,
    SEEDS,
    SHOE,
    SPARE,
    deal,
    decoded,
    fallen,
    heard,
    kinds,
    only,
    without,
)

# No face is spent so early, no report of this profile tells of a lock, and where faces lie open
# there is no disclosure.
CANNOT = {
    "immediate": {"ninth_copy", "locked_draw", "short_disclosure"},
    "deferred": {"ninth_copy", "locked_draw"},
}

# ---- what every fault keeps to ----


@pytest.mark.parametrize("disclosure", DISCLOSURES)
@pytest.mark.parametrize("fault", COUP_FAULTS)
def test_a_seed_gives_the_same_bytes_and_the_cards_fall_as_they_are_told(
    fault: str, disclosure: Disclosure
) -> None:
    for seed in SEEDS:
        _, happenings, coup = deal(fault, seed, disclosure)
        assert deal(fault, seed, disclosure)[1:] == (happenings, coup), f"seed {seed}"
        assert fallen(happenings) == list(coup.cards), f"seed {seed}"
        cannot = fault in CANNOT[disclosure]
        assert coup.fault == (None if cannot else fault)


@pytest.mark.parametrize("fault", [f for f in COUP_FAULTS if f != "replace_shoe_continue"])
@pytest.mark.parametrize("disclosure", DISCLOSURES)
def test_every_card_of_the_shoe_is_accounted_for(fault: str, disclosure: Disclosure) -> None:
    """Whatever goes wrong with every coup, the cards leave the shoe in the order they lay in it."""
    dealing = DealingShoe(seed=3, disclosure=disclosure)
    _, burn = dealing.new_shoe(SHOE)
    out = [burn.first, *burn.burned]
    carried: Card | None = None
    while not dealing.over:
        coup = dealing.coup(fault, spare=SPARE)[1]
        cards = list(coup.cards)
        if carried is not None:
            assert cards.pop(0) is carried
        out += [*cards, *([coup.excess] if coup.excess else [])]
        carried = coup.excess if coup.carried else None
    assert (*out, *dealing.deck.rest()) == shuffled("3/01")


@pytest.mark.parametrize("fault", COUP_FAULTS)
def test_the_coup_after_a_fault_is_whole_again(fault: str) -> None:
    for seed in SEEDS:
        dealing, _, coup = deal(fault, seed)
        reports = without(decoded(dealing.coup()[0]), ShoeReady)
        first = CardCarriedOver if coup.carried else CardDrawn
        assert kinds(reports)[0] is first, f"seed {seed}"
        assert set(kinds(reports)[1:]) == {CardDrawn, DeviceResult}


def test_an_overdrawn_card_is_carried_over_unseen_or_seen_and_one_that_is_burned_is_seen() -> None:
    seen = [deal("overdraw_carried", seed)[2].excess_seen for seed in SEEDS]
    assert 5 < sum(seen) < len(seen) - 5
    assert all(deal("overdraw_burned", seed)[2].excess_seen for seed in SEEDS)
    assert deal("overdraw_burned", 1)[0].can_have("noise"), "the next coup is like any other"


def test_nothing_goes_wrong_with_a_shoes_last_coup_or_with_a_dummy_coup() -> None:
    dealing = next(
        dealing
        for dealing, _, coup in (deal("overdraw_carried", seed) for seed in SEEDS)
        if coup.excess_seen
    )
    assert not dealing.can_have("noise")
    assert dealing.coup("noise")[1].fault is None
    assert dealing.can_have("noise")
    while not dealing.coup()[1].last:
        can = dealing.can_have("noise")
    assert not can


# ---- the line ----


@pytest.mark.parametrize("disclosure", DISCLOSURES)
@pytest.mark.parametrize(
    "fault",
    ["copy_late", "copy_lost", "bit_flip", "noise", "split", "run_together", "missing_standby"],
)
def test_a_bad_line_changes_nothing_of_what_is_heard(fault: str, disclosure: Disclosure) -> None:
    for seed in SEEDS:
        _, happenings, coup = deal(fault, seed, disclosure)
        plain = decoded(deal(None, seed, disclosure)[1])
        told = without(decoded(happenings), FrameRejected)
        if fault == "missing_standby":
            plain = without(plain, ShoeReady)
        assert told == plain, f"seed {seed}"
        assert coup.cards == deal(None, seed)[2].cards


def test_of_lost_copies_one_or_two_arrive() -> None:
    steps = [step for step in deal("copy_lost", 1)[1] if isinstance(step, ReportStep)]
    assert {len(step.copies) for step in steps} == {1, 2}


def test_every_single_bit_of_one_copy_can_flip_and_the_report_is_still_heard_once() -> None:
    _, happenings, _ = deal(None, 1)
    steps = [step for step in happenings if isinstance(step, ReportStep)]
    plain = decoded(steps)
    for copy in range(3):
        for bit in range(8 * len(steps[1].copies[0])):
            wire = Wire(bits={copy: (bit,)})
            bent = tuple(wire.arrives(n, sent) for n, sent in enumerate(steps[1].copies))
            assert sum(a != b for a, b in zip(bent, steps[1].copies, strict=True)) == 1
            damaged = [steps[0], ReportStep(pause=0, copies=bent), *steps[2:]]
            told = decoded(damaged)
            assert without(told, FrameRejected) == plain, f"bit {bit} of copy {copy}"
            assert len(told) > len(plain), "what was damaged is told as such"


def test_noise_is_told_and_forms_no_report() -> None:
    for seed in SEEDS:
        assert only(heard("noise", seed), FrameRejected), f"seed {seed}"


@pytest.mark.parametrize("disclosure", DISCLOSURES)
def test_a_missing_report_shows_by_the_gap_in_the_next_one(disclosure: Disclosure) -> None:
    """The first card's shows too: by the number of the coup before."""
    firsts = 0
    for seed in SEEDS:
        dealing = DealingShoe(seed=seed, disclosure=disclosure)
        dealing.new_shoe(SHOE)
        before = dealing.coup()[0]
        reports = decoded([*before, *dealing.coup("missing_report")[0]])[len(decoded(before)) :]
        plain = decoded(deal(None, seed, disclosure)[1])
        (lost,) = only(reports, ReportLost)
        assert isinstance(lost, ReportLost)
        assert int(lost.got) == int(lost.expected) % 9 + 1
        whole = without(reports, ReportLost)
        assert len(whole) == len(plain) - 1
        assert [report for report in plain if report in whole] == whole, f"seed {seed}"
        firsts += reports[0] is lost
    assert firsts > 0 or disclosure == "deferred"


@pytest.mark.parametrize("disclosure", DISCLOSURES)
def test_a_conflict_is_two_bodies_under_one_number(disclosure: Disclosure) -> None:
    wrong_first = 0
    for seed in SEEDS:
        _, happenings, coup = deal("copy_conflict", seed, disclosure)
        (conflict,) = only(decoded(happenings), CopyConflict)
        assert isinstance(conflict, CopyConflict)
        assert len(set(conflict.bodies)) == 2
        assert {body[:4] for body in conflict.bodies} == {conflict.bodies[0][:4]}, "one target"
        told = [r.face for r in decoded(happenings) if isinstance(r, CardDrawn)]
        wrong_first += disclosure == "immediate" and told != list(coup.cards)
    assert wrong_first > 0 if disclosure == "immediate" else wrong_first == 0


def test_the_cable_comes_out_and_goes_back_with_at_most_two_cards_between() -> None:
    between = Counter[int]()
    for seed in SEEDS:
        _, happenings, _ = deal("unplug", seed)
        out, back = happenings.index(CableFault.OUT), happenings.index(CableFault.IN)
        between[len(fallen(happenings[out:back]))] += 1
        assert fallen(happenings[:out]), "a card was heard before"
        assert happenings[back + 1] is DealerCall.LOOK
    assert set(between) == {0, 1, 2}


# ---- the table's people ----


def test_a_cut_card_that_comes_early_ends_the_shoe_with_the_next_coup() -> None:
    for seed in SEEDS:
        dealing, happenings, coup = deal("cut_card", seed)
        before = fallen(happenings[: happenings.index(DealerCall.CUT_CARD)])
        assert 1 <= len(before) <= 3
        assert not coup.last
        assert dealing.deck.cut_card_is_out
        assert dealing.coup()[1].last
        assert dealing.over


def test_a_shoe_that_is_replaced_ends_its_coup_where_it_stands() -> None:
    _, happenings, coup = deal("replace_shoe", 1)
    assert happenings[-1] is DealerCall.REPLACE
    assert coup.outcome is None


def test_a_coup_can_go_on_from_another_shoe() -> None:
    for seed in SEEDS:
        dealing, happenings, coup = deal("replace_shoe_continue", seed)
        before = len(fallen(happenings[: happenings.index(DealerCall.CONTINUE)]))
        assert 1 <= before <= 3
        assert coup.cards[before:] == shuffled(f"{seed}/02")[: len(coup.cards) - before]
        assert coup.shoe == SHOE
        following = dealing.coup()[1]
        assert (following.shoe, following.number) == (SPARE, 1)


def test_the_cut_card_comes_in_mid_coup_where_a_carried_card_was_the_first() -> None:
    """It is drawn in place of a card from the shoe, and the coup's first card is not."""
    dealing, *_ = deal("overdraw_carried", 1)
    dealing.deck.cut(dealing.deck.left)
    assert dealing.deck.cut_card_is_next
    assert not dealing.cut_card_comes_first
    assert not dealing.coup()[1].last
    assert dealing.coup()[1].last
