"""What the shoe says: every phase times every report, coups as it tells them, any stream."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.cards import Card, Hand, Winner
from events.commands import ResolveIrregularity
from events.types import (
    AlarmRaised,
    AnyReport,
    BettingClosed,
    BettingOpened,
    BurnCard,
    CardCarriedOver,
    CardDealt,
    CardDisclosed,
    CardOutOfGame,
    CardReversed,
    CardUnread,
    CardUnreadable,
    CopyConflict,
    CoupMisaligned,
    CoupSettled,
    CutCardCame,
    CutCardReported,
    DealCompleted,
    DeviceResult,
    ErrorCleared,
    ErrorRaised,
    ExcessCardDrawn,
    FirstCard,
    FrameRejected,
    IrregularityRecorded,
    LinkDown,
    LinkOpen,
    LinkStalled,
    LinkUp,
    LockChanged,
    ModeChanged,
    ReportLost,
    ResultDisputed,
    RoundForcedEnd,
    ShoeBooted,
    ShoeReady,
    ShoeReported,
    TableEvent,
    UnknownReport,
)
from table_core.decide.shoe_reports import decide_on_report
from table_core.fold.dispatch import fold_all
from table_core.state.coup import Phase
from table_core.state.table import TableState
from tests.support.table.coups import (
    CONTEXT,
    COUP,
    ORDER,
    World,
    cards,
    drawn,
    revealed,
    shoe_event,
    world_in,
)
from tests.support.table.histories import each_history

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


P, B = Hand.PLAYER, Hand.BANKER

# dealing order | Player | Banker | winner | rules applied
COUPS = """
9S 2D KH 3C        | 9S KH    | 2D 3C    | player | player natural
2S 8D KH QC        | 2S KH    | 8D QC    | banker | banker natural
2S 3D 3H 3C 4S     | 2S 3H 4S | 3D 3C    | player | -
6S 2D KH 3C 9D     | 6S KH    | 2D 3C 9D | player | -
5S 2D KH KC 8D 4H  | 5S KH 8D | 2D KC 4H | banker | -
7S 7D KH QC        | 7S KH    | 7D QC    | tie    | -
"""


def _coups() -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")][:4] for line in COUPS.strip().splitlines()]


def settlement_in(world: World, result: DeviceResult) -> CoupSettled:
    (settled,) = (event for event in world.say(result) if isinstance(event, CoupSettled))
    return settled


def _places(dealt: list[str], banker_third_only: bool) -> list[tuple[Hand, int, str]]:
    thirds = [(B, 3)] if banker_third_only else [(P, 3), (B, 3)]
    return [
        (hand, number, face) for (hand, number), face in zip([*ORDER, *thirds], dealt, strict=False)
    ]


@pytest.mark.parametrize(("dealt", "player", "banker", "winner"), _coups())
@pytest.mark.parametrize("deferred", [False, True])
def test_a_coup_plays_to_its_settlement_in_both_disclosure_modes(
    dealt: str, player: str, banker: str, winner: str, deferred: bool
) -> None:
    world = world_in(Phase.CLOSED)
    places = _places(dealt.split(), len(player.split()) == 2)
    if deferred:
        world.say(*(drawn(hand, n) for hand, n, _ in places))
        assert world.state.phase is Phase.DEALING
        world.say(*(revealed(hand, n, face) for hand, n, face in reversed(places)))
    else:
        world.say(*(drawn(hand, n, face) for hand, n, face in places))
    assert world.state.phase is Phase.COMPLETE
    completed = next(e for e in world.log if isinstance(e, DealCompleted))
    assert completed.player == cards(player)
    assert completed.banker == cards(banker)
    assert completed.winner is Winner(winner)
    settled = settlement_in(
        world,
        DeviceResult(
            winner=winner,
            player_pair=dealt.split(maxsplit=1)[0][0] == dealt.split()[2][0],
            banker_pair=dealt.split()[1][0] == dealt.split()[3][0],
        ),
    )
    assert settled.settlement.settlement_id == f"t1/{COUP}/2/1"


HISTORIES = """
a deferred third card that was not due misaligns at disclosure
    in closed
    P1 B1 P2 B2 P3
    disclose 9S 2D KH 3C 5D
                          -> coup_misaligned: reason=position_contradicts_draw_table
                          -> coup_misaligned: detail~"player drew a third card"
a short disclosure misaligns when the result comes
    in closed
    squeeze
    disclose 9S 2D KH
    result player         -> coup_misaligned: reason=result_too_early
