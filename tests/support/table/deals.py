"""Deals for the tests of the rules: written as text, made by Hypothesis, and all there are."""

import math
from collections.abc import Iterator

from hypothesis import strategies as st

from events.cards import Card, Hand, parse_card
from events.types import Wager
from table_core.rules.draw import Outcome, deal_cards, hand_due, judge_hands

SHOE_OF_8 = [card for card in Card for _ in range(8)]
BY_POINTS = [parse_card(face) for face in ("TS", *(f"{n}S" for n in "A23456789"))]


def cards(text: str) -> tuple[Card, ...]:
    """`9H 2D 8S`, as cards."""
    return tuple(parse_card(face) for face in text.replace(",", " ").split())


def outcome(text: str) -> Outcome:
    """The coup of these cards in dealing order."""
    judged = deal_cards(cards(text))
    assert isinstance(judged, Outcome), f"{text}: {judged}"
    return judged


def trimmed(row: list[Card]) -> tuple[Card, ...]:
    """The first cards of `row`, as many as make a coup."""
    player: list[Card] = []
    banker: list[Card] = []
    for number, card in enumerate(row):
        hand, _ = hand_due(player, banker)
        if hand is None:
            return tuple(row[:number])
        (player if hand is Hand.PLAYER else banker).append(card)
    return tuple(row)


coups = st.lists(st.sampled_from(SHOE_OF_8), min_size=6, max_size=6).map(trimmed)
"""The cards of complete coups, in dealing order."""


def all_deals_by_points() -> Iterator[tuple[int, Outcome]]:
    """Every ordered deal of 8 decks by point values, with the number of ordered six-card deals.

    Each deal is grown by the shipped draw table a card at a time; the cards that it leaves of six
    are counted as anything. Ten-valued cards are 128 of 416, the others 32 each.
    """
    yield from _grown([], [], [128, *[32] * 9], 416, 1)


def _grown(
    player: list[Card], banker: list[Card], left: list[int], size: int, weight: int
) -> Iterator[tuple[int, Outcome]]:
    hand, _ = hand_due(player, banker)
    if hand is None:
        undrawn = 6 - len(player) - len(banker)
        yield weight * math.perm(size, undrawn), judge_hands(player, banker)
        return
    drawn = player if hand is Hand.PLAYER else banker
    for points, card in enumerate(BY_POINTS):
        count = left[points]
        drawn.append(card)
        left[points] -= 1
        yield from _grown(player, banker, left, size - 1, weight * count)
        left[points] += 1
        drawn.pop()


def wager(
    id: str = "w0",  # noqa: A002 - the field's name
    *,
    seat: int = 1,
    bet: str = "player",
    stake: int = 100,
    patron: str | None = None,
) -> Wager:
    """A wager of which only what matters is said."""
    return Wager(id=id, seat=seat, bet=bet, stake=stake, patron=patron)


def wagers(text: str) -> list[Wager]:
    """`3:banker=100 tie=5@p1`: seat (else 1), bet, stake, patron; ids w0, w1, ..."""
    made = []
    for index, word in enumerate(text.split()):
        spot, _, amount = word.partition("=")
        seat, colon, bet = spot.rpartition(":")
        stake, _, patron = amount.partition("@")
        made.append(
            Wager(
                id=f"w{index}",
                seat=int(seat) if colon else 1,
                bet=bet,
                stake=int(stake),
                patron=patron or None,
            )
        )
    return made
