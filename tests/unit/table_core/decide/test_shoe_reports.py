"""What the shoe says: every phase times every report, and any stream of reports."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.cards import Card, Hand
from events.types.irregularities import CardUnread, ExcessCardDrawn
from events.types.shoe_life import CutCardCame
from events.types.shoe_reports import (
    AnyReport,
    BurnCard,
    CardCarriedOver,
    CardOutOfGame,
    CardReversed,
    CardUnreadable,
    CopyConflict,
    CutCardReported,
    DeviceResult,
    ErrorCleared,
    ErrorRaised,
    FirstCard,
    FrameRejected,
    LinkDown,
    LinkOpen,
    LinkStalled,
    LinkUp,
    LockChanged,
    ModeChanged,
    ReportLost,
    RoundForcedEnd,
    ShoeBooted,
    ShoeReady,
    UnknownReport,
)
from events.types.table import (
    AlarmRaised,
    BettingClosed,
    BettingOpened,
    CardDealt,
    CoupMisaligned,
    CoupSettled,
    DealCompleted,
    ResultDisputed,
    ShoeReported,
    TableEvent,
)
from table_core.decide.shoe_reports import decide_on_report
from table_core.fold.dispatch import fold_all
from table_core.state.coup import Phase
from table_core.state.table import TableState
from tests.support.table.coups import CONTEXT, drawn, revealed, shoe_event, world_in

P, B = Hand.PLAYER, Hand.BANKER

REPORTS: dict[str, AnyReport] = {
    "first_card_P1": drawn(P, 1, "4D"),
    "second_card_B1": drawn(B, 1, "4D"),
    "excess_B3": drawn(B, 3, "4D"),
    "revealed_P1": revealed(P, 1, "4D"),
    "result_player": DeviceResult(winner="player"),
    "result_tie": DeviceResult(winner="tie"),
    "link_down": LinkDown(reason="unplugged"),
    "link_open": LinkOpen(transport="pty:x"),
    "booted": ShoeBooted(),
    "report_lost": ReportLost(expected="2", got="4"),
    "copy_conflict": CopyConflict(device_seq="2", bodies=("44", "45")),
    "unreadable": CardUnreadable(hand=P, number=2),
    "unreadable_P1": CardUnreadable(hand=P, number=1),
    "drawn_outside": CardOutOfGame(reason="drawn_outside_game"),
    "out_of_game": CardOutOfGame(reason="overdrawn", face=Card.D4),
    "carried_over": CardCarriedOver(hand=P, number=1, face=Card.D4),
    "reversed": CardReversed(place="exit"),
    "error_reversed": ErrorRaised(code="reversed_midway", latched=True),
    "forced_end": RoundForcedEnd(),
    "cut_card": CutCardReported(),
}
QUIET: dict[str, AnyReport] = {
    "ready": ShoeReady(),
    "link_up": LinkUp(),
    "stalled": LinkStalled(silent_ms=5000),
    "error": ErrorRaised(code="cannot_read", latched=False),
    "cleared": ErrorCleared(code="cannot_read"),
    "locked": LockChanged(locked=True),
    "mode": ModeChanged(mode="free"),
    "unknown": UnknownReport(raw="00"),
    "rejected": FrameRejected(reason="check", raw="05", length=1),
    "burn": BurnCard(face=Card.D4, left=3),
    "first_of_shoe": FirstCard(face=Card.D4),
}

# What each report does in each phase, behind its own recording. `m:` misaligns for that reason,
# `w` begins a wagerless coup, `c` closes betting, `d` deals, `!` is an alarm, `s` settles,
# `x` disputes, `k` completes, `u` marks the cut card, `r` is a
# card unread at its place, `e` an excess card. `-` leaves the coup alone.
TABLE = """
                none     betting  closed  dealing  complete  disputed  held  misaligned  settled voided
