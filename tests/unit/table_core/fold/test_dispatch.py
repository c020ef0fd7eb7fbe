"""What an event leaves behind in the state: of the coup, of the table, and of the shoe."""

from typing import Any

import pytest
from msgspec.structs import replace

from events.cards import Card, Hand, parse_card
from events.errors import OurBug
from events.types import (
    AggregateCapped,
    AlarmCleared,
    AlarmRaised,
    BettingClosed,
    BooksClosed,
    BurnRecorded,
    CardOutOfGame,
    CardUnreadable,
    CheckpointKeyChanged,
    ChipsCorrected,
    ChipsCounted,
    ChipsCredited,
    ChipsFilled,
    CommissionAccrued,
    CommissionCollected,
    CommissionPrepaid,
    CommissionRecovered,
    CommissionRefunded,
    CommissionReturned,
    CommissionReversed,
    CommissionUncollected,
    CorrectionAcknowledged,
    CorrectionSigned,
    CoupRealigned,
    CoupSettled,
    CutCardCame,
    DealerAssigned,
    DeviceResult,
    DropCounted,
    ErrorCleared,
    ErrorRaised,
    ExcessCardDrawn,
    FloatClosed,
    FloatOpened,
    IrregularityRecorded,
    LimitsSet,
    LinkDown,
    LinkOpen,
    LinkStalled,
    LinkUp,
    LockChanged,
    LogAdopted,
    LoginsNoted,
    PayerAmount,
    Pieces,
    Refund,
    Report,
    ResultConfirmed,
    ReversedAmount,
    RoundForcedEnd,
    RulebookAdopted,
    ShoeAudited,
    ShoeBooted,
    ShoeCounted,
    ShoeEnded,
    ShoeErrorCleared,
    ShoeHeld,
    ShoeLoaded,
    ShoeReady,
    ShoeReleased,
    ShoeReported,
    ShuffleQuestioned,
    TableEvent,
    WagersPlaced,
    WagersVoided,
    WagersWithdrawn,
)
from events.types.registry import KINDS
from table_core.fold.common import current_coup, current_shoe
from table_core.fold.dispatch import fold, fold_all
from table_core.rules import commission_owed
from table_core.rules.commission_owed import CommissionBook, CommissionTotals, Debt
from table_core.rules.rulebook import INITIAL_PHASE
from table_core.rules.wager_totals import UNSUMMED, WagerTotals, add_wagers
from table_core.shuffle.orders import order_of
from table_core.state.coup import COUP_EVENTS, Phase
from table_core.state.shoe import BURN_ALARM, ORDERS_KEPT, ReportedCard, ShoeState
from table_core.state.table import ChipsToMove, Coup, DealtCard, HeldShoe, ShoeLink, TableState
from tests.support.table.coups import COUP, SHOE, WAYS, drawn, settled, shoe_event, world_in
from tests.support.table.deals import wager
from tests.support.table.histories import each_history

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


test_what_events_leave_behind_them = each_history(HISTORIES, void="fold coup_voided refunds=")


def test_reports_of_another_journal_leave_the_first_ones_name_behind() -> None:
    world = world_in(Phase.CLOSED)
    link = world.state.link
    assert (link.journal, link.past) == ("j1", ())
    told = world.say(drawn(Hand.PLAYER, 1, "9S"))[0]
    assert isinstance(told, ShoeReported)
    assert world.state.link.seq == link.seq + 1
    state = fold(world.state, replace(told, source=replace(told.source, journal="j2", seq=1)))
    assert (state.link.journal, state.link.seq, state.link.past) == ("j2", 1, ("j1",))


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
        assert tuple(coup.wagers.values()) == many[1:]
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


OWED = (PayerAmount(seat=2, amount=100, patron="p-1"),)
CHIPS = (Pieces(100, 5),)
LIMITS = LimitsSet(table_maximum=5_000)
IRREGULAR = IrregularityRecorded(kind="card_out_of_shoe", reason="it fell")
CAPPED = AggregateCapped(coup=COUP, settlement_id="s", maximum=1, scope="table", wagers=())
AUDIT = ShoeAudited(
    shoe=SHOE, decks=8, seen=0, known=0, burned=0, carried=0, coups=1, voids=0, left={}
)
QUESTIONED = ShuffleQuestioned(
    shoe=SHOE, kind="factory", known=9, groups=1, length=9, coup=COUP, cards=(), run=9, exponent=7
)
CLOSED = BooksClosed(shoe=SHOE, size=1, chain="", peaks=(), fold=3, shape="", state="")
FILLED = ChipsFilled(float_id="f1", amount=500, signed=(), slip="s1", chips=CHIPS)
CORRECTED = ChipsCorrected(
    float_id="f1", amount=400, signed=(), move="fill", slip="s1", chips=(Pieces(100, 4),), was=500,
    reason="miscounted",
)  # fmt: skip


