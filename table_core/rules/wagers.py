"""Every kind of wager: a row each in `BET_KINDS`, and its judge, a pure function of the outcome.

A row is all that the product knows of a kind: its name, its winning condition and source, its
categories, and when it is decided. The rulebook's reader, the odds, the narrative and the tests go
through the rows. The screens' words are keyed by bet and category.

A judge names the categories of an outcome, the most special first; none means that the wager's own
condition is not met. The rulebook decides which categories pay, and how much: the first category
that its schedule lists applies, and no other ("highest category only"). So `tiger`, `big_tiger` and
`small_tiger` share one judge and differ in their schedules.

CONTRIBUTING.md, `A wager`, lists the files to touch for another wager.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal

from msgspec import Struct

from events.cards import Card, Hand, Winner
from events.types import Wager
from table_core.rules.draw import NATURAL, Outcome

__all__ = [
    "BET_KINDS",
    "HOUSE",
    "BetKind",
    "Judge",
    "JudgeScope",
    "Patron",
    "Totals",
    "patron_of",
    "plain_totals",
]

Judge = Callable[[Outcome], tuple[str, ...]]
JudgeScope = Literal["totals", "pairs", "suits"]
Patron = str
"""The owner of a wager, as `patron_of` returns it."""
Totals = tuple[int, int, int, int]
"""Player's and Banker's points, and how many cards each has."""

HOUSE: Final = "the rulebook file alone"
"""The source of a wager that is in none of the documents: a house's own."""

_SIX, _SEVEN, _EIGHT, _NINE = 6, 7, 8, 9
_TWO_CARDS, _THREE_CARDS, _FOUR_CARDS = 2, 3, 4
_RED: Final = frozenset("HD")


class BetKind(Struct, frozen=True, kw_only=True):
    """A kind of wager.

    Args:
        name: as the layout has it.
        wins: when it wins, to follow "wins when".
        source: the document and clause, as docs/reference/rules.md goes through them, or `HOUSE`.
        categories: every category its judges may name, the most special first, and in words what
            came; a schedule may list no other.
        judges: by variant name; the first is the default. A rulebook's `variant` picks one.
        initial: its judges use the first two cards of each hand only, so a rulebook may settle
            it after the initial deal (seed 1, 11A.6).
        before_first_card: it closes with the first card of the initial deal, also where a house
            takes other wagers longer (seed 1, 11A.3).
        looks: what its judges use of a deal; the exact odds count deals by it. `totals`: the
            hands' totals and numbers of cards; `pairs`: also the pairs among the first two cards
            of each; `suits`: the totals, and whether hands of three cards are of one suit.
    """

    name: str
    wins: str
    source: str
    categories: Mapping[str, str]
    judges: Mapping[str, Judge]
    initial: bool = False
    before_first_card: bool = False
    looks: JudgeScope = "totals"


def patron_of(wager: Wager) -> Patron:
    """Return the wager's owner: the opaque reference where one is given, else the seat."""
    return f"seat {wager.seat}" if wager.patron is None else f"patron {wager.patron}"


def plain_totals(outcome: Outcome) -> Totals | None:
    """Return the totals and numbers of cards; None where a judge may look at more than these.

    That is the case where the first two cards of a hand are a pair, or three are of one suit.
    """
    player, banker = outcome.player, outcome.banker
    if _is_pair(player) or _is_pair(banker) or _suited(player) or _suited(banker):
        return None
    return outcome.player_total, outcome.banker_total, len(player), len(banker)


# ---- Player, Banker, tie ----


def _player(outcome: Outcome) -> tuple[str, ...]:
    return ("win",) if outcome.winner is Winner.PLAYER else ()


def _banker(outcome: Outcome) -> tuple[str, ...]:
    """Even Money counts a win on 6 apart (seed 2); EZ pushes a three-card 7."""
    if outcome.winner is not Winner.BANKER:
        return ()
    if outcome.banker_total == _SIX:
        return ("win_on_6", "win")
    if outcome.banker_total == _SEVEN and len(outcome.banker) == _THREE_CARDS:
        return ("push_dragon7", "win")
    return ("win",)


