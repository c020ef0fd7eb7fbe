"""Irregularities beside the cards: shoe, people, free hands; and money under all of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.cards import Card, Hand
from events.commands import (
    Command,
    CorrectCard,
    CorrectHands,
    EnterCard,
    FreeHand,
    MarkUnreadable,
    OpenBetting,
    Realign,
    ReplaceShoe,
    ResolveIrregularity,
    VoidCoup,
)
from events.types import (
    AnyReport,
    CardCarriedOver,
    CardDrawn,
    CardEntered,
    CardOutOfGame,
    CardUnreadable,
    CoupSettled,
    CoupVoided,
    DeviceResult,
    ExcessCardResolved,
    ReportLost,
    ShoeAudited,
    TableEvent,
)
from table_core.decide.cards import RECORDED_KINDS
from table_core.state.coup import Phase
from table_core.state.table import Coup
from tests.support.table.coups import (
    COUP,
    ORDER,
    World,
    drawn,
    revealed,
)
from tests.support.table.histories import each_history, play_history

P, B = Hand.PLAYER, Hand.BANKER


HISTORIES = """
a shoe replaced in mid-coup is a recorded fact with a reason, and the coup goes on
    in dealing
    replace_shoe shoe=02 coup=continue reason=broken -> made shoe_ended shoe_loaded; dealing
                             -> shoe_ended: shoe=20261127-01 "reason=replaced: broken"
                             -> shoe_loaded: shoe=20261127-02 decks=8
    B1 2D P2 KH B2 3C
    result player            -> settlement(1).coup=20261127-01/1
    {burned}
    open                     -> coup.id=20261127-02/1
a shoe replaced in mid-coup is a recorded fact with a reason, and the coup is void
    in dealing
    replace_shoe shoe=02 coup=void reason=broken -> voided
                             -> made coup_voided shoe_ended shoe_audited shoe_loaded
                             -> shoe_ended: shoe=20261127-01 "reason=replaced: broken"
                             -> shoe_loaded: shoe=20261127-02 decks=8
    {burned}
    open                     -> coup.id=20261127-02/1
free hands are legal, marked and take no wagers
    in none
    free_hand                -> closed
    deal 9S 2D KH 3C
    result player            -> settlement(1).lines=none alarms()=none shoe.roads.heights=1
an alarm is acknowledged unless only its cause can clear it
    in none
    replace_shoe shoe=02
    shoe first_card 7D
    shoe burn_card left=0    -> alarms()=burn_mismatch
    acknowledge_alarm alarm=burn_mismatch   -> alarms()=none
    replace_shoe shoe=03
    open
    acknowledge_alarm alarm=burn_missing    -> refused stands_until_resolved
    burn cards=0
    close
    shoe card_unreadable P1
    acknowledge_alarm alarm=unreadable_card -> refused stands_until_resolved
a dealer calls a supervisor once, until somebody has come
    in betting
    call_supervisor reason="a chip fell"        -> alarms()=supervisor_called phase=betting
    call_supervisor                             -> refused already_called
    acknowledge_alarm alarm=supervisor_called   -> alarms()=none
    call_supervisor                             -> alarms()=supervisor_called
who answers for a coup is known
    in none
    assign_dealer dealer=d-17 supervisor=s-4 -> dealer=d-17 supervisor=s-4
    assign_dealer dealer=" "                 -> refused invalid_dealer
    take_table actor=mia                     -> refused dealers_are_named
where dealers have accounts one of them takes the table before a coup begins
    in none
    now dealers=dora,mia
    {0}                                      -> refused no_dealer
    assign_dealer dealer=d-17                -> refused not_a_dealer
    take_table actor=sam                     -> refused not_a_dealer
    take_table actor=mia                     -> dealer=mia; made dealer_assigned
    take_table actor=mia                     -> made nothing
    assign_dealer dealer=dora supervisor=s-4 -> dealer=dora
    take_table actor=mia                     -> dealer=mia supervisor=s-4
    now dealers=dora
    {0}                                      -> refused no_dealer
    take_table actor=dora
    {0}                                      -> {1}
    * open_betting betting
    * free_hand closed
