"""The game as the auditor knows it: its own draw chart, its own pay tables, its own fractions.

Written from the seeds' text alone. Nothing here is shared with the table's draw table, its judges
or its settlement, nor with the dealer of the simulated shoe: the three are held against each other.
Amounts are minor units.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Final, NamedTuple

from events.cards import Card

__all__ = ["RULEBOOKS", "Hands", "Paid", "is_complete", "phase_of", "points", "settle_wager"]

# Seed 2, "the rules for drawing": Banker's two cards, and Player's thirds to which Banker draws.
_CHART: Final = {
    0: "0123456789",
    1: "0123456789",
    2: "0123456789",
    3: "012345679",
    4: "234567",
    5: "4567",
    6: "67",
    7: "",
}
_PIPS: Final = {"A": 1, "T": 0, "J": 0, "Q": 0, "K": 0}
_RED: Final = "HD"
_FIVE_PER_CENT: Final = Fraction(5, 100)


class Hands(NamedTuple):
    """Player's and Banker's cards, in dealing order."""

    player: Sequence[Card]
    banker: Sequence[Card]


class Paid(NamedTuple):
    """What becomes of one wager of chips."""

    result: str
    winnings: int
    commission: int
    paid: int


def points(cards: Sequence[Card]) -> int:
    """Aces one, tens and court cards nothing, tens of the sum dropped."""
    return sum(_PIPS[c.rank] if c.rank in _PIPS else int(c.rank) for c in cards) % 10


def is_complete(hands: Hands) -> bool:
    """Whether these are exactly the cards that the rules deal."""
    player, banker = hands
    if len(player) < 2 or len(banker) < 2:  # noqa: PLR2004 - two cards each to begin with
        return False
    own, other = points(player[:2]), points(banker[:2])
    if own in (8, 9) or other in (8, 9):
        return len(player) == len(banker) == 2  # noqa: PLR2004 - a natural ends it
    if own in (6, 7):
        return (len(player), len(banker)) == (2, 3 if other < 6 else 2)  # noqa: PLR2004 - Player stands
    if len(player) != 3:  # noqa: PLR2004 - Player draws on 0 to 5
        return False
    return len(banker) == (3 if str(points(player[2:])) in _CHART[other] else 2)


def _winner(hands: Hands) -> str:
    own, other = points(hands.player), points(hands.banker)
    return "player" if own > other else "banker" if other > own else "tie"


def _six(hands: Hands) -> bool:
    return _winner(hands) == "banker" and points(hands.banker) == 6  # noqa: PLR2004 - "a total of 6"


def _pair(cards: Sequence[Card]) -> bool:
    return cards[0].rank == cards[1].rank


# What a bet pays to one: a number, "push", or None where it loses.
_Odds = Fraction | str | None
_Pays = Callable[[Hands], _Odds]


def _even(side: str) -> _Pays:
    def pays(hands: Hands) -> _Odds:
        won = _winner(hands)
        return Fraction(1) if won == side else "push" if won == "tie" else None

    return pays


def _when(condition: Callable[[Hands], bool], odds: int) -> _Pays:
    return lambda hands: Fraction(odds) if condition(hands) else None


def _even_money_banker(hands: Hands) -> _Odds:
    return Fraction(1, 2) if _six(hands) else _even("banker")(hands)


def _ez_banker(hands: Hands) -> _Odds:
    return "push" if _dragon(hands) else _even("banker")(hands)


def _dragon(hands: Hands) -> bool:
    seven = points(hands.banker) == 7 and len(hands.banker) == 3  # noqa: PLR2004 - three-card 7
    return seven and _winner(hands) == "banker"


def _panda(hands: Hands) -> bool:
    eight = points(hands.player) == 8 and len(hands.player) == 3  # noqa: PLR2004 - three-card 8
    return eight and _winner(hands) == "player"


def _tiger(hands: Hands) -> _Odds:
    return Fraction(12 if len(hands.banker) == 2 else 22) if _six(hands) else None  # noqa: PLR2004 - two card, three card


def _tiger_pair(hands: Hands) -> _Odds:
    own, other = _pair(hands.player), _pair(hands.banker)
    if own and other:
        return Fraction(100 if hands.player[0].rank == hands.banker[0].rank else 25)
    return Fraction(4) if own or other else None


def _perfect_pairs(hands: Hands) -> _Odds:
    one, two = hands.player[:2]
    if one.rank != two.rank:
        return None
    if one.suit == two.suit:
        return Fraction(30)
    return Fraction(10 if (one.suit in _RED) == (two.suit in _RED) else 5)


_TIE: Final = _when(lambda hands: _winner(hands) == "tie", 8)
_AUSTRALIAN: Final[Mapping[str, _Pays]] = {
    "player": _even("player"),
    "tie": _TIE,
    "player_pair": _when(lambda hands: _pair(hands.player), 11),
    "banker_pair": _when(lambda hands: _pair(hands.banker), 11),
    "super_six": _when(_six, 15),
    "tiger": _tiger,
    "big_tiger": _when(lambda hands: _six(hands) and len(hands.banker) == 3, 55),  # noqa: PLR2004 - three cards
    "small_tiger": _when(lambda hands: _six(hands) and len(hands.banker) == 2, 22),  # noqa: PLR2004 - two cards
    "tiger_tie": _when(lambda hands: points(hands.player) == points(hands.banker) == 6, 45),  # noqa: PLR2004 - "a total of six"
    "tiger_pair": _tiger_pair,
}
_PAYS: Final[Mapping[str, Mapping[str, _Pays]]] = {
    "au-commission": {**_AUSTRALIAN, "banker": _even("banker")},
    "au-even-money": {**_AUSTRALIAN, "banker": _even_money_banker},
    "ez": {
        "player": _even("player"),
        "banker": _ez_banker,
        "tie": _TIE,
        "dragon7": _when(_dragon, 40),
        "panda8": _when(_panda, 25),
    },
    "nz-scale-one": {
        "player": _even("player"),
        "banker": _even("banker"),
        "tie": _TIE,
        "perfect_pairs": _perfect_pairs,
    },
}
_LESS_COMMISSION: Final = frozenset({"au-commission", "nz-scale-one"})

RULEBOOKS: Final = tuple(_PAYS)
"""Those that the auditor can judge."""


def phase_of(bet: str) -> int:
    """Seed 1, 11A.6: Perfect Pairs are paid at the completion of the initial deal."""
    return 1 if bet == "perfect_pairs" else 2


def settle_wager(rulebook: str, bet: str, stake: int, hands: Hands) -> Paid:
    """What becomes of a wager: odd amounts go the patron's way (both roundings of the house)."""
    odds = _PAYS[rulebook][bet](hands)
    if odds is None:
        return Paid("lose", 0, 0, 0)
    if isinstance(odds, str):
        return Paid("push", 0, 0, stake)
    winnings = ceil(stake * odds)
    taken = bet == "banker" and rulebook in _LESS_COMMISSION
    commission = floor(winnings * _FIVE_PER_CENT) if taken else 0
    return Paid("win", winnings, commission, stake + winnings - commission)