def _tie(outcome: Outcome) -> tuple[str, ...]:
    return ("win",) if outcome.winner is Winner.TIE else ()


# ---- a hand that wins with a certain total ----


def _banker_six(outcome: Outcome) -> tuple[str, ...]:
    """Super Six, the Tigers and Lucky 6: Banker wins with 6; the number of cards may matter."""
    if outcome.winner is not Winner.BANKER or outcome.banker_total != _SIX:
        return ()
    cards = "three_card" if len(outcome.banker) == _THREE_CARDS else "two_card"
    return (cards, "banker_six")


def _tie_on_six(outcome: Outcome) -> tuple[str, ...]:
    tied = outcome.winner is Winner.TIE and outcome.banker_total == _SIX
    return ("tie_on_6",) if tied else ()


def _dragon_seven(outcome: Outcome) -> tuple[str, ...]:
    three = len(outcome.banker) == _THREE_CARDS and outcome.banker_total == _SEVEN
    return ("win",) if three and outcome.winner is Winner.BANKER else ()


def _panda_eight(outcome: Outcome) -> tuple[str, ...]:
    three = len(outcome.player) == _THREE_CARDS and outcome.player_total == _EIGHT
    return ("win",) if three and outcome.winner is Winner.PLAYER else ()


# ---- Dragon Bonus: by how much a hand wins ----


def _dragon_bonus(outcome: Outcome, hand: Hand) -> tuple[str, ...]:
    own, other = outcome.player, outcome.banker
    margin = outcome.player_total - outcome.banker_total
    if hand is Hand.BANKER:
        own, other, margin = other, own, -margin
    own_total = outcome.player_total if hand is Hand.PLAYER else outcome.banker_total
    natural = len(own) == _TWO_CARDS and own_total in NATURAL
    if margin == 0:
        return ("natural_tie",) if natural and len(other) == _TWO_CARDS else ()
    if margin < 0:
        return ()
    return ("natural_win",) if natural else (f"win_by_{margin}",)


# ---- pairs: of one rank, never of one point value ----


def _is_pair(hand: Sequence[Card]) -> bool:
    return hand[0].rank == hand[1].rank


def _is_perfect(hand: Sequence[Card]) -> bool:
    return hand[0] is hand[1]


def _pair(hand: Sequence[Card]) -> tuple[str, ...]:
    return ("pair",) if _is_pair(hand) else ()


def _perfect_pairs(*hands: Sequence[Card]) -> tuple[str, ...]:
    """Seed 1: mixed, coloured or perfect; of two hands the better pair counts."""
    found = set()
    for first, second in (hand[:2] for hand in hands if _is_pair(hand)):
        if first is second:
            found.add("perfect")
        else:
            alike = (first.suit in _RED) == (second.suit in _RED)
            found.add("coloured" if alike else "mixed")
    return tuple(name for name in ("perfect", "coloured", "mixed") if name in found)


def _tiger_pair(outcome: Outcome) -> tuple[str, ...]:
    pairs = [hand for hand in (outcome.player, outcome.banker) if _is_pair(hand)]
    if not pairs:
        return ()
    if len(pairs) == 1:
        return ("single",)
    return ("twin", "double") if pairs[0][0].rank == pairs[1][0].rank else ("double",)


def _either_pair(outcome: Outcome) -> tuple[str, ...]:
    return ("pair",) if _is_pair(outcome.player) or _is_pair(outcome.banker) else ()


def _perfect_pair_either(outcome: Outcome) -> tuple[str, ...]:
    perfect = (_is_perfect(outcome.player), _is_perfect(outcome.banker))
    if all(perfect):
        return ("both", "one")
    return ("one",) if any(perfect) else ()


# ---- Big and Small: how many cards in all ----


def _big(outcome: Outcome) -> tuple[str, ...]:
    return ("win",) if len(outcome.player) + len(outcome.banker) > _FOUR_CARDS else ()


def _small(outcome: Outcome) -> tuple[str, ...]:
    return ("win",) if len(outcome.player) + len(outcome.banker) == _FOUR_CARDS else ()


# ---- Lucky 8 (seed 3) ----


def _suited(hand: Sequence[Card]) -> bool:
    return len(hand) == _THREE_CARDS and hand[0].suit == hand[1].suit == hand[2].suit


