"""The 52 faces: how they are written, read and counted."""

import re
from itertools import product

import pytest

from events.cards import POINTS, RANKS, SUITS, Card, parse_card, total
from events.errors import InputError


def test_a_pack_has_each_rank_in_each_suit_once() -> None:
    assert (RANKS, SUITS) == ("A23456789TJQK", "SHDC")
    written = [str(card) for card in Card]
    assert sorted(written) == sorted(rank + suit for rank, suit in product(RANKS, SUITS))
    assert all((card.rank + card.suit, card.text) == (card.value, card.value) for card in Card)


def test_an_ace_counts_one_pips_count_themselves_and_ten_and_courts_nothing() -> None:
    figures = {str(pips): pips for pips in range(2, 10)}
    assert {"A": 1, **figures, "T": 0, "J": 0, "Q": 0, "K": 0} == POINTS
    assert all(card.points == POINTS[card.rank] for card in Card)
    assert total([Card.S7, Card.H8]) == 5  # seed 2: "a hand totaling 15 becomes 5"
    assert (total([]), total([Card.SK, Card.DT]), total([Card.S9, Card.CA])) == (0, 0, 0)


@pytest.mark.parametrize("card", Card)
def test_a_face_is_read_as_it_is_written_and_as_people_write_it(card: Card) -> None:
    assert parse_card(card.value) is card
    assert parse_card(f" {card.value.lower()} ") is card


def test_a_ten_may_be_written_in_figures_and_nothing_else_may() -> None:
    assert [parse_card(f"10{suit}") for suit in "SHDC"] == [Card.ST, Card.HT, Card.DT, Card.CT]


@pytest.mark.parametrize("text", ["", "9", "D", "D9", "1S", "11S", "109S", "9X", "XS", "9D9D"])
def test_what_is_no_face_is_refused_with_how_to_write_one(text: str) -> None:
    words = re.escape(f"{text!r} is not a card; write rank then suit, such as 9D, TH or 10H")
    with pytest.raises(InputError, match=words):
        parse_card(text)
