"""A card in excess: in a squeeze, against the shoe's evidence, and where it was due after all."""

import pytest

from events.cards import Card, Hand
from events.commands.base import Command
from events.commands.cards import EnterCard, Realign, ResolveIrregularity
from events.commands.coup import FreeHand, OpenBetting, VoidCoup
from events.commands.shoe import ReplaceShoe
from events.types.irregularities import ExcessCardDrawn, ExcessCardResolved, IrregularityRecorded
from events.types.shoe_reports import (
    AnyReport,
    CardCarriedOver,
    CardOutOfGame,
    DeviceResult,
    ErrorCleared,
    ErrorRaised,
    LinkDown,
    LinkOpen,
    ReportLost,
)
from events.types.table import CoupMisaligned, CoupVoided
from table_core.decide.decision import DecisionContext
from table_core.rulebooks.shipped import shipped_source
from table_core.rules.rulebook_file import parse_rulebook
from table_core.state.coup import Phase
from tests.support.table.coups import (
    CONTEXT,
    NATURAL_NINE,
    ORDER,
    World,
    code,
    drawn,
    revealed,
    shoe_of,
    stands,
    world_in,
)

P, B = Hand.PLAYER, Hand.BANKER

RAISED = ErrorRaised(code="overdraw", latched=False)
OUTSIDE = CardOutOfGame(reason="drawn_outside_game")
CLEARED = ErrorCleared(code="overdraw")
EXCESS = Card.D4
TAKEN_OUT = CardOutOfGame(reason="overdrawn", face=EXCESS)
# As the shoe's page has them: "overdraw carried" and "overdraw burned", behind the cards.
CARRIED: list[AnyReport] = [RAISED, OUTSIDE, CLEARED]
BURNED: list[AnyReport] = [
    RAISED,
    ErrorRaised(code="draw_timeout", latched=True),
    *(OUTSIDE, TAKEN_OUT, CLEARED),
]


def by_policy(policy: str) -> DecisionContext:
    source = shipped_source("au-commission") + f'\n[procedure]\nexcess = "{policy}"\n'.encode()
    return DecisionContext(table="t1", rulebook=parse_rulebook("au-commission.toml", source))


def overdrawn(
    sequence: list[AnyReport], disclosure: str, context: DecisionContext = CONTEXT, *cards: str
) -> World:
    """A natural, and behind it a card too many, up to the device's result."""
    world = world_in(Phase.CLOSED, context=context)
    cards = cards or NATURAL_NINE
    places = [*ORDER, (P, 3), (B, 3)][: len(cards)]
    deferred = disclosure == "deferred"
    told = zip(places, cards, strict=True)
    world.say(*(drawn(hand, n, None if deferred else face) for (hand, n), face in told))
    world.say(*sequence)
    if deferred:
        told = zip(places, cards, strict=True)
        world.say(*(revealed(hand, n, face) for (hand, n), face in told))
    world.say(DeviceResult(winner="player"))
    return world


def resolve(*, seen: bool) -> ResolveIrregularity:
    return ResolveIrregularity(transaction="r", kind="excess_card", seen=seen, reason="looked")


def excess_told(world: World) -> int:
    return shoe_of(world).order.count(EXCESS.value)


def alarm_of(world: World, name: str) -> str:
    return next(alarm.text for alarm in world.state.alarms if alarm.name == name)


def misaligned_for(world: World) -> str:
    assert world.state.phase is Phase.MISALIGNED
    assert world.state.coup is not None
    return world.state.coup.reason.partition(":")[0]


def plays_on(world: World, *, first: AnyReport | None = None, free: bool = False) -> None:
    """The next coup is dealt and settles, its first card from the shoe or carried over."""
    settled = world.state.totals.coups
    if free:
        world.must(FreeHand(transaction=world.transaction()))
    else:
        world.open()
        world.close()
    world.say(first or drawn(P, 1, "4S"))
    world.say(drawn(B, 1, "2D"), drawn(P, 2, "5H"), drawn(B, 2, "3C"))
    world.say(DeviceResult(winner="player"))
    assert world.state.phase is Phase.SETTLED
    assert world.state.totals.coups == settled + 1


MODES = pytest.mark.parametrize("disclosure", ["immediate", "deferred"])

