"""The house's edge of each wager on a full shoe, exactly, without counting deals again.

The categories of a deal depend on the kind of bet, its variant and the number of decks, and not on
what a rulebook pays for them. `table_core.odds.full_shoes` holds how many deals have which
categories, so the edge of any schedule is a sum of a few products. A kind or variant that is not in
there is counted.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from math import perm
from typing import Final

from table_core.odds.deals import (
    MAX_DEAL_CARDS,
    DealClass,
    classes_by_pairs,
    classes_by_suits,
    merged_by_totals,
)
from table_core.odds.full_shoes import FULL_SHOES
from table_core.rules.rulebook import Bet, Commission, Rulebook
from table_core.rules.rulebook_file import DECKS, full_shoe
from table_core.rules.settlement import categories_of
from table_core.rules.wagers import BET_KINDS, JudgeScope

__all__ = ["Categories", "count_categories", "deals_by_categories", "house_edge", "house_edges"]

Categories = tuple[str, ...]
"""The categories of a deal, the most special first."""
_CARDS_OF_A_DECK: Final = 52


def house_edges(rulebook: Rulebook) -> dict[str, Fraction]:
    """Return the edge of each bet of the rulebook, offered or not.

    The edge is the share of a stake that the house keeps on average. It holds for every stake of
    which all payouts and commissions are whole units; see `table_core.odds.exact` for what else
    stays out.
    """
    return {
        name: house_edge(bet, rulebook.commission, rulebook.decks)
        for name, bet in rulebook.bets.items()
    }


def house_edge(bet: Bet, commission: Commission | None, decks: int) -> Fraction:
    """Return the edge of one bet; `commission` as the rulebook has it."""
    rate = Fraction(0)
    if bet.commission and commission is not None:
        rate = Fraction(commission.rate.num, commission.rate.den)
    deals = perm(decks * _CARDS_OF_A_DECK, MAX_DEAL_CARDS)
    kept = Fraction(deals)
    for categories, count in deals_by_categories(bet, decks).items():
        listed = next((each for each in categories if each in bet.schedule), None)
        if listed is not None:
            odds = bet.schedule[listed]
            won = Fraction(odds.num, odds.den) * (1 - rate) if odds else Fraction(0)
            kept -= count * (1 + won)
    return kept / deals


def deals_by_categories(bet: Bet, decks: int) -> Mapping[Categories, int]:
    """Return how many ordered six-card deals of full decks have which categories.

    Deals without any, in which the wager loses, are left out.
    """
    judges = BET_KINDS[bet.id].judges.items()
    variant = next((name for name, judge in judges if judge is bet.judge), "")
    return _known().get((bet.id, variant, decks)) or count_categories(bet.id, variant, decks)


@cache
def count_categories(bet: str, variant: str, decks: int) -> Mapping[Categories, int]:
    """Count the deals of full decks by their categories, one class of deals after the other."""
    kind = BET_KINDS[bet]
    counted: Counter[Categories] = Counter()
    for outcome, deals in _classes(kind.looks, decks):
        if categories := categories_of(kind.judges[variant], outcome):
            counted[categories] += deals
    return counted


@cache
def _classes(looks: JudgeScope, decks: int) -> Iterable[DealClass]:
    shoe = full_shoe(decks)
    if looks == "totals":
        return merged_by_totals(_classes("pairs", decks))
    return list(classes_by_pairs(shoe) if looks == "pairs" else classes_by_suits(shoe))


@cache
def _known() -> Mapping[tuple[str, str, int], Mapping[Categories, int]]:
    """Return the table of `full_shoes` by bet, variant and decks."""
    known: dict[tuple[str, str, int], dict[Categories, int]] = {}
    for line in FULL_SHOES.strip().splitlines():
        name, categories, *deals = line.split()
        bet, _, named = name.partition(":")
        variant = named or next(iter(BET_KINDS[bet].judges))
        for decks, count in zip(DECKS, deals, strict=True):
            row = known.setdefault((bet, variant, decks), {})
            row[tuple(categories.split("+"))] = int(count)
    return known
