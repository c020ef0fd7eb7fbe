"""What the dealer is advised: never what the table would refuse, whatever state it is in."""

import random
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from events.cards import Card, Hand
from events.commands import (
    AcknowledgeCorrection,
    Burn,
    CallSupervisor,
    CloseBetting,
    CollectCommission,
    Command,
    ConfirmResult,
    EndShoe,
    EnterCard,
    FreeHand,
    LoadShoe,
    MarkUnreadable,
    OpenBetting,
    PlaceWager,
    Realign,
    Refusal,
    ResolveIrregularity,
    TakeTable,
    VoidCoup,
    WagerRequest,
)
from events.types import TableEvent
from simulators.shoe.dealing import next_shoe_id
from table_core.decide.available_commands import current_refusals
from table_core.decide.decision import DecisionContext
from table_core.decide.dispatch import decide
from table_core.state.coup import OVER, Phase
from table_core.state.dealing import due_places
from table_core.state.shoe import times_seen
from table_core.state.table import TableState
from table_core.texts.advice import ADVICE, Advice, advise
from tests.support.table.coups import CONTEXT, SHOE, World, world_in
from tests.support.table.money_game import BOOKS, Game, random_coup

STATES = tuple(phase for phase in Phase if phase is not Phase.CONFIRMED)
STOPS = {Phase.DISPUTED, Phase.HELD, Phase.MISALIGNED}
COUPS = 8  # of each rulebook
T = "advised"


def whole(name: str, state: TableState, context: DecisionContext) -> Command:
    """A complete command of this name, as a sensible person would give it now."""
    coup, shoe = state.coup, state.shoe
    if name == "place_wager":
        bet = next(bet for bet in context.rulebook.bets.values() if bet.id == "player")
        stake = -(-bet.minimum // bet.step) * bet.step
        return PlaceWager(transaction=T, wagers=(WagerRequest(seat=99, bet="player", stake=stake),))
    if name == "load_shoe":
        new = next_shoe_id(shoe.id) if shoe else SHOE
        return LoadShoe(transaction=T, shoe=new, decks=context.rulebook.decks)
    if name == "acknowledge_correction":
        entry = next(each for each in state.to_move if each.due)
        return AcknowledgeCorrection(transaction=T, coup=entry.coup, settlements=entry.settlements)
    if name in {"enter_card", "mark_unreadable"}:
        assert coup is not None
        assert shoe is not None
        places = [(d.hand, d.number) for d in coup.cards if (d.card is None) == (name[0] == "e")]
        hand, number = [*places, *((due.hand, due.number) for due in due_places(coup))][0]
        if name == "mark_unreadable":
            return MarkUnreadable(transaction=T, hand=hand, number=number, reason="r")
        face = next(card for card in Card if times_seen(shoe, card) < shoe.decks)
        return EnterCard(transaction=T, hand=hand, number=number, face=face, reason="r")
    made: dict[str, Command] = {
        "open_betting": OpenBetting(transaction=T),
        "free_hand": FreeHand(transaction=T),
        "close_betting": CloseBetting(transaction=T),
        "end_shoe": EndShoe(transaction=T),
        "burn": Burn(transaction=T, cards=3, reason="r"),
        "collect_commission": CollectCommission(transaction=T),
        "call_supervisor": CallSupervisor(transaction=T),
        "confirm_result": ConfirmResult(transaction=T, reason="r"),
        "void_coup": VoidCoup(transaction=T, reason="r"),
        "take_table": TakeTable(transaction=T),
        "realign": Realign(transaction=T, reason="r"),
        "resolve_irregularity": ResolveIrregularity(
            transaction=T, kind="excess_card", seen=True, reason="r"
        ),
    }
    return made[name]


def check(state: TableState, context: DecisionContext) -> Advice:
    """Hold the advice against what the table decides."""
    advice = advise(state, current_refusals(state, context))
    assert set(advice.lines) <= ADVICE
    assert advice.stop is (state.phase in STOPS)
    for name in advice.commands:
        decision = decide(state, whole(name, state, context), replace(context, user="dealer"))
        assert not isinstance(decision, Refusal), (name, state.phase, decision)
    for line in advice.lines:
        command = line.removeprefix("advice.")
        if command in {"open_betting", "load_shoe", "end_shoe", "free_hand", "close_betting"}:
            assert command in advice.commands, line
    return advice


class Watched(World):
    """A table whose every state is looked at."""

    def take(self, events: Sequence[TableEvent]) -> list[TableEvent]:
        made = super().take(events)
        check(self.state, self.context)
        return made


@pytest.mark.parametrize("phase", STATES)
def test_what_is_advised_in_a_phase_is_accepted_then(phase: Phase) -> None:
    advice = check(world_in(phase).state, CONTEXT)
    assert advice.lines
    assert ("advice.open_betting" in advice.lines) is (phase in OVER)


@pytest.mark.parametrize("name", BOOKS)
def test_what_is_advised_is_accepted_in_every_state_of_a_game(name: str) -> None:
    game = Game(BOOKS[name](), seed=7, world=Watched)
    rng = random.Random(f"advice/{name}")
    for _ in range(COUPS):
        game.play(random_coup(rng))


def test_after_the_shoe_was_ended_nothing_is_to_be_paid_any_more() -> None:
    world = world_in(Phase.SETTLED)
    assert "advice.pay" in check(world.state, world.context).lines
    world.must(EndShoe(transaction="e", reason="worn"))
    advice = check(world.state, world.context)
    assert (advice.lines, advice.commands) == (("advice.load_shoe",), ("load_shoe",))


def test_where_dealers_have_accounts_nobody_is_advised_to_begin_without_one() -> None:
    context = replace(CONTEXT, dealers=frozenset({"dealer"}))
    advice = check(world_in(Phase.NONE).state, context)
    assert (advice.lines[0], advice.commands[0]) == ("advice.take_table", "take_table")


def test_a_known_natural_asks_for_no_third_card() -> None:
    world = world_in(Phase.COMPLETE)
    world.must(MarkUnreadable(transaction="m", hand=Hand.BANKER, number=2, reason="smudged"))
    assert check(world.state, world.context).lines == ("advice.enter_card",)