def _each_hand(own: Sequence[Card], other: Sequence[Card]) -> bool:
    """Three cards of one suit in each hand; the two suits may differ."""
    return _suited(own) and _suited(other)


def _all_six(own: Sequence[Card], other: Sequence[Card]) -> bool:
    return _suited(own) and _suited(other) and own[0].suit == other[0].suit


def _bet_hand(own: Sequence[Card], other: Sequence[Card]) -> bool:
    """Three cards each, and the hand that was bet on is of one suit."""
    return _suited(own) and len(other) == _THREE_CARDS


def _no_suit(own: Sequence[Card], other: Sequence[Card]) -> bool:
    """Seed 3 to the letter, "consists of 3 cards each": whatever their suits."""
    return len(own) == _THREE_CARDS and len(other) == _THREE_CARDS


def _lucky8(
    outcome: Outcome,
    hand: Hand,
    double_suited: Callable[[Sequence[Card], Sequence[Card]], bool],
) -> tuple[str, ...]:
    own, other = outcome.player, outcome.banker
    own_total, other_total = outcome.player_total, outcome.banker_total
    if hand is Hand.BANKER:
        own, other, own_total, other_total = other, own, other_total, own_total
    if own_total != _EIGHT:
        return ()
    found = {
        "double_suited_8": other_total == _EIGHT and double_suited(own, other),
        "suited_8": _suited(own),
        "double_8": other_total == _EIGHT,
        "unlucky_8": other_total == _NINE,
        "lucky_8": True,
    }
    return tuple(name for name, holds in found.items() if holds)


# ---- the table of kinds ----


def _kind(
    name: str,
    wins: str,
    source: str,
    categories: Mapping[str, str],
    *,
    by: Judge | None = None,
    initial: bool = False,
    before_first_card: bool = False,
    looks: JudgeScope = "totals",
    **variants: Judge,
) -> BetKind:
    return BetKind(
        name=name,
        wins=wins,
        source=source,
        categories=MappingProxyType(categories),
        judges=MappingProxyType({"": by} if by else variants),
        initial=initial,
        before_first_card=before_first_card,
        looks=looks,
    )


def _lucky8_kind(name: str, hand: Hand) -> BetKind:
    return _kind(
        name,
        "the hand makes one of the listed eights",
        "source 3, Lucky 8",
        {
            "double_suited_8": "a Double Suited 8",
            "suited_8": "a Suited 8",
            "double_8": "a Double 8",
            "unlucky_8": "an Unlucky 8",
            "lucky_8": "a Lucky 8",
        },
        each_hand=lambda outcome: _lucky8(outcome, hand, _each_hand),
        all_six=lambda outcome: _lucky8(outcome, hand, _all_six),
        bet_hand=lambda outcome: _lucky8(outcome, hand, _bet_hand),
        no_suit=lambda outcome: _lucky8(outcome, hand, _no_suit),
        looks="suits",
    )


def _dragon_bonus_kind(name: str, hand: Hand) -> BetKind:
    return _kind(
        name,
        f"{hand.value.capitalize()} wins by a natural or by four or more",
        HOUSE,
        {
            "natural_win": "won by a natural",
            "natural_tie": "a tie of naturals: the stake goes back",
            **{f"win_by_{points}": f"won by {points}" for points in range(9, 0, -1)},
        },
        by=lambda outcome: _dragon_bonus(outcome, hand),
    )


_WIN: Final = {"win": "its hand or result came"}
_PAIR: Final = {"pair": "a pair"}
_BANKER_SIX: Final = {
    "two_card": "Banker won with six on two cards",
    "three_card": "Banker won with six on three cards",
    "banker_six": "Banker won with six",
}