def opened() -> TableState:
    """A table with a tray, an alarm, a burn that nobody recorded and a coup that is over."""
    world = world_in(Phase.SETTLED)
    tray = FloatOpened(float_id="f1", amount=500, signed=(), currency="AUD", chips=CHIPS)
    world.take([tray, FILLED, AlarmRaised(alarm="lid", text="is open")])
    to_move = ChipsToMove(coup=f"{SHOE}/9", settlements=("s",), seats=())
    shoe = replace(current_shoe(world.state), burn_recorded=False)
    return replace(world.state, shoe=shoe, to_move=(to_move,))


STATE = opened()
MOVES: list[tuple[TableEvent, set[str]]] = [
    (
        RulebookAdopted(rulebook="ez", rulebook_hash="1", currency="NZD"),
        {"rulebook", "rulebook_hash", "currency", "totals"},
    ),
    (ShoeLoaded(shoe="20261127-02", decks=8), {"shoe", "past", "replaced"}),
    (ShoeEnded(shoe=SHOE, reason="over"), {"shoe", "orders"}),
    (BurnRecorded(shoe=SHOE, burned=4, by="person"), {"shoe"}),
    (CutCardCame(shoe=SHOE, place="between", by="shoe", last_coup=9), {"shoe"}),
    (AUDIT, {"shoe"}),
    (QUESTIONED, {"shoe"}),
    (ShoeCounted(shoe=SHOE, cards=415), set()),
    (ShoeHeld(shoe=SHOE, cause="count", text="one missing"), {"held"}),
    (ShoeReleased(shoe=SHOE, reason="found"), set()),
    (ShoeReported(source=shoe_event(99, LinkDown(reason="unplugged"))), {"link"}),
    (AlarmRaised(alarm="link", text="is down"), {"alarms"}),
    (AlarmCleared(alarm="lid"), {"alarms"}),
    (DealerAssigned(dealer="d-7", supervisor="s-1"), {"dealer", "supervisor"}),
    (LIMITS, {"limits"}),
    (FloatOpened(float_id="f2", amount=1, signed=(), currency="AUD", chips=()), {"floats"}),
    (replace(FILLED, slip="s2"), {"floats"}),
    (ChipsCredited(float_id="f1", amount=100, signed=(), slip="s3", chips=CHIPS), {"floats"}),
    (ChipsCounted(float_id="f1", amount=900, signed=(), chips=CHIPS), {"floats"}),
    (FloatClosed(float_id="f1", amount=900, signed=(), chips=CHIPS), {"floats"}),
    (DropCounted(float_id="f1", amount=50, signed=(), box="b1", notes=()), {"floats"}),
    (CORRECTED, {"floats"}),
    (IRREGULAR, set()),
    (CAPPED, set()),
    (CLOSED, set()),
    (CheckpointKeyChanged(key="k"), set()),
    (LogAdopted(size=1, chain="00", reason="first_start"), set()),
    (LoginsNoted(entries=1, chain="00"), set()),
    (CorrectionAcknowledged(coup=f"{SHOE}/9", settlements=("s",)), {"to_move"}),
    (CorrectionSigned(coup=f"{SHOE}/9", signed=("s-1", "s-4")), set()),
]


@pytest.mark.parametrize(("event", "moved"), MOVES, ids=lambda each: type(each).__name__)
def test_an_event_moves_its_part_of_the_table(event: TableEvent, moved: set[str]) -> None:
    after = fold(STATE, event)
    assert after.position == STATE.position + 1
    parts = set(TableState.__struct_fields__) - {"position"}
    assert {part for part in parts if getattr(after, part) != getattr(STATE, part)} == moved


def test_what_is_named_is_what_the_table_has_from_then_on() -> None:
    after = fold_all(STATE, [event for event, _ in MOVES[:1] + MOVES[13:15]])
    assert (after.rulebook, after.rulebook_hash) == ("ez", "1")
    assert (after.dealer, after.supervisor, after.limits) == ("d-7", "s-1", LIMITS)


def test_a_held_shoe_holds_until_it_is_released() -> None:
    held = fold(STATE, ShoeHeld(shoe=SHOE, cause="count", text="one missing"))
    assert held.held == (HeldShoe(shoe=SHOE, cause="count", text="one missing"),)
    assert fold(held, ShoeReleased(shoe=NEXT, reason="found")).held == held.held
    assert fold(held, ShoeReleased(shoe=SHOE, reason="found")).held == ()


def test_the_newest_doubt_of_a_kind_is_kept() -> None:
    state = fold_all(STATE, [QUESTIONED, replace(QUESTIONED, exponent=90)])
    state = fold(state, replace(QUESTIONED, kind="earlier"))
    assert current_shoe(state).questioned == (("factory", 90), ("earlier", 7))


def test_a_person_clears_an_error_that_the_shoe_reported() -> None:
    state = replace(STATE, link=replace(STATE.link, errors=frozenset({"jam"})))
    after = fold(state, ShoeErrorCleared(code="jam", reason="it is out"))
    assert after == replace(STATE, position=STATE.position + 1)


def kept(*totals: int, **parts: int) -> CommissionBook:
    """Return a book in dollars: accrued, reversed, collected and so on, and its one debt."""
    debt = Debt(coup=COUP, seat=2, patron="p-1", currency="AUD", **parts)
    return CommissionBook(
        totals=(CommissionTotals("AUD", *totals),), debts=(debt,) if parts else ()
    )


