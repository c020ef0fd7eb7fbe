"""The simulated dealer against the printed charts, and against the exact count of all deals."""

from itertools import product
from math import prod

import pytest

from events.cards import Card, Hand, Winner, parse_card
from events.errors import InputError
from simulators.device.printed_rules import PrintedPlace, banker_draws, next_place, outcome

# Seed 2, "Banker's hand", and seed 3, "Rules: Banker", as they are printed: what Banker draws to.
BANKER_DRAWS_SEED_2 = {
    3: {0, 1, 2, 3, 4, 5, 6, 7, 9},
    4: {2, 3, 4, 5, 6, 7},
    5: {4, 5, 6, 7},
    6: {6, 7},
    7: set(),
}
# Seed 3 writes 10 for a card that is worth nothing.
BANKER_STANDS_SEED_3 = {
    3: {8},
    4: {1, 8, 9, 10},
    5: {1, 2, 3, 8, 9, 10},
    6: {1, 2, 3, 4, 5, 8, 9, 10},
}
BY_POINTS = {
    0: "KS",
    1: "AS",
    2: "2S",
    3: "3S",
    4: "4S",
    5: "5S",
    6: "6S",
    7: "7S",
    8: "8S",
    9: "9S",
}


def _cards(text: str) -> list[Card]:
    return [parse_card(card) for card in text.split()]


def _hands(player: int, banker: int, third: int | None = None) -> list[Card]:
    """Cards in dealing order: each hand an ace-less pair worth its total, then Player's third."""
    texts = ["KS", "KH", BY_POINTS[player], BY_POINTS[banker]]
    texts += [] if third is None else [BY_POINTS[third]]
    return _cards(" ".join(texts))


@pytest.mark.parametrize("third", range(10))
@pytest.mark.parametrize("banker", range(8))
def test_banker_draws_by_the_chart_of_seed_2(banker: int, third: int) -> None:
    expected = True if banker <= 2 else third in BANKER_DRAWS_SEED_2[banker]
    assert banker_draws(banker, third) is expected


@pytest.mark.parametrize("third", range(1, 11))
@pytest.mark.parametrize("banker", BANKER_STANDS_SEED_3)
def test_banker_stands_by_the_chart_of_seed_3(banker: int, third: int) -> None:
    assert banker_draws(banker, third % 10) is (third not in BANKER_STANDS_SEED_3[banker])


@pytest.mark.parametrize(("player", "banker"), list(product(range(10), range(10))))
def test_what_follows_the_initial_deal(player: int, banker: int) -> None:
    place = next_place(_hands(player, banker))
    if player >= 8 or banker >= 8:
        assert place is None  # seed 2: 'a "Natural" and no more cards are dealt'
    elif player <= 5:
        assert place == PrintedPlace(Hand.PLAYER, 3)
    elif banker <= 5:  # seed 3: Player stands on 6 or 7, Banker draws on 0-5
        assert place == PrintedPlace(Hand.BANKER, 3)
    else:
        assert place is None


def test_the_initial_deal_goes_player_banker_player_banker() -> None:
    cards = _cards("2S 3H 2D")
    order = [next_place(cards[:dealt]) for dealt in range(4)]
    assert order == [
        PrintedPlace(Hand.PLAYER, 1),
        PrintedPlace(Hand.BANKER, 1),
        PrintedPlace(Hand.PLAYER, 2),
        PrintedPlace(Hand.BANKER, 2),
    ]


@pytest.mark.sweep
def test_all_deals_of_eight_decks_come_out_as_the_known_counts() -> None:
    """Every ordered deal of six cards from 416, by points: 32 of each of 1-9, 128 worth nothing.

    A hand's first two cards may change places without changing the coup: counted once, twice.
    """
    faces = {value: parse_card(text) for value, text in BY_POINTS.items()}
    left = {0: 128} | dict.fromkeys(range(1, 10), 32)
    counts = dict.fromkeys(Winner, 0)

    def deal(cards: list[Card], ways: int) -> None:
        if next_place(cards) is None:
            unseen = prod(range(416 - 5, 416 - len(cards) + 1))
            counts[outcome(cards).winner] += ways * unseen
            return
        for value, face in faces.items():
            if len(cards) in {2, 3} and value < cards[-2].points:
                continue
            twice = 2 if len(cards) in {2, 3} and value > cards[-2].points else 1
            here = left[value]
            left[value] -= 1
            deal([*cards, face], ways * here * twice)
            left[value] += 1

    deal([], 1)
    assert counts == {
        Winner.PLAYER: 2_230_518_282_592_256,
        Winner.BANKER: 2_292_252_566_437_888,
        Winner.TIE: 475_627_426_473_216,
    }


@pytest.mark.parametrize(
    ("cards", "winner", "totals", "marks"),
    [
        ("9S 2D KH 3C", "player", (9, 5), "natural"),
        ("8S 8D QD QS", "tie", (8, 8), "natural"),
        ("7S 7D TH TC", "tie", (7, 7), ""),
        ("3S 3D 3H 3C", "tie", (6, 6), "player_pair banker_pair"),
        ("KS 4D KH 2C AS", "banker", (1, 6), "player_pair banker_six"),
        ("KS QD 2H QC 3D 6H", "banker", (5, 6), "banker_pair banker_six"),
        ("KS KD 2H 6C 6H 9D", "player", (8, 5), ""),
        ("7S 2D KH 3C 4H", "banker", (7, 9), ""),
        ("TS 5D JS 5C 6D 6H", "tie", (6, 6), "banker_pair"),  # T and J: no pair by points
    ],
)
def test_a_coup_is_called(cards: str, winner: str, totals: tuple[int, int], marks: str) -> None:
    called = outcome(_cards(cards))
    assert called.winner is Winner(winner)
    assert (called.player_total, called.banker_total) == totals
    possible = ("natural", "player_pair", "banker_pair", "banker_six")
    assert [mark for mark in possible if getattr(called, mark)] == marks.split()


@pytest.mark.parametrize("cards", ["", "9S 2D KH", "2S 3D 2D 3S"])
def test_an_unfinished_coup_is_not_called(cards: str) -> None:
    with pytest.raises(InputError, match="not finished"):
        outcome(_cards(cards))


def test_a_card_too_many_is_refused() -> None:
    with pytest.raises(InputError, match="end this coup earlier"):
        outcome(_cards("9S 2D KH 3C 4D"))
