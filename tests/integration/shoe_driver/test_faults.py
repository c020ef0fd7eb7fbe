"""Every fault that the simulator knows, through a real driver on a real line.

The suite plays each fault with each protocol: a numbered shoe of copies, a link that resends, and a
line of text. A protocol's profiles and disclosures take turns; `make soak` plays the others.
Nobody repairs anything here: a coup that the table holds is void. So what is shown of each fault is
what the product does by itself: either no card is lost, doubled or changed, or the coup is held (or
misaligned) and nothing settles.
"""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from events.types.shoe_reports import LinkStalled
from simulators.device.profiles import CHECKED_GAMES, GAMES, PROFILES
from simulators.device.reports import Disclosure
from simulators.faults.registry import FAULTS
from tests.support.shoe.fault_games import FaultGame, play_faults
from tests.support.shoe.shoe_bytes import site_profile

# Half a minute of waiting, in tests/integration/baccarat/test_demo_faults.py; silence has its own
# below.
ELSEWHERE: Final = {"no_result", "silence"}
# Only eyes see these: the reader says so, and nothing contradicts it.
SEEN_BY_PEOPLE: Final = {"misread_face", "ninth_copy"}
# ... and these where a line has no number, no check and no copy: its loss detection is `none`.
LOST_WITHOUT_TRACE: Final = {"bit_flip", "missing_report", "second_reader", "stale_bytes"}
# The line's own repetition, the frame's own end, or the table's rules make nothing of these.
HARMLESS: Final = {
    *("bit_flip", "copy_late", "copy_lost", "noise", "split", "run_together", "stall_burst"),
    *("cut_card", "cut_card_between", "cut_card_first", "replace_shoe_continue"),
    *("draw_in_error", "draw_timeout", "error_and_clear", "locked_draw", "missing_standby"),
    *("overdraw_burned", "overdraw_carried", "stacked_errors", "two_power_ups", "unknown_code"),
    *("free_hand", "late_wager", "withdrawn_wager"),
}
# Of these the log says why nothing settled. Where the last card decides, some come too late.
BREAKS: Final = {
    "contradicting_disclosure": {"disclosure_contradicts"},
    "copy_conflict": {"copy_conflict"},
    "driver_killed": {"link_lost"},
    "driver_killed_mid_frame": {"link_lost", "report_lost"},
    "forced_end": {"round_forced_end"},
    "missing_report": {"report_lost"},
    "port_busy": {"link_lost"},
    "power_up": {"shoe_booted", "report_lost"},
    "reverse_run": {"card_reversed"},
    "short_disclosure": {"result_too_early"},
    "stale_bytes": {"link_lost"},
    "unplug": {"link_lost"},
    "unplug_renamed": {"link_lost"},
    "wrong_baud": {"report_lost"},
}

Kind = tuple[str, Disclosure]
"""A profile, and when its shoe tells the faces."""


def faults_of(profile: str, disclosure: str) -> list[str]:
    left_out = set(PROFILES[profile].unfit) | ELSEWHERE
    left_out |= {"short_disclosure"} if disclosure == "immediate" else {"ninth_copy"}
    if not PROFILES[profile].device("immediate").gives_result:
        left_out |= SEEN_BY_PEOPLE
    return [name for name in FAULTS if name not in left_out]


def in_turn(kinds: Sequence[Kind]) -> list[tuple[str, Kind]]:
    """Each fault that one of these kinds of game can have, with one of those."""
    fitting = [(fault, [k for k in kinds if fault in faults_of(*k)]) for fault in FAULTS]
    return [(fault, fit[at % len(fit)]) for at, (fault, fit) in enumerate(fitting) if fit]


def protocol_of(kind: Kind) -> str:
    return kind[0] if kind in CHECKED_GAMES else "text"


