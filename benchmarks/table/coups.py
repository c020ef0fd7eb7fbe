"""Coups for the benchmarks that need many different ones: seeded, dealt by the draw table.

`deal_coups` deals from shuffled shoes, as a real one would; `wagers_of` places three wagers a coup.
"""

import random
from collections.abc import Iterator
from itertools import count
from typing import Final

from events.cards import Card, Hand
from events.commands.wagers import WagerRequest
from table_core.rules.draw import hand_due

__all__ = ["COUPS_A_SHOE", "SEED", "Dealt", "deal_coups", "wagers_of"]

SEED: Final = 20261128
COUPS_A_SHOE: Final = 60
_DECKS: Final = 8
_SEATS: Final = 7
_STAKES: Final = (500, 1_000, 2_500, 10_000)
_MAIN: Final = ("player", "banker")
_SIDES: Final = ("tie", "player_pair", "banker_pair")

Dealt = list[tuple[Hand, int, Card]]
"""A coup's cards in dealing order: the hand, the number within it, and the face."""


def deal_coups(seed: int = SEED) -> Iterator[Dealt]:
    """Yield coups without end; after every `COUPS_A_SHOE` the shoe is a new one."""
    draw = random.Random(seed)  # noqa: S311 - cards of a benchmark, the same in every run
    while True:
        shoe = list(Card) * _DECKS
        draw.shuffle(shoe)
        left = iter(shoe)
        for _ in range(COUPS_A_SHOE):
            yield _dealt(left)


def _dealt(shoe: Iterator[Card]) -> Dealt:
    hands: dict[Hand, list[Card]] = {Hand.PLAYER: [], Hand.BANKER: []}
    dealt: Dealt = []
    while True:
        hand, _ = hand_due(hands[Hand.PLAYER], hands[Hand.BANKER])
        if hand is None:
            return dealt
        hands[hand].append(next(shoe))
        dealt.append((hand, len(hands[hand]), hands[hand][-1]))


def wagers_of() -> Iterator[tuple[WagerRequest, ...]]:
    """Yield three wagers a coup: two seats on a side each, and one of them on a side bet."""
    for number in count():
        first, second = number % _SEATS + 1, (number + 3) % _SEATS + 1
        yield (
            WagerRequest(seat=first, bet=_MAIN[number % 2], stake=_STAKES[number % 4]),
            WagerRequest(seat=second, bet=_MAIN[number // 3 % 2], stake=_STAKES[number // 2 % 4]),
            WagerRequest(seat=first, bet=_SIDES[number % 3], stake=_STAKES[0]),
        )
