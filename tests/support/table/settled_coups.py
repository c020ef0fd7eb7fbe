"""Coups that were settled, and the commands that correct them, for the tests of corrections."""

from events.cards import Card, Hand
from events.commands import CorrectCard, CorrectHands, CorrectRulebook, CorrectWager, WagerRequest
from events.types import CommissionEvent, DeviceResult, ShoeLoaded
from table_core.decide.decision import DecisionContext
from table_core.fold.dispatch import fold_all
from table_core.rules.rulebook import Rulebook
from table_core.state.coup import Phase
from table_core.state.table import TableState
from tests.support.table.coups import CONTEXT, COUP, SHOE, World, cards, drawn

P, B = Hand.PLAYER, Hand.BANKER
PLAYER, BANKER = cards("9S KH"), cards("2D 3C")


def played(
    context: DecisionContext = CONTEXT,
    *,
    player: tuple[Card, ...] = PLAYER,
    banker: tuple[Card, ...] = BANKER,
    bets: tuple[tuple[int, str, int], ...] = ((1, "player", 1000), (2, "banker", 2000)),
    world: World | None = None,
) -> World:
    """A table on which a coup with these hands was settled."""
    if world is None:
        world = World(context)
        world.ready()
    world.open()
    if bets:
        world.bet(*bets)
    world.close()
    deal(world, player, banker)
    assert world.state.phase is Phase.SETTLED
    return world


def deal(world: World, player: tuple[Card, ...], banker: tuple[Card, ...]) -> None:
    world.deal(*(card.value for card in (player[0], banker[0], player[1], banker[1])))
    for hand, its in ((P, player), (B, banker)):
        world.say(*(drawn(hand, 3, card.value) for card in its[2:]))
    coup = world.state.coup
    assert coup is not None
    if coup.completed is not None and world.state.phase is Phase.COMPLETE:
        world.say(
            DeviceResult(
                winner=coup.completed.winner.value,
                player_pair=player[0].rank == player[1].rank,
                banker_pair=banker[0].rank == banker[1].rank,
            )
        )


def hands(player: str, banker: str, coup: str = COUP, *, transaction: str = "h") -> CorrectHands:
    player_, banker_ = cards(player), cards(banker)
    return CorrectHands(
        transaction=transaction, coup=coup, player=player_, banker=banker_, reason="camera 4"
    )


def face(hand: Hand, number: int, card: Card, coup: str | None = COUP) -> CorrectCard:
    return CorrectCard(
        transaction="f", hand=hand, number=number, face=card, reason="camera 4", coup=coup
    )


def wager(to: WagerRequest | None, name: str | None = None, coup: str = COUP) -> CorrectWager:
    return CorrectWager(transaction="w", coup=coup, wager=name, to=to, reason="the slip says so")


def other(rulebook: Rulebook, coup: str = COUP) -> CorrectRulebook:
    return CorrectRulebook(
        transaction="r",
        coup=coup,
        rulebook=rulebook.id,
        rulebook_hash=rulebook.hash,
        reason="the sign said even money",
    )


def recalled(world: World, shoe: str = SHOE) -> TableState:
    """The table as it left a shoe: what a shell reads from the log for the decision."""
    state, there = TableState(), False
    for event in world.log:
        if isinstance(event, ShoeLoaded):
            there = event.shoe == shoe
        if isinstance(event, CommissionEvent):
            continue
        if there or str(getattr(event, "coup", None)).startswith(f"{shoe}/"):
            state = fold_all(state, [event])
    return state