TURNS: Final = [
    turn
    for protocol in sorted(set(map(protocol_of, GAMES)))
    for turn in in_turn([kind for kind in GAMES if protocol_of(kind) == protocol])
]
PART: Final = {
    (kind, soak): [fault for fault in faults_of(*kind) if ((fault, kind) in TURNS) != soak]
    for kind in GAMES
    for soak in (False, True)
}
"""The faults of the game that the suite plays of a kind, and of the one of `make soak`."""


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kind, bool], FaultGame]:
    """One game of each kind and part, with each of its faults in turn."""

    @cache
    def of(kind: Kind, soak: bool) -> FaultGame:
        profile, disclosure = kind
        folder = tmp_path_factory.mktemp("game")
        return play_faults(folder, profile, disclosure, PART[kind, soak])

    return of


GAMES_IN_PARTS: Final = [
    pytest.param(
        *part, id="-".join(part[0]) + "-others" * part[1], marks=[pytest.mark.soak] * part[1]
    )
    for part in PART
]
CASES: Final = [
    pytest.param(
        fault, *part, id=f"{fault}-{'-'.join(part[0])}", marks=[pytest.mark.soak] * part[1]
    )
    for part, faults in PART.items()
    for fault in faults
]


@pytest.mark.parametrize(("fault", "kind", "soak"), CASES)
def test_no_card_is_lost_doubled_or_changed_or_nothing_settles(
    fault: str, kind: Kind, soak: bool, game: Callable[[Kind, bool], FaultGame]
) -> None:
    (outcome,) = game(kind, soak).by_fault[fault]
    logged = outcome.logged
    a_line = kind not in CHECKED_GAMES
    if not (fault in SEEN_BY_PEOPLE or (a_line and fault in LOST_WITHOUT_TRACE)):
        assert outcome.is_true()
    if outcome.last is None:
        assert logged.voided
    elif fault not in {"overdraw_burned", "overdraw_carried"}:
        assert not logged.breaks
        # Behind a natural that was misread, the cards that the dealer draws are excess cards.
        assert not logged.held or fault == "misread_face"
    if fault in HARMLESS and not (a_line and fault in {"bit_flip", "noise"}):
        assert outcome.last is not None
        assert not logged.voided
    if fault in BREAKS and not a_line:
        assert outcome.last is None
        assert set(logged.breaks) & BREAKS[fault]


@pytest.mark.parametrize(("kind", "soak"), GAMES_IN_PARTS)
def test_the_coup_behind_a_fault_is_whole(
    kind: Kind, soak: bool, game: Callable[[Kind, bool], FaultGame]
) -> None:
    for outcome in game(kind, soak).clean:
        assert outcome.is_true(), outcome.played.coup
        whole = outcome.last is not None
        assert whole or outcome.tells_of_the_coup_before(), outcome.played.coup


@pytest.mark.parametrize("profile", ["text-line", "text-line-scan"])
def test_what_a_line_cannot_tell_a_dealer_sees_and_a_supervisor_puts_right(
    profile: str, tmp_path: Path
) -> None:
    faults = sorted(SEEN_BY_PEOPLE - {"ninth_copy"} | LOST_WITHOUT_TRACE)
    played = play_faults(tmp_path, profile, "immediate", faults, repairs=True, clean_between=False)
    assert set(played.by_fault) == set(faults)
    for fault, outcomes in played.by_fault.items():
        for outcome in outcomes:
            assert outcome.is_true(), fault


@pytest.mark.parametrize("disclosure", ["immediate", "deferred"])
def test_silence_in_mid_deal_is_a_stall_in_which_nothing_settles(
    disclosure: Disclosure, tmp_path: Path
) -> None:
    profile = str(site_profile(tmp_path, silence_ms=300))
    played = play_faults(tmp_path / "data", profile, disclosure, ["silence"], silence_s=1.0)
    (outcome,) = played.by_fault["silence"]
    assert any(isinstance(report, LinkStalled) for report in outcome.logged.reports)
    assert outcome.is_true()
    assert all(each.is_true() and each.last for each in played.clean)
