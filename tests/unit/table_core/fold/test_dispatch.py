"""What an event leaves behind in the state, where nothing that is decided shows it at once."""

from typing import Literal

import pytest
from msgspec.structs import replace

from events.cards import Card, Hand, parse_card
from events.errors import OurBug
from events.types.irregularities import (
    CardEntered,
    CardMarkedUnreadable,
    CoupRealigned,
    ExcessCardDrawn,
    ExcessCardResolved,
)
from events.types.shoe_reports import CardDrawn, CardOutOfGame, CardUnreadable, DeviceResult
from events.types.table import (
    AlarmCleared,
    AlarmRaised,
    BettingClosed,
    CoupSettled,
    CoupVoided,
    Refund,
    ResultConfirmed,
    ShoeReported,
    TableEvent,
    WagersPlaced,
    WagersWithdrawn,
)
from events.types.wagers import WagersVoided
from table_core.fold.common import current_coup, current_shoe
from table_core.fold.dispatch import fold, fold_all
from table_core.rules.rulebook import INITIAL_PHASE
from table_core.rules.wager_totals import UNSUMMED, WagerTotals, add_wagers
from table_core.state.coup import Phase
from table_core.state.shoe import ReportedCard
from table_core.state.table import DealtCard, TableState
from tests.support.table.coups import COUP, WAYS, drawn, settled, world_in
from tests.support.table.deals import wager

LAWLESS = [
    (Phase.NONE, BettingClosed(coup=COUP, by="command")),
    (Phase.NONE, WagersPlaced(coup=COUP, wagers=(wager(),))),
    (Phase.CLOSED, WagersPlaced(coup=COUP, wagers=(wager(),))),
    (Phase.DISPUTED, BettingClosed(coup=COUP, by="command")),
    (Phase.MISALIGNED, ResultConfirmed(coup=COUP, by="device")),
    (Phase.VOIDED, ResultConfirmed(coup=COUP, by="device")),
]


@pytest.mark.parametrize(("phase", "event"), LAWLESS, ids=lambda each: str(each)[:20])
def test_a_way_that_the_table_of_phases_lacks_is_our_bug(phase: Phase, event: TableEvent) -> None:
    state = world_in(phase).state
    words = rf"position {state.position + 1}: .* {phase.value}"
    with pytest.raises(OurBug, match=words):
        fold(state, event)
    with pytest.raises(OurBug, match=words):
        fold_all(state, [event])


def test_a_state_stands_at_the_position_of_its_last_event() -> None:
    log = world_in(Phase.SETTLED).log
    state = TableState()
    for position, event in enumerate(log, start=1):
        state = fold(state, event)
        assert state.position == position
    assert fold_all(TableState(), log) == state
    assert fold_all(state, []) == state


@pytest.mark.parametrize("phase", [phase for phase in WAYS if phase is not Phase.NONE])
def test_a_coup_stands_in_the_phase_that_its_events_lead_to(phase: Phase) -> None:
    world = world_in(phase)
    assert world.state.coup is not None
    assert world.state.coup.phase is phase
    assert world.state.phase is phase


def test_a_card_that_begins_a_coup_by_itself_is_of_that_coup_and_of_no_other() -> None:
    world = world_in(Phase.NONE)
    world.deal("9S")
    coup, shoe = world.state.coup, world.state.shoe
    assert coup is not None
    assert shoe is not None
    assert coup.wagerless
    assert (shoe.begun, shoe.coups, len(shoe.told)) == (False, 1, 1)


def test_the_rest_of_a_void_round_is_awaited_until_the_next_coup_begins() -> None:
    world = world_in(Phase.DEALING)
    dealing = world.state
    world.take([CoupVoided(coup=COUP, reason="void", refunds=())])
    void = world.state
    world.open()
    opened = world.state
    states = (dealing, void, opened)
    assert [state.link.residue for state in states] == [False, True, False]
    assert [state.totals.voids for state in states] == [0, 1, 1]
    assert opened.totals.coups == 0
    assert not opened.link.dummy
    # They may come still: what they were told as is kept.
    shoes = [(each.voids, each.coups, len(each.told)) for each in map(current_shoe, states)]
    assert shoes == [(0, 1, 1), (1, 1, 1), (1, 2, 1)]


def test_nothing_is_awaited_of_a_coup_without_cards_or_of_a_round_that_is_over() -> None:
    world = world_in(Phase.CLOSED)
    world.take([CoupVoided(coup=COUP, reason="void", refunds=())])
    assert not world.state.link.residue
    world = world_in(Phase.DISPUTED)  # the shoe has told its result
    world.take([CoupVoided(coup=COUP, reason="void", refunds=())])
    assert not world.state.link.residue


def test_a_coup_that_is_over_joins_the_past_without_the_sums_of_its_betting() -> None:
    world = world_in(Phase.SETTLED)
    (over,) = world.state.past
    assert over.id == COUP
    assert over.phase is Phase.SETTLED
    assert over.summed.count == 0
    world.open()
    assert [coup.id for coup in world.state.past] == [COUP]
    assert world.state.coup is not None
    assert world.state.coup.cards == ()


