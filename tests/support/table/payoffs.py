"""What each wager comes to by the printed rules, written out bet by bet: an oracle for the tests.

It knows nothing of the product's judges and schedules. A wager's worth is net, to one: -1 where it
loses, 0 where it goes back. Sources: the seeds, and for `ez` and `extras` what other houses print.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

from events.cards import Card, Winner
from simulators.device.printed_rules import Outcome

__all__ = ["worth"]

_LOSES: Final = Fraction(-1)
_GOES_BACK: Final = Fraction(0)


def worth(rulebook: str, bet: str, coup: Outcome) -> Fraction:
    """What one unit on `bet` gains under a shipped rulebook."""
    special = _BY_RULEBOOK.get((rulebook, bet)) or _BETS[bet]
    found = special(coup)
    return _LOSES if found is None else Fraction(found)


_Worth = Fraction | int | None  # None loses


def _side(coup: Outcome, side: Winner, pays: Fraction | int) -> _Worth:
    if coup.winner is Winner.TIE:
        return _GOES_BACK
    return pays if coup.winner is side else None


def _banker_even_money(coup: Outcome) -> _Worth:
    return _side(coup, Winner.BANKER, Fraction(1, 2) if coup.banker_total == 6 else 1)


def _banker_ez(coup: Outcome) -> _Worth:
    three_card_seven = coup.banker_total == 7 and len(coup.banker) == 3
    return _side(coup, Winner.BANKER, 0 if three_card_seven else 1)


def _banker_wins_with_six(coup: Outcome, two: int | None, three: int | None) -> _Worth:
    if coup.winner is not Winner.BANKER or coup.banker_total != 6:
        return None
    return two if len(coup.banker) == 2 else three


def _is_pair(hand: Sequence[Card]) -> bool:
    return hand[0].rank == hand[1].rank


def _tiger_pair(coup: Outcome) -> _Worth:
    pairs = [hand[0].rank for hand in (coup.player, coup.banker) if _is_pair(hand)]
    if len(pairs) == 2:
        return 100 if pairs[0] == pairs[1] else 25
    return 4 if pairs else None


def _perfect_pairs(coup: Outcome, mixed: int, coloured: int, perfect: int) -> _Worth:
    first, second = coup.player[:2]
    if first.rank != second.rank:
        return None
    if first.suit == second.suit:
        return perfect
    return coloured if {first.suit, second.suit} in ({"H", "D"}, {"S", "C"}) else mixed


def _suited_three(hand: Sequence[Card]) -> bool:
    return len(hand) == 3 and all(card.suit == hand[0].suit for card in hand)


def _lucky8(own: Sequence[Card], own_total: int, other: Sequence[Card], other_total: int) -> _Worth:
    if own_total != 8:
        return None
    ladder = (
        (200, other_total == 8 and _suited_three(own) and _suited_three(other)),
        (25, _suited_three(own)),
        (15, other_total == 8),
        (8, other_total == 9),
        (4, True),
    )
    return next(pays for pays, holds in ladder if holds)


def _dragon_bonus(own: Sequence[Card], own_total: int, other: Sequence[Card], total: int) -> _Worth:
    naturals = [len(own) == 2 and own_total >= 8, len(other) == 2 and total >= 8]
    if own_total == total:
        return 0 if all(naturals) else None
    if own_total > total and naturals[0]:
        return 1
    return {9: 30, 8: 10, 7: 6, 6: 4, 5: 2, 4: 1}.get(own_total - total)


def _perfect_pair_either(coup: Outcome) -> _Worth:
    perfect = [hand[0] is hand[1] for hand in (coup.player, coup.banker)]
    return {2: 200, 1: 25}.get(sum(perfect))


def _cards(coup: Outcome) -> int:
    return len(coup.player) + len(coup.banker)


_BY_RULEBOOK: Final[dict[tuple[str, str], Callable[[Outcome], _Worth]]] = {
    ("au-even-money", "banker"): _banker_even_money,
    ("ez", "banker"): _banker_ez,
    ("nz-scale-one", "perfect_pairs"): lambda c: _perfect_pairs(c, 5, 10, 30),
    ("nz-scale-two", "perfect_pairs"): lambda c: _perfect_pairs(c, 6, 12, 25),
}

_BETS: Final[dict[str, Callable[[Outcome], _Worth]]] = {
    "player": lambda c: _side(c, Winner.PLAYER, 1),
    "banker": lambda c: _side(c, Winner.BANKER, Fraction(95, 100)),
    "tie": lambda c: 8 if c.player_total == c.banker_total else None,
    "player_pair": lambda c: 11 if _is_pair(c.player) else None,
    "banker_pair": lambda c: 11 if _is_pair(c.banker) else None,
    "super_six": lambda c: _banker_wins_with_six(c, 15, 15),
    "tiger": lambda c: _banker_wins_with_six(c, 12, 22),
    "big_tiger": lambda c: _banker_wins_with_six(c, None, 55),
    "small_tiger": lambda c: _banker_wins_with_six(c, 22, None),
    "tiger_tie": lambda c: 45 if c.player_total == c.banker_total == 6 else None,
    "tiger_pair": _tiger_pair,
    "lucky8_player": lambda c: _lucky8(c.player, c.player_total, c.banker, c.banker_total),
    "lucky8_banker": lambda c: _lucky8(c.banker, c.banker_total, c.player, c.player_total),
    "dragon_bonus_player": lambda c: _dragon_bonus(
        c.player, c.player_total, c.banker, c.banker_total
    ),
    "dragon_bonus_banker": lambda c: _dragon_bonus(
        c.banker, c.banker_total, c.player, c.player_total
    ),
    "big": lambda c: Fraction(54, 100) if _cards(c) > 4 else None,
    "small": lambda c: Fraction(15, 10) if _cards(c) == 4 else None,
    "either_pair": lambda c: 5 if _is_pair(c.player) or _is_pair(c.banker) else None,
    "perfect_pair_either": _perfect_pair_either,
    "lucky6": lambda c: _banker_wins_with_six(c, 12, 20),
    "dragon7": lambda c: (
        40 if c.banker_total == 7 > c.player_total and len(c.banker) == 3 else None
    ),
    "panda8": lambda c: 25 if c.player_total == 8 > c.banker_total and len(c.player) == 3 else None,
}
