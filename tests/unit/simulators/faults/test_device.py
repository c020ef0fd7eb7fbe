"""Each fault of the device by its bytes, as the driver's own decoder hears them."""

from collections import Counter

import pytest

from events.types.shoe_reports import (
    CardCarriedOver,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    DeviceResult,
    ErrorCleared,
    ErrorRaised,
    FrameRejected,
    ReportLost,
    RoundForcedEnd,
    ShoeBooted,
    ShoeReady,
)
from simulators.device.reports import Disclosure
from simulators.device.script import DealerCall
from simulators.shoe.dealing import DealingShoe
from tests.support.shoe.faulty_coups import (
    DISCLOSURES,
    SEEDS,
    SHOE,
    deal,
    decoded,
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