BET_KINDS: Final[Mapping[str, BetKind]] = MappingProxyType(
    {
        "player": _kind(
            "Player", "Player's hand is nearer to nine", "source 2, payouts", _WIN, by=_player
        ),
        "banker": _kind(
            "Banker",
            "Banker's hand is nearer to nine",
            "source 2, payouts",
            {
                "win_on_6": "Banker won with six",
                "push_dragon7": "Banker won with seven on three cards: the stake goes back",
                **_WIN,
            },
            by=_banker,
        ),
        "tie": _kind("Tie", "both hands have the same points", "source 2, payouts", _WIN, by=_tie),
        "player_pair": _kind(
            "Player Pair",
            "Player's first two cards are of one rank",
            "source 2, Player Pair",
            _PAIR,
            by=lambda o: _pair(o.player),
            initial=True,
            looks="pairs",
        ),
        "banker_pair": _kind(
            "Banker Pair",
            "Banker's first two cards are of one rank",
            "source 2, Banker Pair",
            _PAIR,
            by=lambda o: _pair(o.banker),
            initial=True,
            looks="pairs",
        ),
        "super_six": _kind(
            "Super Six", "Banker wins with six", "source 2, Super Six", _BANKER_SIX, by=_banker_six
        ),
        "tiger": _kind(
            "Tiger", "Banker wins with six", "source 2, Tiger", _BANKER_SIX, by=_banker_six
        ),
        "big_tiger": _kind(
            "Big Tiger",
            "Banker wins with six on three cards",
            "source 2, Big Tiger",
            _BANKER_SIX,
            by=_banker_six,
        ),
        "small_tiger": _kind(
            "Small Tiger",
            "Banker wins with six on two cards",
            "source 2, Small Tiger",
            _BANKER_SIX,
            by=_banker_six,
        ),
        "tiger_tie": _kind(
            "Tiger Tie",
            "both hands have six",
            "source 2, Tiger Tie",
            {"tie_on_6": "a tie on six"},
            by=_tie_on_six,
        ),
        "tiger_pair": _kind(
            "Tiger Pair",
            "a hand's first two cards are of one rank",
            "source 2, Tiger Pair",
            {
                "twin": "a pair in both hands, all four of one rank",
                "double": "a pair in both hands",
                "single": "a pair in one hand",
            },
            by=_tiger_pair,
            initial=True,
            looks="pairs",
        ),
        "perfect_pairs": _kind(
            "Perfect Pairs",
            "the first two cards are of one rank",
            "source 1, 11A.5 to 11A.7",
            {
                "perfect": "a perfect pair, one rank and one suit",
                "coloured": "a coloured pair, two suits of one colour",
                "mixed": "a mixed pair, one card red and one black",
            },
            player=lambda o: _perfect_pairs(o.player),
            banker=lambda o: _perfect_pairs(o.banker),
            both=lambda o: _perfect_pairs(o.player, o.banker),
            initial=True,
            before_first_card=True,
            looks="pairs",
        ),
        "lucky8_player": _lucky8_kind("Lucky 8 Player", Hand.PLAYER),
        "lucky8_banker": _lucky8_kind("Lucky 8 Banker", Hand.BANKER),
        "dragon_bonus_player": _dragon_bonus_kind("Dragon Bonus Player", Hand.PLAYER),
        "dragon_bonus_banker": _dragon_bonus_kind("Dragon Bonus Banker", Hand.BANKER),
        "big": _kind("Big", "five or six cards are dealt", HOUSE, _WIN, by=_big),
        "small": _kind("Small", "four cards are dealt", HOUSE, _WIN, by=_small),
        "either_pair": _kind(
            "Either Pair",
            "a hand's first two cards are of one rank",
            HOUSE,
            _PAIR,
            by=_either_pair,
            initial=True,
            looks="pairs",
        ),
        "perfect_pair_either": _kind(
            "Perfect Pair",
            "a hand's first two cards are of one rank and suit",
            HOUSE,
            {"both": "both hands have a perfect pair", "one": "one hand has a perfect pair"},
            by=_perfect_pair_either,
            initial=True,
            looks="pairs",
        ),
        "lucky6": _kind("Lucky 6", "Banker wins with six", HOUSE, _BANKER_SIX, by=_banker_six),
        "dragon7": _kind(
            "Dragon 7", "Banker wins with seven on three cards", HOUSE, _WIN, by=_dragon_seven
        ),
        "panda8": _kind(
            "Panda 8", "Player wins with eight on three cards", HOUSE, _WIN, by=_panda_eight
        ),
    }
)
"""Bet id to kind: every wager the product knows."""