# policy | the shoe's sequence | seen | what becomes of it (no decision where the coup is void)
POLICIES = """
carry carried hidden carried
carry carried seen   dummy
carry burned  hidden burned
carry burned  seen   burned
burn  carried hidden burned
burn  carried seen   burned
burn  burned  hidden burned
burn  burned  seen   burned
void  carried hidden void
void  carried seen   void
void  burned  hidden void
void  burned  seen   void
"""


@MODES
@pytest.mark.parametrize("row", POLICIES.strip().splitlines())
def test_a_card_in_excess_is_held_and_resolved_alike_in_both_modes(
    row: str, disclosure: str
) -> None:
    policy, sequence, seen, outcome = row.split()
    told = BURNED if sequence == "burned" else CARRIED
    world = overdrawn(told, disclosure, by_policy(policy))
    assert stands(world) is Phase.HELD, "nothing settles while it is open"
    assert [type(event) for event in world.log].count(ExcessCardDrawn) == 1
    cards = shoe_of(world).cards
    made = world.must(resolve(seen=seen == "seen"))
    if outcome == "void":
        assert isinstance(made[0], CoupVoided)
    else:
        assert isinstance(made[0], ExcessCardResolved)
        assert made[0].outcome == outcome
        assert stands(world) is Phase.SETTLED
    mismatch = policy == "carry" and sequence == "burned"
    kinds = [event.kind for event in made if isinstance(event, IrregularityRecorded)]
    assert kinds == ["excess_card_mismatch"] * mismatch
    # 2 burned, 4 of the coup, 1 in excess; from here on each counts once more
    assert (cards, excess_told(world)) == (7, sequence == "burned")
    if outcome == "dummy":
        assert code(world, OpenBetting(transaction="o")) == "dummy_coup_due"
    if outcome in {"carried", "dummy"}:
        first = CardCarriedOver(hand=P, number=1, face=EXCESS)
        plays_on(world, first=first, free=outcome == "dummy")
        assert (shoe_of(world).cards, excess_told(world), shoe_of(world).carried) == (10, 1, 1)
    else:
        world.say(ErrorCleared(code="draw_timeout"))
        plays_on(world)
        assert (shoe_of(world).cards, shoe_of(world).carried) == (11, 0)
    assert shoe_of(world).discarded == (outcome == "burned")


@MODES
@pytest.mark.parametrize("policy", ["burn", "void"])
def test_a_shoe_that_carries_a_card_over_against_the_policy_misaligns_and_counts_it_once(
    policy: str, disclosure: str
) -> None:
    world = overdrawn(CARRIED, disclosure, by_policy(policy))
    world.must(resolve(seen=False))
    world.open()
    world.close()
    face = EXCESS if disclosure == "immediate" else None
    world.say(CardCarriedOver(hand=P, number=1, face=face))
    assert misaligned_for(world) == "card_carried_over"
    enter = EnterCard(transaction="e", hand=P, number=1, face=EXCESS, reason="it lies there")
    world.must(enter)
    assert (shoe_of(world).cards, excess_told(world)) == (7, 1)


def test_in_a_squeeze_a_carried_card_is_dealt_faceless_and_disclosed_once() -> None:
    world = overdrawn(CARRIED, "deferred")
    world.must(resolve(seen=False))
    world.open()
    world.close()
    world.say(CardCarriedOver(hand=P, number=1))
    world.say(*(drawn(hand, number) for hand, number in ORDER[1:]))
    faces = ("4D", "2D", "5H", "3C")
    world.say(*(revealed(hand, n, f) for (hand, n), f in zip(ORDER, faces, strict=True)))
    world.say(DeviceResult(winner="player"))
    assert stands(world) is Phase.SETTLED
    assert (shoe_of(world).cards, excess_told(world), shoe_of(world).carried) == (10, 1, 1)


def test_in_a_squeeze_the_table_is_told_at_once_and_held_when_the_faces_are_known() -> None:
    world = world_in(Phase.CLOSED)
    world.say(*(drawn(hand, number) for hand, number in ORDER), OUTSIDE)
    assert stands(world) is Phase.DEALING
    assert "put it aside" in alarm_of(world, "excess_card")
    assert not any(isinstance(event, ExcessCardDrawn) for event in world.log)
    world.say(TAKEN_OUT)
    assert "taken it out of play" in alarm_of(world, "excess_card")
    faces = zip(ORDER, NATURAL_NINE, strict=True)
    *before, last = (revealed(hand, number, face) for (hand, number), face in faces)
    world.say(*before)
    assert stands(world) is Phase.DEALING
    world.say(last)
    assert stands(world) is Phase.HELD
    assert "say whether the table has seen it" in alarm_of(world, "excess_card")
    assert "4D" not in alarm_of(world, "excess_card")


