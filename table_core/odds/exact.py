"""Exact odds: the wins and losses of each wager of a rulebook, by counting every deal of a shoe.

There is no simulation and no float. The deals come in classes (`table_core.odds.deals`), and
`table_core.rules.settlement` itself judges each class, so odds and settlements use the same judges
and schedules. The odds are those of a single wager. They leave out whatever depends on stakes: an
aggregate maximum, rounding to the payable unit, and commission by the block.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import perm
from typing import Final

from msgspec import Struct

from events.cards import Card
from events.errors import InputError, OurBug
from events.types import Wager
from table_core.odds.deals import (
    MAX_DEAL_CARDS,
    DealClass,
    classes_by_pairs,
    classes_by_suits,
    merged_by_totals,
)
from table_core.rules.rulebook import Bet, Rulebook
from table_core.rules.settlement import settle
from table_core.rules.wagers import BET_KINDS, JudgeScope

__all__ = ["BetOdds", "CategoryOdds", "exact_odds"]

_LOSE = "lose"
_SPLITS_KEPT: Final = 8  # of two or three shoes


class CategoryOdds(Struct, frozen=True):
    """One way in which a wager can come out.

    Args:
        pays: net, to one: the schedule's odds less commission; 0 for a push, -1 for a loss.
        probability: over all deals.
    """

    pays: Fraction
    probability: Fraction


class BetOdds(Struct, frozen=True):
    """The odds of a wager.

    Args:
        edge: the share of a stake that the house keeps on average; negative where the patron gains.
        categories: those that the schedule lists, in its order, and then `lose`.
    """

    edge: Fraction
    categories: Mapping[str, CategoryOdds]


def exact_odds(rulebook: Rulebook, shoe: Mapping[Card, int]) -> dict[str, BetOdds]:
    """Return the odds of every wager in the rulebook.

    Args:
        rulebook: the bets and their schedules.
        shoe: the number of copies of each face left in it.

    Raises:
        InputError: the shoe has fewer cards than a coup can need.
    """
    cards = sum(shoe.values())
    if cards < MAX_DEAL_CARDS:
        raise InputError(f"cards left: {cards}; a coup can need {MAX_DEAL_CARDS}")
    bets: dict[JudgeScope, list[str]] = {"totals": [], "pairs": [], "suits": []}
    for bet in rulebook.bets:
        bets[BET_KINDS[bet].looks].append(bet)
    composition = tuple(shoe.get(card, 0) for card in Card)
    deals: dict[str, Counter[str]] = {}
    for looks, names in bets.items():
        if names:
            deals |= _count(rulebook, names, _classes(looks, composition))
    if any(counter.total() != perm(cards, MAX_DEAL_CARDS) for counter in deals.values()):
        raise OurBug("the classes of deals do not add up to all deals")
    return {
        name: _bet_odds(rulebook, bet, deals[name], perm(cards, MAX_DEAL_CARDS))
        for name, bet in rulebook.bets.items()
    }


@lru_cache(maxsize=_SPLITS_KEPT)
def _classes(looks: JudgeScope, composition: tuple[int, ...]) -> tuple[DealClass, ...]:
    """Return the deals of a shoe, split as finely as judges of a scope look.

    They are the same for every rulebook, so those of the newest shoes are kept.

    Args:
        looks: of the judges.
        composition: the number of copies left of each face, in the order of `Card`.
    """
    shoe = dict(zip(Card, composition, strict=True))
    if looks == "totals":
        return tuple(merged_by_totals(_classes("pairs", composition)))
    return tuple(classes_by_pairs(shoe) if looks == "pairs" else classes_by_suits(shoe))


def _count(
    rulebook: Rulebook, bets: Iterable[str], classes: Iterable[DealClass]
) -> dict[str, Counter[str]]:
    """Return, for each bet, the number of deals settled under each category."""
    wagers = [Wager(id=bet, seat=1, bet=bet, stake=rulebook.unit) for bet in bets]
    counted: dict[str, Counter[str]] = {bet: Counter() for bet in bets}
    for outcome, deals in classes:
        for line in settle(rulebook, outcome, wagers):
            counted[line.bet][line.category] += deals
    return counted


def _bet_odds(rulebook: Rulebook, bet: Bet, deals: Counter[str], of_all: int) -> BetOdds:
    categories = {
        category: CategoryOdds(_pays(rulebook, bet, category), Fraction(deals[category], of_all))
        for category in (*bet.schedule, _LOSE)
    }
    edge = -sum(row.pays * row.probability for row in categories.values())
    return BetOdds(Fraction(edge), categories)


def _pays(rulebook: Rulebook, bet: Bet, category: str) -> Fraction:
    if category == _LOSE:
        return Fraction(-1)
    odds = bet.schedule[category]
    if odds is None:
        return Fraction(0)
    kept = Fraction(0)
    if bet.commission and rulebook.commission:
        kept = Fraction(rulebook.commission.rate.num, rulebook.commission.rate.den)
    return Fraction(odds.num, odds.den) * (1 - kept)
