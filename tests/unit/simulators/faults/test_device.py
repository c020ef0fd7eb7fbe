"""Each fault of device, line and people by its bytes, and what every fault keeps to."""

from collections import Counter

import pytest

from events.cards import Card
from events.types import (
    CardCarriedOver,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    CopyConflict,
    DeviceResult,
    ErrorCleared,
    ErrorRaised,
    FrameRejected,
    ReportLost,
    RoundForcedEnd,
    ShoeBooted,
    ShoeReady,
)
from simulators.device.deck import shuffled
from simulators.device.printed_rules import next_place
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


def test_an_overdrawn_card_that_is_carried_over_is_the_profiles_sequence() -> None:
    for seed in SEEDS:
        dealing, happenings, coup = deal("overdraw_carried", seed)
        tail = decoded(happenings)[len(coup.cards) :]
        assert kinds(without(tail, ShoeReady)) == [
            ErrorRaised,
            CardOutOfGame,
            ErrorCleared,
            DeviceResult,
        ]
        assert tail[:3] == [
            ErrorRaised(code="overdraw", latched=False),
            CardOutOfGame(reason="drawn_outside_game"),
            ErrorCleared(code="overdraw"),
        ]
        happenings, following = dealing.coup()
        first, *others = without(decoded(happenings), ShoeReady, DeviceResult)
        assert isinstance(first, CardCarriedOver)
        assert (first.hand.value, first.number) == ("player", 1)
        assert first.face is coup.excess is following.cards[0]
        assert set(kinds(others)) == {CardDrawn}


def test_an_overdrawn_card_that_is_burned_leaves_one_of_two_errors() -> None:
    for seed in SEEDS:
        dealing, happenings, coup = deal("overdraw_burned", seed)
        tail = without(decoded(happenings)[len(coup.cards) :], ShoeReady, DeviceResult)
        assert tail == [
            ErrorRaised(code="overdraw", latched=False),
            ErrorRaised(code="draw_timeout", latched=True),
            CardOutOfGame(reason="drawn_outside_game"),
            CardOutOfGame(reason="overdrawn", face=coup.excess),
            ErrorCleared(code="overdraw"),
        ]
        assert decoded(dealing.clear_errors()) == [ErrorCleared(code="draw_timeout")]
        assert dealing.clear_errors() == []
        assert kinds(decoded(dealing.coup()[0]))[0] is CardDrawn


def test_in_a_squeeze_the_overdraw_comes_before_the_disclosure() -> None:
    _, happenings, coup = deal("overdraw_carried", 2, "deferred")
    n = len(coup.cards)
    assert kinds(without(decoded(happenings), ShoeReady)) == [
        *([CardDrawn] * n),
        *(ErrorRaised, CardOutOfGame, ErrorCleared),
        *([CardRevealed] * n),
        DeviceResult,
    ]


def test_a_shoe_that_loses_its_power_is_void_or_counts_anew_and_names_no_result() -> None:
    outcomes = Counter[bool]()
    for seed in SEEDS:
        dealing, happenings, coup = deal("power_up", seed)
        reports = without(decoded(happenings), FrameRejected)
        assert not only(reports, DeviceResult)
        at = kinds(reports).index(ShoeBooted)
        assert at > 0, "in mid-coup"
        if coup.outcome is None:
            assert kinds(reports)[at:] == [ShoeBooted]
            assert happenings[-1] is DealerCall.VOID
            assert len(coup.cards) <= 4
        else:
            places = [(r.hand, r.number) for r in reports[at + 1 : -1] if isinstance(r, CardDrawn)]
            expected = [("player", 1), ("banker", 1), ("player", 2), ("banker", 2), ("player", 3)]
            assert [(h and h.value, n) for h, n in places] == expected[: len(places)]
            assert kinds(reports)[-1] is ShoeBooted
            assert not coup.result_comes
        outcomes[coup.outcome is None] += 1
        assert kinds(decoded(dealing.coup()[0]))[0] is CardDrawn
    assert min(outcomes[True], outcomes[False]) > 0


def test_a_round_that_is_ended_at_the_device_has_no_winner_and_is_void() -> None:
    for seed in SEEDS:
        _, happenings, coup = deal("forced_end", seed)
        assert kinds(decoded(happenings)) == [*([CardDrawn] * len(coup.cards)), RoundForcedEnd]
        assert happenings[-1] is DealerCall.VOID
        assert coup.outcome is None
        assert 1 <= len(coup.cards) <= 4