"""
BURNED = "shoe first_card AS\nshoe burn_card left=0"


test_irregularities_beside_the_cards = each_history(HISTORIES, burned=BURNED)


@pytest.mark.parametrize("kind", sorted(RECORDED_KINDS))
def test_what_was_put_right_by_hand_is_on_record(kind: str) -> None:
    recorded = f"coup={COUP} kind={kind} reason=mended"
    step = f"resolve_irregularity kind={kind} reason=mended -> made irregularity_recorded; dealing"
    assert play_history(["in dealing", step, f"-> irregularity_recorded: {recorded}"]).log


# ---- money, whatever happens ----

STEPS = [
    "card", "unread", "lost", "excess", "result", "enter", "correct", "realign", "resolve", "void",
    "open", "bet", "close", "replace", "mark", "free",
    "begin", "hidden", "hidden", "disclose", "taken_out", "carried", "hands",
]  # fmt: skip
FACES = st.sampled_from(list(Card))


@given(st.lists(st.tuples(st.sampled_from(STEPS), FACES, st.booleans()), max_size=60))
def test_money_is_conserved_and_nothing_is_settled_twice_under_every_irregularity(
    steps: list[tuple[str, Card, bool]],
) -> None:
    world = World()
    world.ready()
    for number, (step, face, flag) in enumerate(steps):
        begun = len(world.log)
        waits = world.state.coup if world.state.coup and world.state.coup.excess_open else None
        _step(world, step, face, number, flag=flag)
        _settles_nothing_while_a_card_in_excess_is_open(waits, world.log[begun:])
    state = world.state
    audited = [event.shoe for event in world.log if isinstance(event, ShoeAudited)]
    assert len(audited) == len(set(audited))
    for shoe in (state.shoe, *state.replaced):
        assert shoe is not None
        assert shoe.cards >= len(shoe.order) // 2 >= 0
    placed = {w.id: w.stake for e in world.log if e.TYPE == "wagers_placed" for w in e.wagers}  # type: ignore[attr-defined]  # a WagersPlaced
    paid_on: list[str] = []
    for event in world.log:
        if isinstance(event, CoupSettled):
            paid_on += [line.wager for line in event.settlement.lines]
            for line in event.settlement.lines:
                returned = 0 if line.result == "lose" else line.stake
                assert line.paid == returned + line.winnings - line.commission
        elif isinstance(event, CoupVoided):
            paid_on += [refund.wager for refund in event.refunds]
            assert all(placed[r.wager] == r.stake for r in event.refunds)
    open_wagers = state.coup.wagers if state.coup and state.in_progress else ()
    assert sorted([*paid_on, *open_wagers]) == sorted(placed)
    assert state.totals.staked - state.totals.paid == state.totals.house
    assert state.commission.reconciles


def _settles_nothing_while_a_card_in_excess_is_open(
    waits: Coup | None, made: list[TableEvent]
) -> None:
    """It is resolved, entered where it was due, vouched for, or the coup is void: by a person."""
    if waits is None or any(isinstance(event, ExcessCardResolved | CardEntered) for event in made):
        return
    for event in made:
        if isinstance(event, CoupSettled) and event.coup == waits.id:
            assert event.settlement.phase == 1 or event.settlement.revision > 1


def _step(world: World, step: str, face: Card, number: int, *, flag: bool) -> None:
    coup = world.state.coup
    place = (P, B)[number % 2], number % 3 + 1
    t = f"x-{number}"
    commands: dict[str, Command] = {
        "enter": EnterCard(transaction=t, hand=place[0], number=place[1], face=face, reason="r"),
        "correct": CorrectCard(
            transaction=t, hand=place[0], number=place[1], face=face, reason="r"
        ),
        "mark": MarkUnreadable(transaction=t, hand=place[0], number=place[1], reason="r"),
        "realign": Realign(transaction=t, reason="r"),
        "resolve": ResolveIrregularity(transaction=t, kind="excess_card", seen=flag, reason="r"),
        "void": VoidCoup(transaction=t, reason="r"),
        "open": OpenBetting(transaction=t),
        "free": FreeHand(transaction=t),
        "hands": CorrectHands(
            transaction=t,
            coup=coup.id if coup else COUP,
            player=(Card.S9, Card.HK),
            banker=(Card.D2, face),
            reason="r",
        ),
        "replace": ReplaceShoe(
            transaction=t,
            shoe=f"20261128-{number:02d}",
            coup="continue" if flag else "void",
            reason="r",
        ),
    }
    if step in commands:
        world.ask(commands[step])
    elif step == "begin":
        _begin(world, face, number, hidden=flag)
    elif step == "bet" and world.state.phase is Phase.BETTING:
        world.bet((number % 9 + 1, "tie" if flag else "player", 100 + number))
    elif step == "close" and world.state.phase is Phase.BETTING:
        world.close()
    else:
        world.say(*_reports(world, face, flag=flag).get(step, ()))


def _begin(world: World, face: Card, number: int, *, hidden: bool) -> None:
    """Four cards of one face, or face down, on a wager."""
    world.ask(OpenBetting(transaction=f"b-{number}"))
    if world.state.phase is Phase.BETTING:
        world.bet((number % 9 + 1, "banker", 100 + number))
        world.close()
        world.say(*(drawn(hand, n, None if hidden else face.value) for hand, n in ORDER))


def _reports(world: World, face: Card, *, flag: bool) -> dict[str, list[AnyReport]]:
    """What the shoe can say in a step."""
    cards = world.state.coup.cards if world.state.coup else ()
    hand, number = [*ORDER, (P, 3), (B, 3)][min(len(cards), 5)]
    return {
        "card": [CardDrawn(face=face)],
        "hidden": [drawn(hand, number)],
        "unread": [CardUnreadable()],
        "lost": [ReportLost(expected="1", got="3")],
        "excess": [CardOutOfGame(reason="drawn_outside_game")],
        "taken_out": [CardOutOfGame(reason="overdrawn", face=face)],
        "carried": [CardCarriedOver(hand=P, number=1, face=face if flag else None)],
        "result": [DeviceResult(winner="player" if flag else "banker")],
        "disclose": [
            revealed(card.hand, card.number, face.value if card.number > 1 else "9S")
            for card in cards
            if card.card is None
        ],
    }
