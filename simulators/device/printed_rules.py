"""The game's rules as printed, for the simulated dealer; independent of the table's draw table.

This module is an oracle: every branch below is written from the seeds' text ("How the hands are
played", seed 2; "The game" and the two charts, seed 3), so that it checks the table's data-driven
draw table independently. Keep it free of any import from there.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from events.cards import Card, Hand, Winner
from events.errors import InputError

__all__ = [
    "PrintedOutcome",
    "PrintedPlace",
    "banker_draws",
    "call_hands",
    "dealt_hands",
    "next_place",
    "outcome",
]

_NATURAL: Final = 8
_PLAYER_STANDS: Final = 6
_SIX: Final = 6


class PrintedPlace(Struct, frozen=True):
    """A card's place: the hand, and the card's number within it (1 to 3)."""

    hand: Hand
    number: int


# Seed 3: "First card to the Player, second card to the Bank, third to the Player and fourth to
# the Bank."
_INITIAL_DEAL: Final = (
    PrintedPlace(Hand.PLAYER, 1),
    PrintedPlace(Hand.BANKER, 1),
    PrintedPlace(Hand.PLAYER, 2),
    PrintedPlace(Hand.BANKER, 2),
)
_PLAYER_THIRD: Final = PrintedPlace(Hand.PLAYER, 3)
_BANKER_THIRD: Final = PrintedPlace(Hand.BANKER, 3)


class PrintedOutcome(Struct, frozen=True, kw_only=True):
    """The result of a finished coup, as the dealer calls it and the device reports it."""

    player: tuple[Card, ...]
    banker: tuple[Card, ...]
    player_total: int
    banker_total: int
    winner: Winner
    natural: bool
    player_pair: bool
    banker_pair: bool
    banker_six: bool


def banker_draws(banker_total: int, player_third: int | None) -> bool:
    """Return whether Banker, with two cards worth `banker_total` and no natural, takes a third.

    Args:
        banker_total: 0 to 7.
        player_third: the value of Player's third card; None where Player stood.
    """
    if player_third is None or banker_total <= 2:  # noqa: PLR2004 - "always draw on 0-1 or 2"
        return banker_total <= 5  # noqa: PLR2004 - Player stood: "draw on 0-1-2-3-4 and 5"
    if banker_total == 3:  # noqa: PLR2004 - the chart's first column
        return player_third != 8  # noqa: PLR2004 - "does not draw: 8"
    if banker_total == 4:  # noqa: PLR2004 - the chart's first column
        return player_third in {2, 3, 4, 5, 6, 7}
    if banker_total == 5:  # noqa: PLR2004 - the chart's first column
        return player_third in {4, 5, 6, 7}
    if banker_total == _SIX:
        return player_third in {6, 7}
    return False


def next_place(cards: Sequence[Card]) -> PrintedPlace | None:
    """Return the place of the next card after those dealt so far, in dealing order; None: the end.

    Raises:
        InputError: more cards than the rules could have dealt.
    """
    if len(cards) < len(_INITIAL_DEAL):
        return _INITIAL_DEAL[len(cards)]
    player = _points(cards[0], cards[2])
    banker = _points(cards[1], cards[3])
    third: list[PrintedPlace] = []
    if player < _NATURAL and banker < _NATURAL:
        if player < _PLAYER_STANDS:
            third.append(_PLAYER_THIRD)
            if len(cards) > len(_INITIAL_DEAL) and banker_draws(banker, cards[4].points):
                third.append(_BANKER_THIRD)
        elif banker_draws(banker, None):
            third.append(_BANKER_THIRD)
    dealt = len(cards) - len(_INITIAL_DEAL)
    if dealt > len(third):
        raise InputError(f"{len(cards)} cards: the rules end this coup earlier")
    return third[dealt] if dealt < len(third) else None


def dealt_hands(cards: Sequence[Card]) -> tuple[tuple[Card, ...], tuple[Card, ...]]:
    """Return (Player's cards, Banker's cards) of cards in dealing order."""
    hands: dict[Hand, list[Card]] = {Hand.PLAYER: [], Hand.BANKER: []}
    for index, card in enumerate(cards):
        place = next_place(cards[:index])
        if place is None:
            raise InputError(f"{len(cards)} cards: the rules end this coup earlier")
        hands[place.hand].append(card)
    return tuple(hands[Hand.PLAYER]), tuple(hands[Hand.BANKER])


def outcome(cards: Sequence[Card]) -> PrintedOutcome:
    """Call the coup.

    Raises:
        InputError: the deal is not finished, or has too many cards.
    """
    if next_place(cards) is not None:
        raise InputError(f"{len(cards)} cards: the coup is not finished")
    return call_hands(*dealt_hands(cards))


def call_hands(player: tuple[Card, ...], banker: tuple[Card, ...]) -> PrintedOutcome:
    """Return the result of two hands, whether or not the rules would have dealt them so."""
    player_total, banker_total = _points(*player), _points(*banker)
    if player_total > banker_total:
        winner = Winner.PLAYER
    elif banker_total > player_total:
        winner = Winner.BANKER
    else:
        winner = Winner.TIE
    return PrintedOutcome(
        player=player,
        banker=banker,
        player_total=player_total,
        banker_total=banker_total,
        winner=winner,
        natural=_points(*player[:2]) >= _NATURAL or _points(*banker[:2]) >= _NATURAL,
        player_pair=player[0].rank == player[1].rank,
        banker_pair=banker[0].rank == banker[1].rank,
        banker_six=winner is Winner.BANKER and banker_total == _SIX,
    )


def _points(*cards: Card) -> int:
    # "All tens and face cards or any combination of them have no value", "a hand totaling 15
    # becomes 5". Written out here and not taken from `events.cards.total`: this is the oracle.
    pips = {"A": 1, "T": 0, "J": 0, "Q": 0, "K": 0}
    points = sum(pips[card.rank] if card.rank in pips else int(card.rank) for card in cards)
    return points % 10
