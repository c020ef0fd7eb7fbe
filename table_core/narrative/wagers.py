"""Every kind of wager in words: its name, its winning condition, and the source of the rule. Pure.

The sources are the documents of the rules, in the order of docs/rules.md. A wager that is in none
of them is a house's own, and its rulebook file is the only source.
"""

from typing import Final

from msgspec import Struct

__all__ = ["BET_WORDS", "CATEGORY_WORDS", "DOCUMENTS", "BetWords", "bet_words"]

DOCUMENTS: Final = {
    "source 1": "New Zealand, Rules of Casino Table Games, Division 5 (Baccarat), section 11A",
    "source 2": "an Australian house's leaflet on how to play Baccarat",
    "source 3": "an American house's sheet for Mini Baccarat with Lucky 8",
}
"""The documents that sources name."""


class BetWords(Struct, frozen=True):
    """A kind of wager in words.

    Args:
        name: on the layout.
        wins: the winning condition, to follow "wins when".
        source: the document and clause.
    """

    name: str
    wins: str
    source: str


_LUCKY_8: Final = "the hand makes one of the listed eights"
_HOUSE: Final = "the rulebook file alone"

BET_WORDS: Final = {
    "player": BetWords("Player", "Player's hand is nearer to nine", "source 2, payouts"),
    "banker": BetWords("Banker", "Banker's hand is nearer to nine", "source 2, payouts"),
    "tie": BetWords("Tie", "both hands have the same points", "source 2, payouts"),
    "player_pair": BetWords(
        "Player Pair", "Player's first two cards are of one rank", "source 2, Player Pair"
    ),
    "banker_pair": BetWords(
        "Banker Pair", "Banker's first two cards are of one rank", "source 2, Banker Pair"
    ),
    "super_six": BetWords("Super Six", "Banker wins with six", "source 2, Super Six"),
    "tiger": BetWords("Tiger", "Banker wins with six", "source 2, Tiger"),
    "big_tiger": BetWords(
        "Big Tiger", "Banker wins with six on three cards", "source 2, Big Tiger"
    ),
    "small_tiger": BetWords(
        "Small Tiger", "Banker wins with six on two cards", "source 2, Small Tiger"
    ),
    "tiger_tie": BetWords("Tiger Tie", "both hands have six", "source 2, Tiger Tie"),
    "tiger_pair": BetWords(
        "Tiger Pair", "a hand's first two cards are of one rank", "source 2, Tiger Pair"
    ),
    "perfect_pairs": BetWords(
        "Perfect Pairs", "the first two cards are of one rank", "source 1, 11A.5 to 11A.7"
    ),
    "lucky8_player": BetWords("Lucky 8 Player", _LUCKY_8, "source 3, Lucky 8"),
    "lucky8_banker": BetWords("Lucky 8 Banker", _LUCKY_8, "source 3, Lucky 8"),
    "dragon_bonus_player": BetWords(
        "Dragon Bonus Player", "Player wins by a natural or by four or more", _HOUSE
    ),
    "dragon_bonus_banker": BetWords(
        "Dragon Bonus Banker", "Banker wins by a natural or by four or more", _HOUSE
    ),
    "big": BetWords("Big", "five or six cards are dealt", _HOUSE),
    "small": BetWords("Small", "four cards are dealt", _HOUSE),
    "either_pair": BetWords("Either Pair", "a hand's first two cards are of one rank", _HOUSE),
    "perfect_pair_either": BetWords(
        "Perfect Pair", "a hand's first two cards are of one rank and suit", _HOUSE
    ),
    "lucky6": BetWords("Lucky 6", "Banker wins with six", _HOUSE),
    "dragon7": BetWords("Dragon 7", "Banker wins with seven on three cards", _HOUSE),
    "panda8": BetWords("Panda 8", "Player wins with eight on three cards", _HOUSE),
}
"""Bet id to its words; every kind of `table_core.rules.wagers` has an entry."""

CATEGORY_WORDS: Final = {
    "win": "its hand or result came",
    "win_on_6": "Banker won with six",
    "push_dragon7": "Banker won with seven on three cards: the stake goes back",
    "push": "a tie: the stake goes back",
    "pair": "a pair",
    "mixed": "a mixed pair, one card red and one black",
    "coloured": "a coloured pair, two suits of one colour",
    "perfect": "a perfect pair, one rank and one suit",
    "banker_six": "Banker won with six",
    "two_card": "Banker won with six on two cards",
    "three_card": "Banker won with six on three cards",
    "tie_on_6": "a tie on six",
    "single": "a pair in one hand",
    "double": "a pair in both hands",
    "twin": "a pair in both hands, all four of one rank",
    "double_suited_8": "a Double Suited 8",
    "suited_8": "a Suited 8",
    "double_8": "a Double 8",
    "unlucky_8": "an Unlucky 8",
    "lucky_8": "a Lucky 8",
    "natural_win": "won by a natural",
    "natural_tie": "a tie of naturals: the stake goes back",
    **{f"win_by_{points}": f"won by {points}" for points in range(1, 10)},
    "one": "one hand has a perfect pair",
    "both": "both hands have a perfect pair",
    "lose": "lost",
    "void": "void",
}
"""Category of a settlement line to its words."""


def bet_words(bet: str) -> BetWords:
    """Return the words for a bet; the id itself for a bet that this build does not know."""
    return BET_WORDS.get(bet) or BetWords(bet, "its rulebook says so", _HOUSE)