def test_a_card_that_cannot_be_read_is_told_without_a_face_or_not_at_all() -> None:
    told = Counter[int]()
    for seed in SEEDS:
        _, happenings, coup = deal("unreadable_card", seed)
        reports = decoded(happenings)
        drawn = [report for report in reports if isinstance(report, CardDrawn)]
        assert ErrorRaised(code="cannot_read", latched=False) in reports
        assert ErrorCleared(code="cannot_read") in reports
        assert not only(reports, ReportLost), "nothing was lost on the line"
        faces = [report.face for report in drawn]
        told[len(drawn) - len(coup.cards)] += 1
        assert faces.count(None) == 1 + len(drawn) - len(coup.cards)
        assert (Counter(coup.cards) - Counter(face for face in faces if face)).total() == 1
    assert set(told) == {0, -1}


def test_in_a_squeeze_an_unreadable_card_is_never_disclosed() -> None:
    _, happenings, coup = deal("unreadable_card", 4, "deferred")
    reports = decoded(happenings)
    assert len(only(reports, CardDrawn)) == len(coup.cards)
    assert len(only(reports, CardRevealed)) == len(coup.cards) - 1


@pytest.mark.parametrize("disclosure", DISCLOSURES)
def test_a_misread_face_is_one_other_face_by_which_the_device_calls_the_coup(
    disclosure: Disclosure,
) -> None:
    called = Counter[bool]()
    kind = CardDrawn if disclosure == "immediate" else CardRevealed
    for seed in SEEDS:
        _, happenings, coup = deal("misread_face", seed, disclosure)
        reports = decoded(happenings)
        told = [report.face for report in reports if isinstance(report, kind)]
        assert sum(a is not b for a, b in zip(told, coup.cards, strict=True)) == 1
        assert happenings.count(DealerCall.LOOK) == 1
        (result,) = only(reports, DeviceResult)
        assert isinstance(result, DeviceResult)
        assert coup.outcome is not None
        called[result.winner == coup.outcome.winner.value] += 1
    assert min(called[True], called[False]) > 0


def test_a_wrong_result_names_another_winner() -> None:
    for seed in SEEDS:
        _, happenings, coup = deal("wrong_result", seed)
        (result,) = only(decoded(happenings), DeviceResult)
        assert isinstance(result, DeviceResult)
        assert coup.outcome is not None
        assert result.winner != coup.outcome.winner.value


def test_without_a_result_nothing_comes_after_the_cards() -> None:
    _, happenings, coup = deal("no_result", 1)
    assert kinds(decoded(happenings)) == [CardDrawn] * len(coup.cards)


def test_an_error_in_mid_coup_stands_and_is_cleared() -> None:
    for seed in SEEDS:
        reports = heard("error_and_clear", seed)
        at = kinds(reports).index(ErrorRaised)
        assert at > 0
        assert reports[at : at + 2] == [
            ErrorRaised(code="card_code", latched=True),
            ErrorCleared(code="card_code"),
        ]


def test_of_two_stacked_errors_one_is_cleared_and_the_other_by_hand() -> None:
    dealing, *_ = deal(None, 1)
    assert decoded(dealing.stacked_errors()) == [
        ErrorRaised(code="button_mishandled", latched=False),
        ErrorRaised(code="card_code", latched=False),
        ErrorCleared(code="button_mishandled"),
    ]
    assert decoded(dealing.clear_errors()) == [ErrorCleared(code="card_code")]


def test_two_power_ups_are_two_and_clear_what_stood() -> None:
    dealing, *_ = deal("overdraw_burned", 1)
    assert decoded(dealing.two_power_ups()) == [ShoeBooted(), ShoeBooted()]
    assert dealing.clear_errors() == []


def test_a_ninth_copy_is_told_of_a_face_that_is_spent() -> None:
    dealing = DealingShoe(seed=5)
    dealing.new_shoe(SHOE)
    told = 0
    while not dealing.over:
        spent = set(dealing.deck.spent())
        happenings, coup = dealing.coup("ninth_copy")
        assert (coup.fault is None) == (not spent or coup.last)
        if coup.fault:
            faces = [r.face for r in decoded(happenings) if isinstance(r, CardDrawn)]
            (wrong,) = (a for a, b in zip(faces, coup.cards, strict=True) if a is not b)
            assert wrong in spent
            told += 1
    assert told > 5


# No face is spent so early, no report of this profile tells of a lock, and where faces lie open
# there is no disclosure.
CANNOT = {
    "immediate": {"ninth_copy", "locked_draw", "short_disclosure"},
    "deferred": {"ninth_copy", "locked_draw"},
}

# ---- what every fault keeps to ----


@pytest.mark.sweep
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


@pytest.mark.parametrize("profile", ["text-line", "text-line-scan"])
def test_a_shoe_without_results_is_replaced_while_a_card_is_still_due(profile: str) -> None:
    for seed in range(100):
        dealing = DealingShoe(seed=seed, profile=profile)
        dealing.new_shoe(SHOE)
        _, coup = dealing.coup("replace_shoe", spare=SPARE)
        assert coup.outcome is None
        assert next_place(coup.cards) is not None


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
