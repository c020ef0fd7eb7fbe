"""The draw rules in words, for screens and timelines, one text a row of the draw table. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from events.cards import Card, Hand, total
from events.types.table import DrawRule
from table_core.rules.draw import NATURAL

__all__ = ["DRAW_WORDS", "explain"]

_TWO: Final = 2
_INITIAL: Final = "initial"
_NATURAL: Final = "natural"

DRAW_WORDS: Final = {
    "initial": "two cards to each hand",
    "natural": "a natural: no more cards",
    "player_0_5_draws": "Player draws on 0 to 5",
    "player_6_7_stands": "Player stands on 6 and 7",
    "banker_player_stood_0_5_draws": "Player stood: Banker draws on 0 to 5",
    "banker_player_stood_6_7_stands": "Player stood: Banker stands on 6 and 7",
    "banker_0_2_draws": "Banker draws on 0 to 2",
    "banker_3_draws_unless_8": "Banker 3 draws, Player's third is no 8",
    "banker_3_stands_on_8": "Banker 3 stands, Player's third is an 8",
    "banker_4_draws_on_2_7": "Banker 4 draws, Player's third is 2 to 7",
    "banker_4_stands_on_0_1_8_9": "Banker 4 stands, Player's third is 0, 1, 8 or 9",
    "banker_5_draws_on_4_7": "Banker 5 draws, Player's third is 4 to 7",
    "banker_5_stands_on_0_3_8_9": "Banker 5 stands, Player's third is 0 to 3, 8 or 9",
    "banker_6_draws_on_6_7": "Banker 6 draws, Player's third is 6 or 7",
    "banker_6_stands_on_0_5_8_9": "Banker 6 stands, Player's third is 0 to 5, 8 or 9",
    "banker_7_stands": "Banker stands on 7",
}


def explain(
    rules: Iterable[DrawRule], player: Sequence[Card], banker: Sequence[Card]
) -> tuple[str, ...]:
    """Return why each hand drew a third card or did not: the totals, and the row they select.

    Args:
        rules: as they were applied; those of the first four cards are left out.
        player: Player's cards.
        banker: Banker's.
    """
    hands = {Hand.PLAYER: player, Hand.BANKER: banker}
    naturals = [
        f"{hand.value.capitalize()}'s {total(cards[:_TWO])}"
        for hand, cards in hands.items()
        if total(cards[:_TWO]) in NATURAL
    ]
    return tuple(
        f"{rule.hand.value.capitalize()} {'draws' if rule.draws else 'takes no third card'}: "
        + (_natural(naturals) if rule.rule == _NATURAL else _figures(rule, hands, player))
        for rule in rules
        if rule.rule != _INITIAL
    )


def _natural(naturals: Sequence[str]) -> str:
    verb = "is a natural and ends" if len(naturals) == 1 else "are naturals and end"
    return f"{' and '.join(naturals)} on two cards {verb} the deal"


def _figures(rule: DrawRule, hands: Mapping[Hand, Sequence[Card]], player: Sequence[Card]) -> str:
    had = f"{total(hands[rule.hand][:_TWO])} on two cards"
    if rule.hand is Hand.BANKER and len(player) > _TWO:
        had += f", and Player's third card counts {player[_TWO].points}"
    return f"{had}. Rule: {DRAW_WORDS.get(rule.rule, rule.rule)}"
