"""What the fold keeps of a shoe's life and of its reports, read from the state itself."""

import pytest
from msgspec.structs import replace

from events.cards import Card
from events.types.irregularities import ShoeErrorCleared
from events.types.shoe_life import BurnRecorded, CutCardCame, ShoeAudited
from events.types.shoe_reports import (
    CardOutOfGame,
    CardUnreadable,
    DeviceResult,
    ErrorCleared,
    ErrorRaised,
    LinkDown,
    LinkOpen,
    LinkStalled,
    LinkUp,
    LockChanged,
    Report,
    RoundForcedEnd,
    ShoeBooted,
    ShoeReady,
)
from events.types.table import AlarmRaised, ShoeEnded, ShoeLoaded, ShoeReported
from table_core.fold.common import current_coup, current_shoe
from table_core.fold.dispatch import fold, fold_all
from table_core.state.coup import Phase
from table_core.state.shoe import BURN_ALARM, ORDERS_KEPT, ReportedCard, ShoeState
from table_core.state.table import ShoeLink, TableState
from tests.support.table.coups import SHOE, shoe_event, world_in

NEXT = "20261127-02"
OUTSIDE, TAKEN = "drawn_outside_game", "overdrawn"  # this one as the shoe takes it out of play


def told(state: TableState, report: Report, journal: str = "j1") -> TableState:
    """The state after a report and nothing else: what the table decides on it is left out."""
    source = shoe_event(state.link.seq + 1, report, journal)  # type: ignore[arg-type]  # one of AnyReport's
    return fold(state, ShoeReported(source=source))


def audited(shoe: str) -> ShoeAudited:
    return ShoeAudited(
        shoe=shoe, decks=8, seen=0, known=0, burned=0, carried=0, coups=0, voids=0, left={}
    )


# ---- a shoe's life ----


def test_a_new_shoe_begins_with_nothing_of_the_one_before() -> None:
    state = world_in(Phase.SETTLED).state
    state = replace(state, link=replace(state.link, carried=True, dummy=True))
    loaded = fold(state, ShoeLoaded(shoe=NEXT, decks=6))
    assert loaded.shoe == ShoeState(id=NEXT, decks=6)
    assert (loaded.link.carried, loaded.link.dummy) == (False, False)
    assert (len(state.past), len(loaded.past)) == (1, 0)


@pytest.mark.parametrize(
    ("shoe", "phase", "kept"),
    [
        (ShoeState(id=SHOE, decks=8), Phase.SETTLED, False),
        (ShoeState(id=SHOE, decks=8), Phase.DEALING, True),
        (ShoeState(id=SHOE, decks=8, told=(ReportedCard(face=Card.S9),)), Phase.SETTLED, True),
        (ShoeState(id=SHOE, decks=8, extra=ReportedCard(face=Card.S9)), Phase.SETTLED, True),
    ],
    ids=["nothing is awaited of it", "a coup is on", "cards were told", "one lies beside it"],
)
def test_a_replaced_shoe_is_kept_as_long_as_cards_of_it_may_be_told(
    shoe: ShoeState, phase: Phase, kept: bool
) -> None:
    state = replace(world_in(phase).state, shoe=shoe)
    loaded = fold(state, ShoeLoaded(shoe=NEXT, decks=8))
    assert loaded.replaced == ((shoe,) if kept else ())
    again = fold(loaded, ShoeLoaded(shoe="20261127-03", decks=8))
    assert [each.id for each in again.replaced] == (
        ([SHOE] if kept else []) + ([NEXT] if phase is Phase.DEALING else [])
    )


def test_the_orders_of_the_last_shoes_are_kept_the_newest_last() -> None:
    state = TableState(orders=tuple((f"old-{n}", "9S") for n in range(ORDERS_KEPT)))
    state = replace(state, shoe=ShoeState(id=SHOE, decks=8, order="2DKH"))
    ended = fold(state, ShoeEnded(shoe=SHOE, reason="the cut card"))
    assert current_shoe(ended).ended
    assert ended.orders == (*state.orders[1:], (SHOE, "2DKH"))


