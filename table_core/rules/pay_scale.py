"""The pay scale of Perfect Pairs: one holds for all tables of a property (seed 1, 11A.8). Pure."""

from typing import Final

from table_core.rules.rulebook import Rulebook
from table_core.rules.sign import SCALED_BET, pay_scale_of

__all__ = ["pay_scale"]

_CATEGORIES: Final = ("mixed", "coloured", "perfect")


def pay_scale(rulebook: Rulebook) -> str | None:
    """Return the scale by which a rulebook pays: `one`, `two`, or the odds of another.

    The odds count, and not what the sign calls them. A rulebook that does not offer Perfect Pairs
    pays by none.
    """
    bet = rulebook.bets.get(SCALED_BET)
    if bet is None or not bet.offered:
        return None
    odds = (bet.schedule.get(category) for category in _CATEGORIES)
    said = ":".join("-" if each is None else str(each).removesuffix("/1") for each in odds)
    return pay_scale_of(rulebook.bets) or said