def test_the_totals_are_those_of_the_lines() -> None:
    """Player 9 against 5: 1,000 on Player come back twice, 2,500 are lost."""
    totals = world_in(Phase.SETTLED).state.totals
    assert (totals.coups, totals.voids) == (1, 0)
    assert (totals.staked, totals.paid, totals.commission) == (3_500, 2_000, 0)
    assert totals.house == 1_500


def test_an_alarm_is_replaced_by_its_newest_words_and_goes_with_its_coup() -> None:
    world = world_in(Phase.HELD)
    (alarm,) = world.state.alarms
    assert (alarm.name, alarm.coup) == ("excess_card", COUP)
    link = AlarmRaised(alarm="link", text="is down", coup=None)
    world.take([link, replace(link, text="is up"), replace(link, alarm="lid")])
    said = [(alarm.name, alarm.text) for alarm in world.state.alarms]
    assert said == [("excess_card", alarm.text), ("link", "is up"), ("lid", "is down")]
    world.take([CoupVoided(coup=COUP, reason="void", refunds=())])
    assert [alarm.name for alarm in world.state.alarms] == ["link", "lid"]
    world.take([AlarmCleared(alarm="link")])
    assert [alarm.name for alarm in world.state.alarms] == ["lid"]


@pytest.mark.parametrize(
    ("phase", "reason"),
    [
        (Phase.VOIDED, "test"),
        (Phase.DISPUTED, "winner: the table says player, the shoe banker"),
        (Phase.MISALIGNED, "report_lost: a report of the shoe never arrived"),
    ],
)
def test_why_a_coup_is_void_disputed_or_misaligned_is_on_it(phase: Phase, reason: str) -> None:
    coup = world_in(phase).state.coup
    assert coup is not None
    assert coup.reason.startswith(reason)


def test_a_second_card_outside_the_game_makes_them_several_until_the_shoe_takes_it() -> None:
    world = world_in(Phase.DEALING)
    for excess in ("drawn", "several"):
        world.say(CardOutOfGame(reason="drawn_outside_game"))
        assert world.state.coup is not None
        assert world.state.coup.excess == excess


def test_a_result_is_kept_with_the_round_that_it_ends() -> None:
    world = world_in(Phase.COMPLETE)
    before = world.state.coup
    assert before is not None
    assert (before.round_over, before.device_result) == (False, None)
    world.say(DeviceResult(winner="banker"))
    coup = world.state.coup
    assert coup is not None
    assert coup.round_over
    assert coup.device_result == DeviceResult(winner="banker")


def test_reports_of_another_journal_leave_the_first_ones_name_behind() -> None:
    world = world_in(Phase.CLOSED)
    shoe = world.state.shoe
    assert shoe is not None
    assert (world.state.link.journal, world.state.link.past) == ("j1", frozenset())
    seq = world.state.link.seq
    told = world.say(drawn(Hand.PLAYER, 1, "9S"))[0]
    assert isinstance(told, ShoeReported)
    assert world.state.link.seq == seq + 1
    state = fold(world.state, replace(told, source=replace(told.source, journal="j2", seq=1)))
    assert (state.link.journal, state.link.seq, state.link.past) == ("j2", 1, frozenset({"j1"}))


def test_a_card_that_the_shoe_gives_no_place_lies_where_it_was_dealt_to() -> None:
    world = world_in(Phase.CLOSED)
    world.say(CardDrawn(face=Card.S9), CardUnreadable())
    told = current_shoe(world.state).told
    assert [(each.hand, each.number) for each in told] == [(Hand.PLAYER, 1), (Hand.BANKER, 1)]
    dealt = current_coup(world.state).cards
    assert [(each.card, each.source) for each in dealt] == [(Card.S9, "shoe"), (None, "unread")]


def test_a_face_that_is_distrusted_takes_its_rule_and_the_outcome_with_it() -> None:
    world = world_in(Phase.COMPLETE)
    assert current_coup(world.state).completed is not None
    marked = CardMarkedUnreadable(
        coup=COUP, hand=Hand.PLAYER, number=2, was=Card.HK, reason="a stain"
    )
    world.take([marked])
    coup = current_coup(world.state)
    assert (coup.completed, coup.phase) == (None, Phase.DEALING)
    third = coup.cards[2]
    assert (third.card, third.rule, third.source) == (None, None, "unread")
    assert [each.source for each in coup.cards] == ["shoe", "shoe", "unread", "shoe"]


def test_a_card_that_a_person_enters_is_by_hand_whether_it_was_told_of_or_not() -> None:
    world = world_in(Phase.MISALIGNED)
    for hand, number in ((Hand.PLAYER, 1), (Hand.BANKER, 1)):
        entered = CardEntered(coup=COUP, hand=hand, number=number, card=Card.D7, reason="seen")
        world.take([entered])
    dealt = current_coup(world.state).cards
    assert [(each.hand, each.number, each.card, each.source) for each in dealt] == [
        (Hand.PLAYER, 1, Card.D7, "manual"),
        (Hand.BANKER, 1, Card.D7, "manual"),
    ]


