"""What an event leaves behind in the state, where nothing that is decided shows it at once."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from events.cards import Hand, parse_card
from events.errors import OurBug
from events.types.irregularities import (
    CoupRealigned,
    ExcessCardDrawn,
)
from events.types.table import (
    BettingClosed,
    CoupSettled,
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
from tests.support.table.histories import histories, play_history
from tests.support.table.wagers import wager

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


HISTORIES = """
a card that begins a coup by itself is of that coup and of no other
    in none
    deal 9S                  -> coup.wagerless=true shoe.begun=false shoe.coups=1 shoe.told.face=9S
the rest of a void round is awaited until the next coup begins
    in dealing               -> link.residue=false totals.voids=0
                             -> shoe.voids=0 shoe.coups=1 shoe.told.number=1
    {void}                   -> link.residue=true totals.voids=1
                             -> shoe.voids=1 shoe.coups=1 shoe.told.number=1
    # They may come still: what they were told as is kept.
    open                     -> link.residue=false totals.voids=1 totals.coups=0 link.dummy=false
                             -> shoe.voids=1 shoe.coups=2 shoe.told.number=1
nothing is awaited of a coup without cards or of a round that is over
    * closed
    * disputed               # the shoe has told its result
    in {0}
    {void}                   -> link.residue=false
a coup that is over joins the past without the sums of its betting
    in settled               -> past.id=20261127-01/1 past.phase=settled past.summed.count=0
    open                     -> past.id=20261127-01/1 coup.cards=none
the totals are those of the lines
    # Player 9 against 5: 1,000 on Player come back twice, 2,500 are lost.
    in settled               -> totals.coups=1 totals.voids=0 totals.staked=3500 totals.paid=2000
                             -> totals.commission=0 totals.house=1500
an alarm is replaced by its newest words and goes with its coup
    in held                  -> alarms.name=excess_card alarms.coup=20261127-01/1
    fold alarm_raised alarm=link text=down
    fold alarm_raised alarm=link text=up
    fold alarm_raised alarm=lid text=down
                             -> alarms.name=excess_card,link,lid
                             -> alarm(link)=up alarm(lid)=down alarm(excess_card)~outside
    {void}                   -> alarms.name=link,lid
    fold alarm_cleared alarm=link -> alarms.name=lid
why a coup is void, disputed or misaligned is on it
    * voided     test
    * disputed   "winner: the table says player, the shoe banker"
    * misaligned "report_lost: a report of the shoe never arrived"
    in {0}                   -> "coup.reason~{1}"
a second card outside the game makes them several until the shoe takes it
    in dealing
    shoe card_out_of_game reason=drawn_outside_game -> coup.excess=drawn
    shoe card_out_of_game reason=drawn_outside_game -> coup.excess=several
a result is kept with the round that it ends
    in complete              -> coup.round_over=false coup.device_result=none
    result banker            -> coup.round_over=true coup.device_result.winner=banker
a card that the shoe gives no place lies where it was dealt to
    in closed
    shoe card_drawn 9S
    shoe card_unreadable     -> shoe.told.hand=player,banker shoe.told.number=1,1
                             -> coup.cards.card=9S,none coup.cards.source=shoe,unread
a face that is distrusted takes its rule and the outcome with it
    in complete              -> coup.completed.winner=player
    fold card_marked_unreadable P2 was=KH -> dealing; coup.completed=none
                             -> coup.cards.source=shoe,shoe,unread,shoe
                             -> coup.cards.2.card=none coup.cards.2.rule=none
a card that a person enters is by hand whether it was told of or not
    in misaligned
    fold card_entered P1 card=7D
    fold card_entered B1 card=7D -> coup.cards.hand=player,banker coup.cards.number=1,1
                             -> coup.cards.card=7D,7D coup.cards.source=manual,manual
an excess card has one fate
    * carried false true  false 0
    * dummy   true  true  true  0
    * burned  false false false 1
    in held
    fold excess_card_resolved outcome={0} seen={1} -> complete; coup.excess={0}
                             -> link.carried={2} link.dummy={3} shoe.discarded={4}
"""


@pytest.mark.parametrize("lines", histories(HISTORIES, void="fold coup_voided refunds="))
def test_what_events_leave_behind_them(lines: Sequence[str]) -> None:
    assert play_history(lines, audited=False).log


def test_reports_of_another_journal_leave_the_first_ones_name_behind() -> None:
    world = world_in(Phase.CLOSED)
    link = world.state.link
    assert (link.journal, link.past) == ("j1", frozenset())
    told = world.say(drawn(Hand.PLAYER, 1, "9S"))[0]
    assert isinstance(told, ShoeReported)
    assert world.state.link.seq == link.seq + 1
    state = fold(world.state, replace(told, source=replace(told.source, journal="j2", seq=1)))
    assert (state.link.journal, state.link.seq, state.link.past) == ("j2", 1, frozenset({"j1"}))


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