first_card_P1   w!cd     cd       d       m:position_contradicts_draw_table m:excess_card m:excess_card m:excess_card - w!cd w!cd
second_card_B1  w!cm:first_card_missing cm:first_card_missing m:position_contradicts_draw_table d m:excess_card m:excess_card m:excess_card - w!cm:first_card_missing -
excess_B3       w!cm:first_card_missing cm:first_card_missing m:position_contradicts_draw_table m:position_contradicts_draw_table e! m:excess_card m:excess_card - w!cm:first_card_missing -
revealed_P1     w!cm:first_card_missing cm:first_card_missing m:disclosure_contradicts m:disclosure_contradicts m:disclosure_contradicts m:disclosure_contradicts m:disclosure_contradicts - w!cm:first_card_missing -
unreadable      w!cm:first_card_missing cm:first_card_missing m:unreadable_card m:unreadable_card m:unreadable_card m:unreadable_card m:unreadable_card - w!cm:first_card_missing -
unreadable_P1   w!cr!    cr!      r!      m:unreadable_card m:unreadable_card m:unreadable_card m:unreadable_card - w!cr! w!cr!
result_player   -        -        m:result_too_early m:result_too_early s - - - - -
result_tie      -        -        m:result_too_early m:result_too_early x - - - - -
link_down       -        !        m:link_lost m:link_lost m:link_lost m:link_lost m:link_lost - - -
link_open       -        !        m:link_reopened m:link_reopened m:link_reopened m:link_reopened m:link_reopened - - -
booted          -        !        m:shoe_booted m:shoe_booted m:shoe_booted m:shoe_booted m:shoe_booted - - -
report_lost     -        !        m:report_lost m:report_lost m:report_lost m:report_lost m:report_lost - - -
copy_conflict   -        !        m:copy_conflict m:copy_conflict m:copy_conflict m:copy_conflict m:copy_conflict - - -
reversed        -        !        m:card_reversed m:card_reversed m:card_reversed m:card_reversed m:card_reversed - - -
error_reversed  -        !        m:card_reversed m:card_reversed m:card_reversed m:card_reversed m:card_reversed - - -
forced_end      -        !        m:round_forced_end m:round_forced_end m:round_forced_end m:round_forced_end m:round_forced_end - - -
out_of_game     -        !        m:card_out_of_game m:card_out_of_game m:card_out_of_game m:card_out_of_game ! - - -
drawn_outside   -        !        m:card_out_of_game m:card_out_of_game e! m:card_out_of_game m:card_out_of_game - - -
carried_over    -        !        m:card_carried_over m:card_carried_over m:card_carried_over m:card_carried_over m:card_carried_over - - -
cut_card        u        u        u       u        u         u         u     u           u       u
"""  # noqa: E501 - a row a report

LETTERS: dict[type[TableEvent], str] = {
    BettingOpened: "w",
    BettingClosed: "c",
    CardDealt: "d",
    AlarmRaised: "!",
    CoupSettled: "s",
    ResultDisputed: "x",
    DealCompleted: "k",
    CutCardCame: "u",
    CardUnread: "r",
    ExcessCardDrawn: "e",
}


def letters(events: list[TableEvent], named: dict[type[TableEvent], str] = LETTERS) -> str:
    """The events behind the recording, as the table writes them; confirmation goes with payment."""
    written = ""
    for event in events:
        if isinstance(event, CoupMisaligned):
            written += f"m:{event.reason}"
        else:
            written += named.get(type(event), "")
    return written or "-"


def _cases() -> list[tuple[str, str, str]]:
    header, *rows = TABLE.strip().splitlines()
    phases = header.split()
    cases = []
    for row in rows:
        name, *outcomes = row.split()
        cases += [(phase, name, o) for phase, o in zip(phases, outcomes, strict=True)]
    return cases


@pytest.mark.parametrize(("phase", "name", "outcome"), _cases())
def test_every_phase_times_every_report(phase: str, name: str, outcome: str) -> None:
    world = world_in(Phase(phase))
    recorded, *events = world.say(REPORTS[name])
    assert isinstance(recorded, ShoeReported)
    assert letters(events) == outcome


@pytest.mark.parametrize("phase", [p for p in Phase if p is not Phase.CONFIRMED])
@pytest.mark.parametrize("name", QUIET)
def test_what_does_not_touch_a_coup_is_recorded_and_nothing_else(phase: Phase, name: str) -> None:
    world = world_in(phase)
    (recorded,) = world.say(QUIET[name])
    assert isinstance(recorded, ShoeReported)
    assert world.state.phase is phase


def test_the_two_tables_above_name_every_report_there_is() -> None:
    named = {type(report) for report in (REPORTS | QUIET).values()}
    assert named == set(AnyReport.__args__)


_ANY = st.sampled_from(sorted(REPORTS | QUIET))


@given(st.lists(_ANY, max_size=40), st.integers(0, 40))
def test_any_stream_of_reports_is_recorded_whole_and_folds_the_same_at_every_cut(
    names: list[str], cut: int
) -> None:
    world = world_in(Phase.BETTING)
    begun = len(world.log)
    for name in names:
        world.say((REPORTS | QUIET)[name])
    told = [e.source.report for e in world.log[begun:] if isinstance(e, ShoeReported)]
    assert told == [(REPORTS | QUIET)[name] for name in names]
    at = min(cut, len(world.log))
    prefix = fold_all(TableState(), world.log[:at])
    assert fold_all(prefix, world.log[at:]) == world.state
    settled = [e.settlement.settlement_id for e in world.log if isinstance(e, CoupSettled)]
    assert len(settled) == len(set(settled))


def test_the_same_event_heard_twice_is_the_shells_to_drop_but_never_a_crash() -> None:
    world = world_in(Phase.CLOSED)
    event = shoe_event(99, drawn(P, 1, "4D"))
    world.take(decide_on_report(world.state, event, CONTEXT))
    *_, last = world.take(decide_on_report(world.state, event, CONTEXT))
    assert isinstance(last, CoupMisaligned)
