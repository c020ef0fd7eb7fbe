"""The pay scale of Perfect Pairs: one holds for all tables of a property (seed 1, 11A.8). Pure."""

from collections.abc import Mapping
from typing import Final

from table_core.rules.rulebook import Rulebook

__all__ = ["pay_scale"]

_BET: Final = "perfect_pairs"
# Seed 1, 11A.7: mixed, coloured and perfect pair, each to one.
_NAMED: Final[Mapping[str, str]] = {"5:10:30": "one", "6:12:25": "two"}
_CATEGORIES: Final = ("mixed", "coloured", "perfect")


def pay_scale(rulebook: Rulebook) -> str | None:
    """Return the scale by which a rulebook pays: `one`, `two`, or the odds of another.

    The odds count, and not what the sign calls them. A rulebook that does not offer Perfect Pairs
    pays by none.
    """
    bet = rulebook.bets.get(_BET)
    if bet is None or not bet.offered:
        return None
    odds = (bet.schedule.get(category) for category in _CATEGORIES)
    said = ":".join("-" if each is None else str(each).removesuffix("/1") for each in odds)
    return _NAMED.get(said, said)