def test_what_a_shoe_gave_after_its_end_stands_in_its_order_once_it_is_audited() -> None:
    before, shoe = (
        ShoeState(id=SHOE, decks=8, order="2DKH"),
        ShoeState(id=NEXT, decks=8, order="9S"),
    )
    state = TableState(shoe=shoe, replaced=(before,), orders=(("old", "AC"), (SHOE, "2D")))
    of_before = fold(state, audited(SHOE))
    assert of_before.orders == (("old", "AC"), (SHOE, "2DKH"))
    assert (of_before.shoe, of_before.replaced) == (shoe, (replace(before, audited=True),))
    of_current = fold(state, audited(NEXT))
    assert (of_current.shoe, of_current.replaced) == (replace(shoe, audited=True), (before,))
    assert of_current.orders == state.orders


def test_the_audit_of_a_shoe_that_is_gone_changes_nothing() -> None:
    state = world_in(Phase.SETTLED).state
    gone = fold(state, audited("20261126-09"))
    assert gone == replace(state, position=state.position + 1)
    assert fold(TableState(), audited(SHOE)) == TableState(position=1)


def test_a_burn_is_missed_until_it_is_recorded_or_the_shoe_is_over() -> None:
    state = world_in(Phase.BETTING).state
    state = replace(state, shoe=ShoeState(id=SHOE, decks=8))
    alarms = [AlarmRaised(alarm=name, text="", coup=None) for name in ("lid", BURN_ALARM)]
    missed = fold_all(state, alarms)
    recorded = fold(missed, BurnRecorded(shoe=SHOE, burned=5, by="person", exposed=None))
    ended = fold(missed, ShoeEnded(shoe=SHOE, reason="damaged"))
    for after in (recorded, ended):
        assert [alarm.name for alarm in after.alarms] == ["lid"]
    assert (current_shoe(recorded).burn_recorded, current_shoe(ended).burn_recorded) == (
        True,
        False,
    )


def test_the_last_coup_is_the_one_that_the_cut_card_names() -> None:
    state = world_in(Phase.SETTLED).state
    came = fold(state, CutCardCame(shoe=SHOE, place="between", by="shoe", last_coup=2))
    assert current_shoe(came) == replace(current_shoe(state), last_coup=2)


# ---- the link ----

BUSY = ShoeLink(
    journal="j1",
    state="up",
    carried=True,
    dummy=True,
    errors=frozenset({"lid", "motor"}),
    locked=False,
    residue=True,
)
# report -> what it changes of the link
ON_THE_LINK: list[tuple[Report, dict[str, object]]] = [
    (LinkOpen(transport="pty:test"), {"state": "open"}),
    (LinkUp(), {"state": "up"}),
    (LinkDown(reason="unplugged"), {"state": "down"}),
    (LinkStalled(silent_ms=9_000), {"state": "stalled"}),
    (ErrorRaised(code="jam", latched=True), {"errors": frozenset({"lid", "motor", "jam"})}),
    (ErrorCleared(code="lid"), {"errors": frozenset({"motor"})}),
    (ErrorCleared(code="jam"), {}),
    (LockChanged(locked=True), {"locked": True}),
    (ShoeBooted(), {"errors": frozenset(), "residue": False}),
    (DeviceResult(winner="tie"), {"residue": False}),
    (RoundForcedEnd(), {"residue": False}),
    (ShoeReady(), {"residue": False}),
    (CardOutOfGame(reason=OUTSIDE), {}),
    (CardOutOfGame(reason=TAKEN), {"carried": False, "dummy": False}),
    (CardUnreadable(), {}),
]


@pytest.mark.parametrize(("report", "changes"), ON_THE_LINK, ids=lambda each: type(each).__name__)
def test_a_report_changes_of_the_link_what_it_says_and_nothing_else(
    report: Report, changes: dict[str, object]
) -> None:
    for begin in (BUSY, replace(BUSY, residue=False, state="down", locked=True)):
        after = told(TableState(link=begin), report)
        assert after.link == replace(begin, seq=1, **changes)


def test_the_journals_before_the_one_that_speaks_are_remembered() -> None:
    state = TableState()
    for journal in ("j1", "j1", "j2", "j3"):
        state = told(state, LinkUp(), journal)
    assert (state.link.journal, state.link.past) == ("j3", frozenset({"j1", "j2"}))


