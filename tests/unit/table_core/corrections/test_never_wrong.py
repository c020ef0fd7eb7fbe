"""A table that was put right stands as one on which nothing was ever wrong."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from events.cards import Card
from events.commands import CollectCommission, CorrectHands, CorrectWager, WagerRequest
from events.types import SettlementLine
from table_core.decide.decision import DecisionContext
from table_core.state.table import Coup
from tests.support.table.corrections import hands_of
from tests.support.table.coups import SHOE, World
from tests.support.table.money_game import BOOKS
from tests.support.table.settled_coups import deal

BOOKS_TRIED = ("au-commission", "mini-lucky8", "pairs first", "per_shoe", "prepaid pairs", "capped")


def play(world: World, coup: CorrectHands, wagers: list[WagerRequest]) -> None:
    """A coup with these cards, and as many of the wagers as the rulebook takes."""
    world.open()
    for wager in wagers:
        world.bet((wager.seat, wager.bet, wager.stake))
    world.close()
    deal(world, coup.player, coup.banker)
    assert not world.state.in_progress


def standing(coup: Coup) -> dict[int, tuple[tuple[object, ...], ...]]:
    """What became of each wager, whatever its id."""

    def said(line: SettlementLine) -> tuple[object, ...]:
        return line.seat, line.bet, line.stake, line.category, line.winnings, line.paid

    return {each.phase: tuple(map(said, each.lines)) for each in coup.settlements if each.lines}


@pytest.mark.parametrize("name", BOOKS_TRIED)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), coups=st.integers(1, 6), collected=st.booleans())
def test_a_corrected_table_stands_as_one_that_was_never_wrong(
    name: str, seed: int, coups: int, collected: bool
) -> None:
    rng = random.Random(seed)
    rulebook = BOOKS[name]()
    correct_screen, never_wrong = (
        World(DecisionContext(table="t1", rulebook=rulebook)) for _ in range(2)
    )
    side = next(bet for bet in ("lucky8_player", "tiger_pair", "tie") if bet in rulebook.bets)
    for world in (correct_screen, never_wrong):
        world.ready()
    wrong = rng.randint(1, coups)
    shoe = rng.sample(list(Card), 8) * 7  # few faces make pairs; one copy may be burned
    rng.shuffle(shoe)
    right_hands = [hands_of([shoe.pop() for _ in range(6)]) for _ in range(coups)]
    for number, right in enumerate(right_hands, start=1):
        asked = [
            WagerRequest(seat=seat, bet=bet, stake=rng.randint(1, 9) * 60)
            for seat, bet in ((1, "player"), (1, side), (2, "banker"), (3, "player"))
        ]
        play(never_wrong, right, asked)
        if number != wrong:
            play(correct_screen, right, asked)
            continue
        dealt = hands_of([shoe.pop() for _ in range(6)])
        entered = [replace(asked[0], stake=60), asked[1], replace(asked[2], bet="tie"), asked[3]]
        play(correct_screen, dealt, entered)
        mistaken = asked
    if collected:
        correct_screen.ask(CollectCommission(transaction="paid"))
        never_wrong.ask(CollectCommission(transaction="paid"))
    coup = next(each for each in correct_screen.state.past if each.id == f"{SHOE}/{wrong}")
    steps: list[CorrectHands | CorrectWager] = [
        replace(right_hands[wrong - 1], transaction="h", coup=coup.id),
        *(
            CorrectWager(transaction="w", coup=coup.id, wager=name, to=to, reason="r")
            for name, to in zip(coup.wagers, mistaken, strict=True)
        ),
    ]
    rng.shuffle(steps)
    for step in steps:
        correct_screen.ask(step)  # what was right already is refused, and changes nothing
    ours, theirs = correct_screen.state, never_wrong.state
    assert ours.totals == theirs.totals
    assert [standing(coup) for coup in ours.past] == [standing(coup) for coup in theirs.past]
    assert ours.shoe is not None
    assert theirs.shoe is not None
    assert ours.shoe.roads == theirs.shoe.roads
    assert (ours.shoe.cards, ours.shoe.coups) == (theirs.shoe.cards, theirs.shoe.coups)
    assert _faces(ours.shoe.order) == _faces(theirs.shoe.order)
    assert ours.commission.reconciles
    net = ours.commission.accrued - ours.commission.reversed_
    assert net == theirs.commission.accrued
    assert ours.commission.laid == theirs.commission.laid == ()


def _faces(order: str) -> Counter[str]:
    return Counter(order[at : at + 2] for at in range(0, len(order), 2))