a disclosure repeated alike changes nothing and otherwise misaligns
    in closed
    P1
    reveal P1 4D
    reveal P1 4D          -> made nothing
    reveal P1 4H          -> coup_misaligned: reason=disclosure_contradicts
a result that agrees settles
    in complete
    result player         -> made result_confirmed coup_settled
a result that disagrees holds the settlement
    * "banker"             "winner: the table says player, the shoe banker"
    * "tie"                "winner: the table says player, the shoe tie"
    * "player player_pair" "Player pair: the table says no"
    * "player banker_pair" "Banker pair: the table says no"
    * "banker banker_six"  "Banker with six: the table says no"
    in complete
    result {0}            -> made result_disputed; totals.coups=0
                          -> result_disputed: "detail~{1}"
a six told as plain Banker is no disagreement
    * banker
    * "banker banker_six"
    in closed
    deal 2S 6D KH QC
    P3 2D                 -> complete
    result {0}            -> settlement(1).winner=banker
the first card closes betting and the later wager is late
    in betting
    P1 4D                 -> made betting_closed card_dealt
                          -> betting_closed: coup=20261127-01/1 by=first_card
a card without open betting is a wagerless coup with an alarm
    in none
    deal 9S 2D KH 3C      -> alarm_raised: alarm=wagerless_coup
    result player         -> settlement(1).lines=none count(alarm_raised)=1 alarms()=none
a card without a shoe is recorded and told
    empty
    P1 4D                 -> made alarm_raised; alarm_raised: alarm=card_without_shoe
                          -> coup=none count(shoe_reported)=1
the rest of a void round belongs to no hand and the next first card begins anew
    in misaligned
    void_coup
    B2 5D P3 6D           -> made nothing
    deal 9S               -> betting_opened: wagerless=true
after a void round's own result a stray card is a break again
    in misaligned
    result player
    void_coup
    B2 5D                 -> coup_misaligned: reason=first_card_missing
a stray card of an old round never falls into the new coup
    in misaligned
    void_coup
    open
    B2 5D                 -> coup_misaligned: reason=first_card_missing
where the profile has no result the last card due settles
    in closed result_required=false
    deal 9S 2D KH 3C      -> settled; coup_settled: coup=20261127-01/1
cards without positions go where the draw table says
    in closed
    shoe card_drawn 2S
    shoe card_drawn 3D
    shoe card_drawn 3H
    shoe card_drawn 3C
    shoe card_drawn 4S    -> deal_completed: player=2S,3H,4S banker=3D,3C
no text of the table tells a face that it has not seen
    * "card_out_of_game reason=overdrawn 4D" 4D
    * "card_carried_over P1 4D"              4D
    * "copy_conflict device_seq=2 bodies=4481B4,4481B8" 4481
    in dealing
    shoe {0}              -> coup_misaligned: detail!~{1}
"""


test_coups_as_the_shoe_tells_them = each_history(HISTORIES)


OUTSIDE = CardOutOfGame(reason="drawn_outside_game")


def squeeze() -> World:
    """Four cards lie there, every face withheld."""
    world = world_in(Phase.CLOSED)
    world.say(*(drawn(hand, number) for hand, number in ORDER))
    return world


def told(world: World, *reports: AnyReport) -> World:
    world.say(*reports)
    return world


def unread() -> World:
    """Faces open, but for Banker's second, which a person must enter."""
    world = world_in(Phase.CLOSED)
    world.deal("9S", "2D", "KH")
    return told(world, CardUnreadable(hand=B, number=2))


def carried() -> World:
    """A person has said that the excess card is hidden; the result has not come."""
    world = world_in(Phase.HELD)
    world.must(ResolveIrregularity(transaction="r", kind="excess_card", seen=False, reason="r"))
    return world


def awaited() -> World:
    """... and the coup is settled."""
    return told(carried(), DeviceResult(winner="player"))


def betting() -> World:
    """... and betting is open for the coup that waits for it."""
    world = awaited()
    world.open()
    return world


STANDINGS: dict[str, Callable[[], World]] = {
    "squeeze": squeeze,
    "excess": lambda: told(squeeze(), OUTSIDE),
    "taken_out": lambda: told(squeeze(), OUTSIDE, REPORTS["out_of_game"]),
    "unread": unread,
    "carried": carried,
    "awaited": awaited,
    "betting": betting,
}

