"""What follows from the cards, in full: by whom a result is confirmed, and what people are told."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from events.cards import Card, Hand
from events.commands.cards import EnterCard
from events.types.shoe_reports import CardOutOfGame, CardUnreadable, DeviceResult
from events.types.table import AlarmRaised, CoupSettled, ResultConfirmed, ResultDisputed, TableEvent
from table_core.decide.coup_resolution import settle_or_hold
from table_core.decide.decision import DecisionBuilder
from table_core.rulebooks.shipped import load_rulebook
from table_core.state.coup import Phase
from tests.support.table.coups import CONTEXT, COUP, NATURAL_NINE, World, drawn, revealed, world_in

OUTSIDE = CardOutOfGame(reason="drawn_outside_game")
P, B = Hand.PLAYER, Hand.BANKER


def confirmed(events: Sequence[TableEvent]) -> list[str]:
    return [event.by for event in events if isinstance(event, ResultConfirmed)]


def test_the_shoes_own_result_confirms_where_it_is_waited_for() -> None:
    world = world_in(Phase.COMPLETE)
    assert confirmed(world.log) == []
    assert confirmed(world.say(DeviceResult(winner="player"))) == ["device"]


def test_the_last_card_confirms_where_no_result_is_waited_for() -> None:
    world = world_in(Phase.CLOSED, context=replace(CONTEXT, result_required=False))
    assert confirmed(world.deal(*NATURAL_NINE)) == ["last_card"]
    assert world.state.phase is Phase.SETTLED


@pytest.mark.parametrize("winner", ["player", "banker"])
def test_a_result_that_nobody_waits_for_is_not_asked_when_a_face_is_entered(winner: str) -> None:
    world = world_in(Phase.CLOSED, context=replace(CONTEXT, result_required=False))
    world.deal(*NATURAL_NINE[:3])
    world.say(CardUnreadable(hand=B, number=2), DeviceResult(winner=winner))
    entered = EnterCard(
        transaction=world.transaction(), hand=B, number=2, face=Card.C3, reason="it lies there"
    )
    made = world.must(entered)
    assert confirmed(made) == ["last_card"]
    assert len([event for event in made if isinstance(event, CoupSettled)]) == 1
    assert world.state.phase is Phase.SETTLED


# Player 9S KH, Banker 2D 3C: no pair, no six. What the shoe says -> what is said of it.
SAID = [
    (
        DeviceResult(winner="tie", player_pair=True, banker_pair=True, banker_six=True),
        (
            "winner: the table says player, the shoe tie; "
            "Player pair: the table says no, the shoe yes; "
            "Banker pair: the table says no, the shoe yes; "
            "Banker with six: the table says no, the shoe yes"
        ),
    ),
    (
        DeviceResult(winner="player", player_pair=True),
        "Player pair: the table says no, the shoe yes",
    ),
    (
        DeviceResult(winner="player", banker_pair=True),
        "Banker pair: the table says no, the shoe yes",
    ),
    (DeviceResult(winner="banker"), "winner: the table says player, the shoe banker"),
]


@pytest.mark.parametrize(("report", "detail"), SAID)
def test_a_dispute_says_all_that_differs(report: DeviceResult, detail: str) -> None:
    (disputed,) = (
        event for event in world_in(Phase.COMPLETE).say(report) if isinstance(event, ResultDisputed)
    )
    assert disputed.detail == detail
    assert (disputed.ours.value, disputed.device) == ("player", report.winner)


# cards, who wins, whether the shoe says that Banker won with a six -> whether that is disputed
SIXES = """
3D AC 2C 5H KH | banker | no  -> no    plain Banker: the shoe does not tell a six apart
3D AC 2C 5H KH | banker | yes -> no    Banker wins with 6
2H 7D KS KC AH | banker | yes -> yes   Banker wins with 7
6H 6D KS KC    | tie    | yes -> yes   6 each
9H 6D KS KC    | player | yes -> yes   Banker loses with 6
9H 6D KS KC    | player | no  -> no
"""


@pytest.mark.parametrize("line", SIXES.strip().splitlines())
def test_a_six_of_the_shoes_is_a_winning_six_or_disputed(line: str) -> None:
    case, _, expected = line.partition("->")
    dealt, winner, six = (part.strip() for part in case.split("|"))
    world = world_in(Phase.CLOSED)
    places = ((P, 1), (B, 1), (P, 2), (B, 2), (P, 3))
    world.say(*(drawn(*at, card) for at, card in zip(places, dealt.split(), strict=False)))
    assert world.state.phase is Phase.COMPLETE
    made = world.say(DeviceResult(winner=winner, banker_six=six == "yes"))
    said = [event.detail for event in made if isinstance(event, ResultDisputed)]
    disputed = expected.split()[0] == "yes"
    assert said == ["Banker with six: the table says no, the shoe yes"] * disputed


def first_settled(world: World) -> list[int]:
    events = (event for event in world.log if isinstance(event, CoupSettled))
    return [event.settlement.phase for event in events]


def test_pairs_are_paid_when_the_first_four_faces_are_known_and_a_third_lies_face_down() -> None:
    rulebook = load_rulebook("nz-scale-one")  # it settles in two phases
    world = world_in(Phase.NONE, context=replace(CONTEXT, rulebook=rulebook))
    world.open()
    world.bet((1, "player", 1000), (1, "perfect_pairs", 500))
    world.close()
    faces = [(P, 1, "2S"), (B, 1, "4D"), (P, 2, "2H"), (B, 2, "KC")]
    world.say(*(drawn(hand, number) for hand, number, _ in faces), drawn(P, 3))
    for hand, number, face in faces:
        assert first_settled(world) == []
        world.say(revealed(hand, number, face))
    assert first_settled(world) == [1]
    assert world.state.phase is Phase.DEALING


def alarms(world: World, *reports: CardOutOfGame) -> list[str]:
    made = world.say(*reports)
    return [event.text for event in made if isinstance(event, AlarmRaised)]


def test_a_card_drawn_behind_a_complete_deal_asks_whether_it_was_seen() -> None:
    assert alarms(world_in(Phase.COMPLETE), OUTSIDE) == [
        f"coup {COUP}: a card was drawn outside the game; say whether the table has seen it"
    ]


def test_a_card_drawn_while_faces_are_withheld_is_put_aside_until_they_are_known() -> None:
    world = world_in(Phase.CLOSED)
    world.say(*(drawn(hand, number) for hand, number in ((P, 1), (B, 1), (P, 2), (B, 2))))
    assert alarms(world, OUTSIDE) == [
        (
            f"coup {COUP}: a card was drawn outside the game; "
            "put it aside; when the faces are known it is judged whether one was due"
        )
    ]


@pytest.mark.parametrize(
    "phase",
    [Phase.CLOSED, Phase.DEALING, Phase.DISPUTED, Phase.HELD, Phase.MISALIGNED, Phase.SETTLED],
)
@pytest.mark.parametrize("required", [True, False])
def test_only_a_complete_deal_is_concluded(phase: Phase, required: bool) -> None:
    context = replace(CONTEXT, result_required=required)
    draft = DecisionBuilder(world_in(phase).state)
    settle_or_hold(draft, context)
    assert draft.events == []