@pytest.mark.parametrize(
    ("state", "code", "errors", "after"),
    [
        ("up", "lid", {"motor"}, "up"),
        ("stalled", "lid", {"motor"}, "stalled"),
        ("stalled", "stalled", {"lid", "motor"}, "open"),
        ("up", "stalled", {"lid", "motor"}, "up"),
    ],
)
def test_a_person_clears_one_error_and_a_silent_link_is_no_more_than_open_then(
    state: str, code: str, errors: set[str], after: str
) -> None:
    link = replace(BUSY, state=state)
    cleared = fold(TableState(link=link), ShoeErrorCleared(code=code, reason="I looked"))
    assert cleared.link == replace(link, errors=frozenset(errors), state=after)


# ---- the coup ----

RESULT = DeviceResult(winner="banker")


@pytest.mark.parametrize(
    ("phase", "kept"),
    [
        (Phase.BETTING, None),
        (Phase.CLOSED, RESULT),
        (Phase.DEALING, RESULT),
        (Phase.COMPLETE, RESULT),
        (Phase.VOIDED, None),
    ],
)
def test_a_result_ends_every_round_and_is_kept_where_the_coup_is_on(
    phase: Phase, kept: DeviceResult | None
) -> None:
    state = world_in(phase).state
    coup = current_coup(state)
    assert not coup.round_over
    expected = replace(coup, round_over=True, device_result=kept)
    assert told(state, RESULT).coup == expected


@pytest.mark.parametrize("report", [RoundForcedEnd(), ShoeBooted()])
def test_a_round_is_over_when_the_shoe_ends_it_or_begins_anew(report: Report) -> None:
    state = world_in(Phase.DEALING).state
    assert told(state, report).coup == replace(current_coup(state), round_over=True)


def test_before_the_first_coup_and_the_first_shoe_a_report_is_of_the_link_alone() -> None:
    for report in (RESULT, RoundForcedEnd(), ShoeBooted(), CardOutOfGame(reason=OUTSIDE)):
        state = told(TableState(), report)
        assert (state.coup, state.shoe, state.link.seq) == (None, None, 1)


# phase, what was in excess, why a card is out of the game -> what is in excess now
IN_EXCESS = [
    (Phase.DEALING, "", OUTSIDE, "drawn"),
    (Phase.DEALING, "drawn", OUTSIDE, "several"),
    (Phase.COMPLETE, "taken_out", OUTSIDE, "several"),
    (Phase.COMPLETE, "burned", OUTSIDE, "drawn"),
    (Phase.CLOSED, "", OUTSIDE, "drawn"),
    (Phase.BETTING, "", OUTSIDE, ""),
    (Phase.SETTLED, "", OUTSIDE, ""),
    (Phase.VOIDED, "", OUTSIDE, ""),
    (Phase.COMPLETE, "", TAKEN, ""),
    (Phase.COMPLETE, "drawn", TAKEN, "taken_out"),
    (Phase.COMPLETE, "several", TAKEN, "several"),
    (Phase.COMPLETE, "carried", TAKEN, "burned"),
    (Phase.SETTLED, "dummy", TAKEN, "burned"),
]


@pytest.mark.parametrize(("phase", "before", "reason", "after"), IN_EXCESS)
def test_what_is_outside_the_game_is_counted_while_the_coup_is_on_until_it_is_taken_out(
    phase: Phase, before: str, reason: str, after: str
) -> None:
    state = world_in(phase).state
    coup = replace(current_coup(state), excess=before)
    state = told(replace(state, coup=coup), CardOutOfGame(reason=reason))
    assert state.coup == replace(coup, excess=after)


def test_a_first_card_that_came_while_betting_is_open_begins_the_game() -> None:
    betting, dealing = world_in(Phase.BETTING).state, world_in(Phase.DEALING).state
    coup = replace(current_coup(betting), cards=current_coup(dealing).cards)
    state = told(replace(betting, coup=coup), CardOutOfGame(reason=OUTSIDE))
    assert current_coup(state).excess == "drawn"


def test_a_card_to_be_carried_that_is_taken_out_instead_is_discarded_once() -> None:
    world = world_in(Phase.SETTLED)
    extra = ReportedCard(face=Card.S9)
    shoe = replace(current_shoe(world.state), extra=extra)
    state = replace(world.state, shoe=shoe, link=replace(world.state.link, carried=True))
    once = told(state, CardOutOfGame(reason=TAKEN))
    assert (current_shoe(once).discarded, once.link.carried) == (1, False)
    assert current_shoe(told(once, CardOutOfGame(reason=TAKEN))).discarded == 1
    assert current_shoe(told(state, CardUnreadable())).discarded == 0