# faces of a misaligned coup -> what its card outside the game is, once a person vouches for them
VOUCHED = [
    (("9S", None), "drawn"),  # nobody knows yet whether one was due
    (("9S", "2D"), ""),  # Player's second was due: it is no hand's
    (("9S", "2D", "KH", "3C"), "drawn"),  # none was due: it is one too many
]


@pytest.mark.parametrize(("faces", "excess"), VOUCHED)
def test_who_vouches_for_the_cards_vouches_for_one_outside_the_game(
    faces: tuple[str | None, ...], excess: str
) -> None:
    state = world_in(Phase.MISALIGNED).state
    places = ((Hand.PLAYER, 1), (Hand.BANKER, 1), (Hand.PLAYER, 2), (Hand.BANKER, 2))
    cards = tuple(
        DealtCard(*place, parse_card(face) if face else None, None, "shoe")
        for place, face in zip(places, faces, strict=False)
    )
    completed = current_coup(world_in(Phase.COMPLETE).state).completed
    coup = replace(current_coup(state), cards=cards, excess="drawn", completed=completed)
    assert coup.reason
    realigned = fold(replace(state, coup=coup), CoupRealigned(coup=COUP, reason="I saw it"))
    after = current_coup(realigned)
    assert (after.excess, after.reason, after.completed) == (excess, "", None)
    assert (after.phase, after.cards) == (Phase.DEALING, cards)


@pytest.mark.parametrize(
    ("outcome", "carried", "dummy", "discarded"),
    [("carried", True, False, 0), ("dummy", True, True, 0), ("burned", False, False, 1)],
)
def test_an_excess_card_has_one_fate(
    outcome: Literal["carried", "dummy", "burned"], carried: bool, dummy: bool, discarded: int
) -> None:
    world = world_in(Phase.HELD)
    world.take([ExcessCardResolved(coup=COUP, seen=dummy, outcome=outcome, reason="so it is")])
    link = world.state.link
    assert (link.carried, link.dummy) == (carried, dummy)
    assert current_shoe(world.state).discarded == discarded
    assert current_coup(world.state).excess == outcome
    assert world.state.phase is Phase.COMPLETE


def test_what_stands_is_the_sum_of_the_wagers_that_are_left() -> None:
    many = tuple(wager(f"w{number}", stake=100) for number in range(2 * UNSUMMED))
    opened = world_in(Phase.BETTING, wagers=False).state
    placed = fold(opened, WagersPlaced(coup=COUP, wagers=many))
    refund = Refund(wager="w0", seat=1, stake=100)
    gone = (
        WagersWithdrawn(coup=COUP, wagers=("w0",)),
        WagersVoided(coup=COUP, code="unsupported", refunds=(refund,)),
    )
    assert current_coup(placed).standing == add_wagers(WagerTotals(), many)
    for event in gone:
        coup = current_coup(fold(placed, event))
        assert coup.wagers == many[1:]
        assert coup.standing == add_wagers(WagerTotals(), many[1:])
        assert coup.phase is Phase.BETTING


def test_a_card_drawn_when_none_was_due_is_put_aside_and_holds_the_coup() -> None:
    state = world_in(Phase.COMPLETE).state
    coup, shoe = current_coup(state), current_shoe(state)
    held = fold(state, ExcessCardDrawn(coup=COUP))
    assert held.coup == replace(coup, phase=Phase.HELD, excess="drawn")
    assert held.shoe == replace(
        shoe, told=shoe.told[:-1], extra=ReportedCard(face=shoe.told[-1].face)
    )


def test_one_that_lies_outside_the_game_already_is_the_card_that_holds_the_coup() -> None:
    state = world_in(Phase.COMPLETE).state
    coup = replace(current_coup(state), excess="taken_out")
    held = fold(replace(state, coup=coup), ExcessCardDrawn(coup=COUP))
    assert held.coup == replace(coup, phase=Phase.HELD)
    assert held.shoe == state.shoe


def test_a_settlement_that_is_issued_again_counts_instead_of_the_one_before() -> None:
    world = world_in(Phase.SETTLED)
    counted = replace(
        settled(world).settlement, phase=INITIAL_PHASE, staked=300, paid=190, commission=10
    )
    state = world_in(Phase.DEALING).state
    for revision, commission in ((1, 10), (2, 4), (3, 7)):
        settlement = replace(counted, revision=revision, paid=200 - commission)
        settlement = replace(settlement, commission=commission, staked=300 + revision)
        state = fold(state, CoupSettled(coup=COUP, settlement=settlement))
        totals = state.totals
        sums = (totals.staked, totals.paid, totals.commission)
        assert sums == (300 + revision, 200 - commission, commission)
        assert totals.coups == 0  # its last phase is to come
        assert current_coup(state).settlements == (settlement,)