BACK = ReversedAmount(seat=2, amount=100, patron="p-1", recovered=100)
OF_COUP: dict[str, Any] = {"coup": COUP, "currency": "AUD"}
REFUND = commission_owed.CommissionRefund(
    coup=COUP, seat=2, patron="p-1", currency="AUD", amount=100, reason="r"
)
# a fact of commission -> the book that began with nothing, each after the one before
COMMISSION: list[tuple[TableEvent, CommissionBook]] = [
    (CommissionPrepaid(**OF_COUP, amounts=OWED), CommissionBook(laid=OWED)),
    (CommissionReturned(**OF_COUP, amounts=OWED), CommissionBook()),
    (
        CommissionAccrued(**OF_COUP, settlement_id="s", timing="per_shoe", amounts=OWED),
        kept(100, outstanding=100),
    ),
    (CommissionUncollected(**OF_COUP, amounts=OWED, reason="left"), kept(100, uncollected=100)),
    (CommissionRecovered(**OF_COUP, amounts=OWED), kept(100, 0, 0, 100, recovered=100)),
    (
        CommissionReversed(**OF_COUP, settlement_id="s", timing="per_coup", amounts=(BACK,)),
        kept(100, 100, refundable=100),
    ),
    (
        CommissionRefunded(
            **OF_COUP, settlement_id="t", method="paid", amounts=(BACK,), reason="r"
        ),
        replace(kept(100, 100, 0, 0, 100), refunds=(REFUND,)),
    ),
]


def test_commission_is_kept_in_its_own_book() -> None:
    state = replace(STATE, commission=CommissionBook())
    for event, book in COMMISSION:
        state = fold(state, event)
        assert (event, state.commission) == (event, book)
        assert replace(state, commission=STATE.commission, position=STATE.position) == STATE


def test_commission_that_is_taken_is_owed_no_more() -> None:
    owing = replace(STATE, commission=kept(100, outstanding=100))
    taken = fold(owing, CommissionCollected(**OF_COUP, method="paid", amounts=OWED))
    assert taken.commission == kept(100, 0, 100)


@pytest.mark.parametrize(
    "event",
    [
        CommissionCollected(coup="", currency="", method="paid", amounts=OWED),
        RulebookAdopted(rulebook="ez", rulebook_hash="e", currency=""),
    ],
)
def test_what_names_no_currency_follows_nothing_that_names_one(event: TableEvent) -> None:
    fold(replace(STATE, currency="", commission=kept(100, outstanding=100)), event)
    with pytest.raises(OurBug, match="names no currency"):
        fold(replace(STATE, currency="AUD"), event)


def test_every_event_that_is_about_no_coup_is_here() -> None:
    here = {type(event) for event, _ in MOVES} | {type(event) for event, _ in COMMISSION}
    others = {kind for kind in KINDS if kind.TYPE not in COUP_EVENTS}
    assert here | {ShoeErrorCleared, CommissionCollected} == others


def test_before_the_first_shoe_and_the_first_coup_there_is_nothing_to_move() -> None:
    for event in (ShoeEnded(shoe=SHOE, reason="over"), BurnRecorded(shoe=SHOE, burned=4, by="x")):
        with pytest.raises(OurBug, match="before the first shoe"):
            fold(TableState(), event)
    with pytest.raises(OurBug, match="before the first coup"):
        current_coup(TableState())


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
    coup = Coup(
        id=COUP,
        phase=Phase.SETTLED,
        rulebook="ez",
        rulebook_hash="1",
        cards=tuple(
            DealtCard(Hand.PLAYER, n, face, "", "shoe") for n, face in [(1, Card.D2), (2, None)]
        ),
    )
    elsewhere = replace(coup, id="20261126-09/1")
    state = TableState(orders=tuple((f"old-{n}", "abc") for n in range(ORDERS_KEPT)))
    past = state.past.append(elsewhere).append(coup)
    state = replace(state, shoe=ShoeState(id=SHOE, decks=8, order="2DKH"), past=past)
    ended = fold(state, ShoeEnded(shoe=SHOE, reason="the cut card"))
    assert current_shoe(ended).ended
    assert ended.orders == (*state.orders[1:], (SHOE, order_of([Card.D2])))


def test_an_audit_closes_the_record_of_the_shoe_that_it_names() -> None:
    before, shoe = (
        ShoeState(id=SHOE, decks=8, order="2DKH"),
        ShoeState(id=NEXT, decks=8, order="9S"),
    )
    state = TableState(shoe=shoe, replaced=(before,))
    of_before = fold(state, audited(SHOE))
    assert (of_before.shoe, of_before.replaced) == (shoe, (replace(before, audited=True),))
    of_current = fold(state, audited(NEXT))
    assert (of_current.shoe, of_current.replaced) == (replace(shoe, audited=True), (before,))


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
    assert (state.link.journal, state.link.past) == ("j3", ("j1", "j2"))


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
