"""The game's rules for the auditor: its own draw chart, its own pay tables, its own fractions.

It is written from the seeds' text alone, and for `ez` and `extras` from what other houses print. It
shares nothing with the table's draw table, its coup resolution or its settlement, nor with the
dealer of the simulated shoe: the three are compared with each other. Amounts are minor units.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Final, NamedTuple

from events.cards import Card

__all__ = [
    "PREPAID",
    "RULEBOOKS",
    "Hands",
    "Paid",
    "is_complete",
    "phase_of",
    "points",
    "settle_together",
    "settle_wager",
]

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
    """The settlement of one wager of chips."""

    result: str
    winnings: int
    commission: int
    paid: int


def points(cards: Sequence[Card]) -> int:
    """Return the points: aces one, tens and court cards nothing, tens of the sum dropped."""
    return sum(_PIPS[c.rank] if c.rank in _PIPS else int(c.rank) for c in cards) % 10


def is_complete(hands: Hands) -> bool:
    """Return whether these are exactly the cards that the rules deal."""
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


# A bet's odds to one: a number, "push", or None where it loses.
_Odds = Fraction | str | None
_Pays = Callable[[Hands], _Odds]


def _even(side: str) -> _Pays:
    def pays(hands: Hands) -> _Odds:
        won = _winner(hands)
        return Fraction(1) if won == side else "push" if won == "tie" else None

    return pays


def _when(condition: Callable[[Hands], bool], odds: int | str) -> _Pays:
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


def _six_on(two: int, three: int) -> _Pays:
    return lambda hands: Fraction({2: two, 3: three}[len(hands.banker)]) if _six(hands) else None


def _tiger_pair(hands: Hands) -> _Odds:
    own, other = _pair(hands.player), _pair(hands.banker)
    if own and other:
        return Fraction(100 if hands.player[0].rank == hands.banker[0].rank else 25)
    return Fraction(4) if own or other else None


def _perfect_pairs(mixed: int, coloured: int, perfect: int) -> _Pays:
    def pays(hands: Hands) -> _Odds:
        one, two = hands.player[:2]
        if one.rank != two.rank:
            return None
        if one.suit == two.suit:
            return Fraction(perfect)
        return Fraction(coloured if (one.suit in _RED) == (two.suit in _RED) else mixed)

    return pays


def _suited(cards: Sequence[Card]) -> bool:
    return len(cards) == 3 and len({card.suit for card in cards}) == 1  # noqa: PLR2004 - 3 suited cards


def _lucky_8(*, players: bool) -> _Pays:
    def pays(hands: Hands) -> _Odds:
        own, other = hands if players else (hands.banker, hands.player)
        if points(own) != 8:  # noqa: PLR2004 - "hand value = 8"
            return None
        against = points(other)
        if against == 8 and _suited(own) and _suited(other):  # noqa: PLR2004 - both hands = 8
            return Fraction(200)
        if _suited(own):
            return Fraction(25)
        return Fraction({8: 15, 9: 8}.get(against, 4))

    return pays


def _dragon_bonus(*, players: bool) -> _Pays:
    margins = {4: 1, 5: 2, 6: 4, 7: 6, 8: 10, 9: 30}

    def pays(hands: Hands) -> _Odds:
        own, other = hands if players else (hands.banker, hands.player)
        ahead = points(own) - points(other)
        naturals = [len(hand) == 2 and points(hand) >= 8 for hand in (own, other)]  # noqa: PLR2004 - a natural
        if ahead == 0 and all(naturals):
            return "push"
        if ahead > 0 and naturals[0]:
            return Fraction(1)
        return Fraction(margins[ahead]) if ahead in margins else None

    return pays


def _perfect_pair_either(hands: Hands) -> _Odds:
    perfect = [cards[0] is cards[1] for cards in hands]
    return Fraction(200 if all(perfect) else 25) if any(perfect) else None


def _dealt(hands: Hands) -> int:
    return len(hands.player) + len(hands.banker)


_TIE: Final = _when(lambda hands: _winner(hands) == "tie", 8)
_STANDARD: Final[Mapping[str, _Pays]] = {
    "player": _even("player"),
    "banker": _even("banker"),
    "tie": _TIE,
}
_AUSTRALIAN: Final[Mapping[str, _Pays]] = {
    "player": _even("player"),
    "tie": _TIE,
    "player_pair": _when(lambda hands: _pair(hands.player), 11),
    "banker_pair": _when(lambda hands: _pair(hands.banker), 11),
    "super_six": _when(_six, 15),
    "tiger": _six_on(two=12, three=22),
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
    "extras": {
        **_STANDARD,
        "dragon_bonus_player": _dragon_bonus(players=True),
        "dragon_bonus_banker": _dragon_bonus(players=False),
        "big": _when(lambda hands: _dealt(hands) > 4, "27/50"),  # noqa: PLR2004 - five or six cards
        "small": _when(lambda hands: _dealt(hands) == 4, "3/2"),  # noqa: PLR2004 - four cards
        "either_pair": _when(lambda hands: _pair(hands.player) or _pair(hands.banker), 5),
        "perfect_pair_either": _perfect_pair_either,
        "lucky6": _six_on(two=12, three=20),
    },
    "nz-scale-one": {**_STANDARD, "perfect_pairs": _perfect_pairs(5, 10, 30)},
    "nz-scale-two": {**_STANDARD, "perfect_pairs": _perfect_pairs(6, 12, 25)},
    "mini-lucky8": {
        **_STANDARD,
        "lucky8_player": _lucky_8(players=True),
        "lucky8_banker": _lucky_8(players=False),
    },
}
_LESS_COMMISSION: Final = frozenset(
    {"au-commission", "extras", "nz-scale-one", "nz-scale-two", "mini-lucky8"}
)
_CAPPED: Final = frozenset({"lucky8_player", "lucky8_banker"})
_MOST: Final = 30_000_00  # seed 3: "$30,000 Maximum payout per round of play"

PREPAID: Final = frozenset({"mini-lucky8"})
"""Rulebooks in which commission is laid next to the wager in advance (seed 3)."""

RULEBOOKS: Final = {rulebook: tuple(bets) for rulebook, bets in _PAYS.items()}
"""The rulebooks that the auditor can judge, and their bets."""


def phase_of(bet: str) -> int:
    """Seed 1, 11A.6: Perfect Pairs are paid at the completion of the initial deal."""
    return 1 if bet == "perfect_pairs" else 2


def settle_wager(rulebook: str, bet: str, stake: int, hands: Hands) -> Paid:
    """Settle a wager: odd amounts go the patron's way (both roundings of the house)."""
    odds = _PAYS[rulebook][bet](hands)
    if odds is None:
        return Paid("lose", 0, 0, 0)
    if isinstance(odds, str):
        return Paid("push", 0, 0, stake)
    winnings = ceil(stake * odds)
    taken = bet == "banker" and rulebook in _LESS_COMMISSION
    commission = floor(winnings * _FIVE_PER_CENT) if taken else 0
    return Paid("win", winnings, commission, stake + winnings - commission)


def settle_together(
    rulebook: str, wagers: Sequence[tuple[str, int]], hands: Hands, said: Sequence[int]
) -> list[Paid]:
    """Settle all wagers of a coup, where the house limits the sum of its payments.

    Args:
        rulebook: its id.
        wagers: bet and stake.
        hands: the cards.
        said: the winnings that were paid: a maximum is shared in proportion, and to a unit the
            table decides who gets the odd ones.
    """
    rights = [settle_wager(rulebook, bet, stake, hands) for bet, stake in wagers]
    shared = [n for n, (bet, _) in enumerate(wagers) if bet in _CAPPED and rights[n].winnings]
    whole = sum(rights[n].winnings for n in shared)
    if whole > _MOST and sum(said[n] for n in shared) == _MOST:
        for n in shared:
            if abs(Fraction(rights[n].winnings * _MOST, whole) - said[n]) < 1:
                rights[n] = Paid("win", said[n], 0, wagers[n][1] + said[n])
    return rights
