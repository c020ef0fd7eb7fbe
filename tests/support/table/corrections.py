"""Random corrections of coups, lawful and not."""

import random
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from events.cards import Card, Hand
from events.commands import (
    Command,
    CorrectCard,
    CorrectHands,
    CorrectRulebook,
    CorrectWager,
    Refusal,
    VoidCoup,
    WagerRequest,
)
from events.types import TableEvent
from simulators.device.printed_rules import dealt_hands, next_place
from table_core.state.shoe import times_seen
from table_core.state.table import Coup
from tests.support.table.coups import World


def hands_of(row: Sequence[Card]) -> CorrectHands:
    """The coup that the first of six cards make; it is to be named."""
    dealt = next(count for count in range(4, 7) if next_place(row[:count]) is None)
    player, banker = dealt_hands(row[:dealt])
    return CorrectHands(transaction="", coup="", player=player, banker=banker, reason="r")


def correct_at_random(world: World, rng: random.Random, coup: Coup) -> list[TableEvent] | Refusal:
    """One correction of a coup, whatever comes of it."""
    make = rng.choice(_CORRECTIONS)
    command = make(world, rng, coup)
    before, events = world.state, len(world.log)
    made = world.ask(command)
    if isinstance(made, Refusal):
        assert world.state is before
        assert len(world.log) == events
    return made


def _card(world: World, rng: random.Random, coup: Coup) -> Command:
    hand, number = rng.choice(list(Hand)), rng.choice((1, 2, 3))
    return CorrectCard(
        transaction=world.transaction(),
        hand=hand,
        number=number,
        face=rng.choice(list(Card)),
        reason="r",
        coup=rng.choice((coup.id, coup.id, None)),
    )


def _hands(world: World, rng: random.Random, coup: Coup) -> Command:
    shoe = world.state.shoe
    assert shoe is not None
    left = [face for face in Card if times_seen(shoe, face) < shoe.decks] or list(Card)
    few = rng.sample(left, min(len(left), 4))  # pairs are often among them
    faces = rng.choice((left, few))
    hands = hands_of([rng.choice(faces) for _ in range(6)])
    return replace(hands, transaction=world.transaction(), coup=coup.id)


def _wager(world: World, rng: random.Random, coup: Coup) -> Command:
    wager = rng.choice((*coup.wagers, None)) if coup.wagers else None
    bets = list(world.context.rulebook.bets)
    to = WagerRequest(
        seat=rng.randint(1, 5),
        bet=rng.choice(bets),
        stake=rng.randint(1, 60) * world.context.rulebook.unit,
        kind=rng.choice(("chips", "chips", "promo", "toke")),
        patron=rng.choice((None, "p-1")),
    )
    return CorrectWager(
        transaction=world.transaction(),
        coup=coup.id,
        wager=wager,
        to=rng.choice((to, to, None)),
        reason="r",
    )


def _rulebook(world: World, rng: random.Random, coup: Coup) -> Command:
    book = rng.choice((world.context.rulebook, *world.context.library))
    return CorrectRulebook(
        transaction=world.transaction(),
        coup=coup.id,
        rulebook=book.id,
        rulebook_hash=book.hash,
        reason="r",
    )


def _void(world: World, _: random.Random, coup: Coup) -> Command:
    return VoidCoup(transaction=world.transaction(), coup=coup.id, reason="r")


_CORRECTIONS: Final[tuple[Callable[[World, random.Random, Coup], Command], ...]] = (
    _card,
    _hands,
    _hands,
    _wager,
    _wager,
    _rulebook,
    _void,
)