def test_a_card_drawn_outside_that_was_due_by_our_table_does_not_settle() -> None:
    """Player's 5 draws: the shoe has thrown the third card out, or never meant it."""
    world = overdrawn(CARRIED, "deferred", CONTEXT, "2S", "7D", "3H", "QC")
    assert misaligned_for(world) == "excess_card_was_due"
    assert "player 3 was due" in world.state.coup.reason  # type: ignore[union-attr]  # it stands
    world.must(Realign(transaction="a", reason="no more cards came"))
    assert stands(world) is Phase.DEALING, "a card is still due: nothing is paid"
    world.say(DeviceResult(winner="player"))
    assert stands(world) is Phase.MISALIGNED


def test_a_card_drawn_outside_that_was_due_is_entered_at_its_place_and_counts_once() -> None:
    world = overdrawn(CARRIED, "deferred", CONTEXT, "2S", "7D", "3H", "QC")
    cards = shoe_of(world).cards
    world.must(EnterCard(transaction="e", hand=P, number=3, face=EXCESS, reason="it lies there"))
    assert (shoe_of(world).cards, excess_told(world), shoe_of(world).extra) == (cards, 1, None)
    world.must(Realign(transaction="a", reason="the cards were compared"))
    assert stands(world) is Phase.SETTLED, "9 against 7, and no card in excess is left"
    plays_on(world)


def test_a_face_that_is_known_tells_the_excess_card_from_one_that_was_due() -> None:
    """The card in excess is 4D; another one is entered, of which the shoe never told."""
    world = overdrawn(BURNED, "deferred", CONTEXT, "2S", "7D", "3H", "QC")
    cards = shoe_of(world).cards
    world.must(EnterCard(transaction="e", hand=P, number=3, face=Card.C4, reason="it lies there"))
    assert (shoe_of(world).cards, excess_told(world)) == (cards + 1, 1)
    world.must(Realign(transaction="a", reason="the cards were compared"))
    assert stands(world) is Phase.HELD, "the other card is still to be resolved"


def test_a_card_behind_one_drawn_outside_shows_that_the_deal_was_not_over() -> None:
    world = world_in(Phase.CLOSED)
    world.say(*(drawn(hand, number) for hand, number in ORDER), OUTSIDE, drawn(P, 3))
    assert misaligned_for(world) == "excess_card_was_due"


def test_a_card_drawn_outside_before_the_fourth_misaligns_at_once_in_a_squeeze_too() -> None:
    world = world_in(Phase.CLOSED)
    world.say(*(drawn(hand, number) for hand, number in ORDER[:3]), OUTSIDE)
    assert misaligned_for(world) == "card_out_of_game"


@MODES
def test_a_second_card_in_excess_misaligns(disclosure: str) -> None:
    world = overdrawn([*CARRIED, OUTSIDE], disclosure)
    assert stands(world) is Phase.MISALIGNED
    assert shoe_of(world).cards == 8


def test_a_card_in_excess_is_not_forgotten_by_a_coup_that_was_misaligned() -> None:
    for before in (True, False):
        world = world_in(Phase.COMPLETE)
        lost: list[AnyReport] = [LinkDown(reason="unplugged"), LinkOpen(transport="pty:x")]
        world.say(*([*lost, OUTSIDE] if before else [OUTSIDE, *lost]))
        world.must(Realign(transaction="a", reason="the cards were compared"))
        assert stands(world) is Phase.HELD
        world.must(resolve(seen=False))
        world.say(DeviceResult(winner="player"))
        assert stands(world) is Phase.SETTLED
        plays_on(world, first=CardCarriedOver(hand=P, number=1, face=EXCESS))


def test_a_card_drawn_outside_among_open_faces_is_vouched_for_by_the_person_who_realigns() -> None:
    world = world_in(Phase.DEALING)
    world.say(OUTSIDE)
    assert misaligned_for(world) == "card_out_of_game"
    world.must(Realign(transaction="a", reason="it fell out, and was put aside"))
    world.say(
        drawn(B, 1, "2D"), drawn(P, 2, "KH"), drawn(B, 2, "3C"), DeviceResult(winner="player")
    )
    assert stands(world) is Phase.SETTLED