# As in `test_hear`; besides, `i` is an irregularity on record and `f` a face disclosed.
EXCESS_TABLE = """
               squeeze             excess                taken_out             unread                   carried                  awaited                   betting
first_card_P1  m:position_contradicts_draw_table m:excess_card_was_due m:excess_card_was_due m:excess_card                     m:excess_card            w!cm:carried_card_missing cm:carried_card_missing
second_card_B1 m:position_contradicts_draw_table m:excess_card_was_due m:excess_card_was_due m:excess_card                     m:excess_card            w!cm:carried_card_missing cm:carried_card_missing
excess_B3      d                   m:excess_card_was_due m:excess_card_was_due m:excess_card            e!                       w!cm:carried_card_missing cm:carried_card_missing
revealed_P1    f                   f                     f                     m:disclosure_contradicts m:disclosure_contradicts w!cm:first_card_missing   cm:first_card_missing
result_player  m:result_too_early  m:result_too_early    m:result_too_early    -                        s                        -                         -
result_tie     m:result_too_early  m:result_too_early    m:result_too_early    -                        x                        -                         -
link_down      m:link_lost         m:link_lost           m:link_lost           m:link_lost              m:link_lost              -                         !
link_open      m:link_reopened     m:link_reopened       m:link_reopened       m:link_reopened          m:link_reopened          -                         !
booted         m:shoe_booted       m:shoe_booted         m:shoe_booted         m:shoe_booted            m:shoe_booted            -                         !
report_lost    m:report_lost       m:report_lost         m:report_lost         m:report_lost            m:report_lost            -                         !
copy_conflict  m:copy_conflict     m:copy_conflict       m:copy_conflict       m:copy_conflict          m:copy_conflict          -                         !
unreadable     m:unreadable_card   m:unreadable_card     m:unreadable_card     m:unreadable_card        m:unreadable_card        w!cm:carried_card_missing cm:carried_card_missing
unreadable_P1  m:unreadable_card   m:unreadable_card     m:unreadable_card     m:unreadable_card        m:unreadable_card        w!cm:carried_card_missing cm:carried_card_missing
drawn_outside  !                   m:card_out_of_game    m:card_out_of_game    !                        e!                       -                         !
out_of_game    m:card_out_of_game  !                     !                     m:card_out_of_game       i!                       i!                        i!!
carried_over   m:card_carried_over m:card_carried_over   m:card_carried_over   m:card_carried_over      m:card_carried_over      w!cd                      cd
reversed       m:card_reversed     m:card_reversed       m:card_reversed       m:card_reversed          m:card_reversed          -                         !
error_reversed m:card_reversed     m:card_reversed       m:card_reversed       m:card_reversed          m:card_reversed          -                         !
forced_end     m:round_forced_end  m:round_forced_end    m:round_forced_end    m:round_forced_end       m:round_forced_end       -                         !
cut_card       u                   u                     u                     u                        u                        u                         u
"""  # noqa: E501 - a row a report


def outcomes(events: list[TableEvent]) -> str:
    return letters(events, {**LETTERS, IrregularityRecorded: "i", CardDisclosed: "f"})


def _excess_cases() -> list[tuple[str, str, str]]:
    header, *rows = EXCESS_TABLE.strip().splitlines()
    return [
        (standing, name, outcome)
        for name, *cells in (row.split() for row in rows)
        for standing, outcome in zip(header.split(), cells, strict=True)
    ]


@pytest.mark.parametrize(("standing", "name", "outcome"), _excess_cases())
def test_every_standing_times_every_report(standing: str, name: str, outcome: str) -> None:
    recorded, *events = STANDINGS[standing]().say(REPORTS[name])
    assert isinstance(recorded, ShoeReported)
    assert outcomes(events) == outcome


def test_every_report_is_in_the_table_in_every_standing() -> None:
    cases = _excess_cases()
    assert {(standing, name) for standing, name, _ in cases} == {
        (standing, name) for standing in STANDINGS for name in REPORTS
    }


@pytest.mark.parametrize("standing", STANDINGS)
@pytest.mark.parametrize("name", QUIET)
def test_what_does_not_touch_an_excess_card_is_recorded_and_nothing_else(
    standing: str, name: str
) -> None:
    world = STANDINGS[standing]()
    before = world.state.coup
    (recorded,) = world.say(QUIET[name])
    assert isinstance(recorded, ShoeReported)
    assert world.state.coup == before
