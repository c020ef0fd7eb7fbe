"""Random corrections of coups, lawful and not, and what each must come to: judged from scratch."""

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
from events.types import CoupSettled, CoupVoided, Settlement, TableEvent
from simulators.device.printed_rules import next_place
from table_core.roads.columns import Roads, bead_of
from table_core.rules.draw import deal_cards, judge_hands
from table_core.rules.settlement import settle
from table_core.state.coup import Phase
from table_core.state.shoe import times_seen
from table_core.state.table import Coup, TableState
from tests.support.table.coups import World

_TWO: Final = 2


def dealt_hands(cards: Sequence[Card]) -> tuple[tuple[Card, ...], tuple[Card, ...]] | None:
    """A row of cards dealt by the independent dealer, as far as it goes; None when it runs out."""
    hands: dict[Hand, tuple[Card, ...]] = {Hand.PLAYER: (), Hand.BANKER: ()}
    taken: list[Card] = []
    while (place := next_place(taken)) is not None:
        if len(taken) == len(cards):
            return None
        card = cards[len(taken)]
        taken.append(card)
        hands[place.hand] = (*hands[place.hand], card)
    return hands[Hand.PLAYER], hands[Hand.BANKER]


def random_hands(rng: random.Random, faces: Sequence[Card] = tuple(Card)) -> CorrectHands:
    """A possible coup of these faces; its coup is to be named."""
    hands = dealt_hands([rng.choice(faces) for _ in range(6)])
    assert hands is not None
    return CorrectHands(transaction="", coup="", player=hands[0], banker=hands[1], reason="r")


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
    hands = random_hands(rng, rng.choice((left, few)))
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
        wager=wager.id if wager else None,
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


def check_past(world: World, state: TableState | None = None) -> None:
    """Every coup of a shoe stands as if it had been right from the first.

    Args:
        world: with the whole log.
        state: the table as it left the shoe; None for the one on the table.
    """
    state, roads = state or world.state, Roads()
    standing: dict[str, dict[int, Settlement]] = {}
    voided = {event.coup for event in world.log if isinstance(event, CoupVoided)}
    for event in world.log:
        if isinstance(event, CoupSettled):
            standing.setdefault(event.coup, {})[event.settlement.phase] = event.settlement
    for coup in state.past:
        assert coup.id in voided or coup.phase is Phase.SETTLED
        _check_coup(world, coup, standing.get(coup.id, {}))
        if coup.phase is Phase.SETTLED:
            roads = roads.add(bead_of(judge_hands(*_faces(coup))))
    assert state.shoe is not None
    assert state.shoe.roads == roads
    last = state.coup
    if (
        last is not None
        and state.past
        and not state.in_progress
        and last.id.startswith(f"{state.shoe.id}/")
    ):
        assert state.past.back(1).settlements == last.settlements
        assert state.past.back(1).wagers == last.wagers
        assert state.past.back(1).phase is last.phase


def _check_coup(world: World, coup: Coup, standing: dict[int, Settlement]) -> None:
    """The settlements in force, by the events alone, against the cards and wagers on record."""
    assert {each.phase: each for each in coup.settlements} == standing
    if coup.phase is Phase.VOIDED:
        return
    books = {book.hash: book for book in (world.context.rulebook, *world.context.library)}
    rulebook, (player, banker) = books[coup.rulebook_hash], _faces(coup)
    assert dealt_hands([card for card in _row(coup) if card]) == (player, banker)
    outcome = deal_cards([card for card in _row(coup) if card])
    assert not isinstance(outcome, str)
    for phase in (1, 2):
        lines = settle(rulebook, outcome, coup.wagers, phase=phase)
        if phase in standing:
            assert standing[phase].lines == lines
            assert standing[phase].player == (player if phase == _TWO else player[:_TWO])
            assert standing[phase].rulebook_hash == rulebook.hash
        else:
            assert lines == ()
    assert standing[2].winner is outcome.winner


def _faces(coup: Coup) -> tuple[tuple[Card, ...], tuple[Card, ...]]:
    player, banker = (tuple(dealt.card for dealt in coup.hand(hand) if dealt.card) for hand in Hand)
    return player, banker


def _row(coup: Coup) -> list[Card | None]:
    """The cards in dealing order, whenever they became known."""
    place = {(Hand.PLAYER, 1): 0, (Hand.BANKER, 1): 1, (Hand.PLAYER, 2): 2, (Hand.BANKER, 2): 3}
    thirds = {Hand.PLAYER: 4, Hand.BANKER: 5}
    return [
        dealt.card
        for dealt in sorted(
            coup.cards, key=lambda dealt: place.get((dealt.hand, dealt.number), thirds[dealt.hand])
        )
    ]