def test_before_the_reveal_a_card_in_excess_closes_betting_and_is_judged_later() -> None:
    source = shipped_source("au-commission")
    source += b'\n[procedure]\nbetting_closes = "before_reveal"\n'
    context = DecisionContext(table="t1", rulebook=parse_rulebook("au-commission.toml", source))
    world = world_in(Phase.BETTING, context=context)
    world.say(*(drawn(hand, number) for hand, number in ORDER))
    assert stands(world) is Phase.BETTING
    world.say(*CARRIED)
    assert stands(world) is Phase.CLOSED
    faces = zip(ORDER, NATURAL_NINE, strict=True)
    world.say(*(revealed(hand, number, face) for (hand, number), face in faces))
    assert stands(world) is Phase.HELD


def test_an_unread_face_keeps_the_judgement_open_where_the_others_lie_open() -> None:
    world = world_in(Phase.CLOSED)
    world.deal("9S", "2D", "KH")
    world.say(drawn(B, 2), *CARRIED)  # a device that could not read it withholds the face
    assert stands(world) is Phase.DEALING
    world.must(EnterCard(transaction="e", hand=B, number=2, face=Card.C3, reason="by eye"))
    assert stands(world) is Phase.HELD


# ---- the shoe's own evidence, early and late ----


@MODES
def test_a_held_coup_shows_that_the_shoe_has_taken_the_card_out(disclosure: str) -> None:
    world = overdrawn(BURNED, disclosure)
    assert "taken it out of play: it is burned" in alarm_of(world, "excess_card")


@pytest.mark.parametrize(
    ("when", "seen"),
    [
        *(("complete", False), ("complete", True), ("settled", False), ("settled", True)),
        ("betting", False),  # seen, none opens before the dummy coup
    ],
)
def test_no_coup_waits_for_a_card_that_the_shoe_takes_out_after_the_decision(
    when: str, seen: bool
) -> None:
    world = world_in(Phase.HELD)
    world.must(resolve(seen=seen))
    if when != "complete":
        world.say(DeviceResult(winner="player"))
    if when == "betting":
        world.open()
    made = world.say(TAKEN_OUT)
    kinds = [event.kind for event in made if isinstance(event, IrregularityRecorded)]
    assert kinds == ["excess_card_mismatch"]
    assert "excess_card_mismatch" in [alarm.name for alarm in world.state.alarms]
    if when == "complete":
        world.say(DeviceResult(winner="player"))
    if when == "betting":
        world.must(VoidCoup(transaction="v", reason="test"))
    plays_on(world)
    assert (shoe_of(world).carried, shoe_of(world).discarded) == (0, 1)
    assert excess_told(world) == 1


def test_a_carried_card_whose_report_was_lost_is_entered_and_counts_once() -> None:
    world = overdrawn(CARRIED, "immediate")
    world.must(resolve(seen=False))
    cards = shoe_of(world).cards
    world.open()
    world.close()
    world.say(ReportLost(expected="1", got="3"), drawn(B, 1, "2D"))
    world.must(EnterCard(transaction="e", hand=P, number=1, face=EXCESS, reason="by eye"))
    assert (shoe_of(world).cards, excess_told(world)) == (cards + 1, 1)


def test_a_card_in_excess_whose_shoe_was_replaced_is_burned_whatever_the_policy() -> None:
    for seen in (False, True):
        world = overdrawn(CARRIED, "immediate")
        replaced: Command = ReplaceShoe(
            transaction="x", shoe="20261127-02", coup="continue", reason="jammed"
        )
        world.must(replaced)
        resolved, recorded, *_ = world.must(resolve(seen=seen))
        assert isinstance(resolved, ExcessCardResolved)
        assert resolved.outcome == "burned"
        assert isinstance(recorded, IrregularityRecorded)
        assert "its shoe 20261127-01 was replaced" in recorded.reason
        assert stands(world) is Phase.SETTLED
        plays_on(world)


def test_a_disclosure_that_contradicts_behind_an_overdraw_misaligns() -> None:
    world = world_in(Phase.CLOSED)
    world.say(*(drawn(hand, number) for hand, number in ORDER), *CARRIED)
    *_, last = world.say(revealed(P, 1, "9S"), revealed(P, 1, "8S"))
    assert isinstance(last, CoupMisaligned)
    assert last.reason == "disclosure_contradicts"
