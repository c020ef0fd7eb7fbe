"""The game by its printed rules: points, draws, what each wager wins as. Cards are texts, `TH`."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

Cards: TypeAlias = Sequence[str]

_NATURAL: Final = 8
_TWO, _THREE = 2, 3
_SIX, _SEVEN, _EIGHT, _NINE = 6, 7, 8, 9
_SMALL_MARGIN: Final = 4
_PLAYER_DRAWS: Final = range(6)
# What Player's third card is worth for Banker to draw on so many points (seed 2, Banker's hand).
_BANKER_DRAWS: Final = {
    **{key: set(range(10)) for key in (0, 1, 2)},
    3: set(range(10)) - {8},
    4: {2, 3, 4, 5, 6, 7},
    5: {4, 5, 6, 7},
    6: {6, 7},
}


def _worth(card: str) -> int:
    return "0A23456789".find(card[0]) if card[0] not in "TJQK" else 0


def points(hand: Cards) -> int:
    """Return the last digit of the sum."""
    return sum(map(_worth, hand)) % 10


def due(player: Cards, banker: Cards) -> str | None:
    """Return where the next card belongs, `P3`; None where the deal is complete."""
    dealt = len(player) + len(banker)
    if dealt < 2 * _TWO:
        return ("P1", "B1", "P2", "B2")[dealt]
    two = points(player[:2]), points(banker[:2])
    if max(two) >= _NATURAL:
        return None
    if two[0] in _PLAYER_DRAWS and len(player) == _TWO:
        return "P3"
    if len(banker) == _THREE:
        return None
    if len(player) == _TWO:
        draws = two[1] in _PLAYER_DRAWS
    else:
        draws = _worth(player[2]) in _BANKER_DRAWS.get(two[1], set())
    return "B3" if draws else None


def winner_of(player: Cards, banker: Cards) -> str:
    """Return `player`, `banker` or `tie`."""
    more = points(player) - points(banker)
    return "tie" if not more else "player" if more > 0 else "banker"


def _pair(hand: Cards) -> bool:
    return hand[0][0] == hand[1][0]


def _perfect(hand: Cards) -> bool:
    return hand[0] == hand[1]


def _one_suit(*cards: str) -> bool:
    return len({card[1] for card in cards}) == 1


def _banker_six(player: Cards, banker: Cards) -> bool:
    return winner_of(player, banker) == "banker" and points(banker) == _SIX


def _main(hand: str) -> Callable[[Cards, Cards, str], Iterator[str]]:
    def judge(player: Cards, banker: Cards, _: str) -> Iterator[str]:
        if winner_of(player, banker) != hand:
            return
        if hand == "banker" and points(banker) == _SEVEN and len(banker) == _THREE:
            yield "push_dragon7"
        if hand == "banker" and points(banker) == _SIX:
            yield "win_on_6"
        yield "win"

    return judge


def _if(
    category: str, test: Callable[[Cards, Cards], bool]
) -> Callable[[Cards, Cards, str], Iterator[str]]:
    def judge(player: Cards, banker: Cards, _: str) -> Iterator[str]:
        if test(player, banker):
            yield category

    return judge


def _tiger(player: Cards, banker: Cards, _: str) -> Iterator[str]:
    if _banker_six(player, banker):
        yield "two_card" if len(banker) == _TWO else "three_card"


def _tiger_pair(player: Cards, banker: Cards, _: str) -> Iterator[str]:
    if _pair(player) and _pair(banker):
        if player[0][0] == banker[0][0]:
            yield "twin"
        yield "double"
    if _pair(player) or _pair(banker):
        yield "single"


def _perfect_pairs(player: Cards, banker: Cards, variant: str) -> Iterator[str]:
    hands = {"player": [player], "banker": [banker], "both": [player, banker]}[variant or "player"]
    pairs = [hand[:2] for hand in hands if _pair(hand)]
    if any(_perfect(hand) for hand in pairs):
        yield "perfect"
    red = [{card[1] in "HD" for card in hand} for hand in pairs]
    if any(len(colours) == 1 for colours in red):
        yield "coloured"
    if pairs:
        yield "mixed"


def _perfect_either(player: Cards, banker: Cards, _: str) -> Iterator[str]:
    found = _perfect(player) + _perfect(banker)
    if found:
        yield "both" if found == _TWO else "one"


def _dragon_bonus(hand: str) -> Callable[[Cards, Cards, str], Iterator[str]]:
    def judge(player: Cards, banker: Cards, _: str) -> Iterator[str]:
        own, other = (player, banker) if hand == "player" else (banker, player)
        natural = len(own) == _TWO and points(own) >= _NATURAL
        margin = points(own) - points(other)
        if natural and margin > 0:
            yield "natural_win"
        elif natural and margin == 0:
            yield "natural_tie"
        elif margin >= _SMALL_MARGIN:
            yield f"win_by_{margin}"

    return judge


def _lucky8(hand: str) -> Callable[[Cards, Cards, str], Iterator[str]]:
    def judge(player: Cards, banker: Cards, variant: str) -> Iterator[str]:
        own, other = (player, banker) if hand == "player" else (banker, player)
        if points(own) != _EIGHT:
            return
        both = points(other) == _EIGHT
        if both and len(own) == len(other) == _THREE:
            suited = {
                "each_hand": _one_suit(*own) and _one_suit(*other),
                "all_six": _one_suit(*own, *other),
                "bet_hand": _one_suit(*own),
                "no_suit": True,
            }
            if suited[variant or "each_hand"]:
                yield "double_suited_8"
        if len(own) == _THREE and _one_suit(*own):
            yield "suited_8"
        if both:
            yield "double_8"
        if points(other) == _NINE:
            yield "unlucky_8"
        yield "lucky_8"

    return judge


def _three_card(hand: str, total: int) -> Callable[[Cards, Cards], bool]:
    def test(player: Cards, banker: Cards) -> bool:
        own = player if hand == "player" else banker
        won = winner_of(player, banker) == hand
        return won and points(own) == total and len(own) == _THREE

    return test


_JUDGES: Final[dict[str, Callable[[Cards, Cards, str], Iterator[str]]]] = {
    "player": _main("player"),
    "banker": _main("banker"),
    "tie": _if("win", lambda p, b: winner_of(p, b) == "tie"),
    "player_pair": _if("pair", lambda p, _: _pair(p)),
    "banker_pair": _if("pair", lambda _, b: _pair(b)),
    "either_pair": _if("pair", lambda p, b: _pair(p) or _pair(b)),
    "perfect_pair_either": _perfect_either,
    "perfect_pairs": _perfect_pairs,
    "super_six": _if("banker_six", _banker_six),
    "tiger": _tiger,
    "big_tiger": _tiger,
    "small_tiger": _tiger,
    "lucky6": _tiger,
    "tiger_tie": _if("tie_on_6", lambda p, b: points(p) == points(b) == _SIX),
    "tiger_pair": _tiger_pair,
    "lucky8_player": _lucky8("player"),
    "lucky8_banker": _lucky8("banker"),
    "dragon_bonus_player": _dragon_bonus("player"),
    "dragon_bonus_banker": _dragon_bonus("banker"),
    "big": _if("win", lambda p, b: len(p) + len(b) > 2 * _TWO),
    "small": _if("win", lambda p, b: len(p) + len(b) == 2 * _TWO),
    "dragon7": _if("win", _three_card("banker", _SEVEN)),
    "panda8": _if("win", _three_card("player", _EIGHT)),
}


def categories(bet: str, variant: str, player: Cards, banker: Cards) -> Iterator[str]:
    """Name what a wager wins as, the most special first; on a tie `push` comes last."""
    yield from _JUDGES[bet](player, banker, variant)
    if winner_of(player, banker) == "tie":
        yield "push"
