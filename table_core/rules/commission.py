"""The commission on a win: the house's part of the winnings, and its rounding. Pure.

`table_core.rules.commission_owed` records who owes it and when it is collected.
"""

from events.money import scale
from events.types.table import Wager
from table_core.rules.rulebook import Rulebook

__all__ = ["commission_of", "commission_on"]


def commission_on(rulebook: Rulebook, wager: Wager) -> int:
    """Return the commission that a wager owes if it wins, by the best of its odds; else nothing."""
    bet = rulebook.bets.get(wager.bet)
    if bet is None or not bet.commission:
        return 0
    payout = rulebook.rounding.payout
    return max(
        commission_of(rulebook, scale(wager.stake, odds, unit=rulebook.unit, rounding=payout))
        for odds in bet.schedule.values()
        if odds is not None
    )


def commission_of(rulebook: Rulebook, winnings: int) -> int:
    """Return the commission on winnings, never more than the winnings."""
    terms = rulebook.commission
    if terms is None:
        return 0
    counted = -(-winnings // terms.block) * terms.block
    rounding = rulebook.rounding.commission
    return min(winnings, scale(counted, terms.rate, unit=rulebook.unit, rounding=rounding))
