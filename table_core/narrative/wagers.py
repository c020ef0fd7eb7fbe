"""A wager and its categories in words, and the source of its rule. Pure.

The words of a kind stand in its row of `table_core.rules.wagers`. This module has the words for
bets and categories without a row.
"""

from typing import Final

from table_core.rules.rulebook import PUSH
from table_core.rules.wagers import BET_KINDS, HOUSE, BetKind

__all__ = ["DOCUMENTS", "bet_words", "category_words"]

DOCUMENTS: Final = {
    "source 1": "New Zealand, Rules of Casino Table Games, Division 5 (Baccarat), section 11A",
    "source 2": "an Australian house's leaflet on how to play Baccarat",
    "source 3": "an American house's sheet for Mini Baccarat with Lucky 8",
}
"""The documents that sources name."""

_TIE_PUSHES: Final = "a tie: the stake goes back"


def bet_words(bet: str) -> BetKind:
    """Return the row of a bet; of one that this build does not know, a row with its id as name."""
    unknown = BetKind(name=bet, wins="its rulebook says so", source=HOUSE, categories={}, judges={})
    return BET_KINDS.get(bet, unknown)


def category_words(bet: str, category: str) -> str:
    """Return what came for this bet, as a settlement line names it; else the category's id."""
    if category == PUSH:
        return _TIE_PUSHES
    return bet_words(bet).categories.get(category, category)
