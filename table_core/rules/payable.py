"""The table's chips, and whether the payments of a rulebook can be made in them. Pure.

A payment is rounded to the rulebook's `unit`. Where the smallest chip is worth more, a dealer meets
payments that no chips make up: half of 1.00 on a Banker six where the smallest chip is 1.00. A
site's remedy is a `unit` of its smallest chip: payouts are then rounded up to whole chips and
commission down, both in the patron's favour, and stakes are whole chips.
"""

from math import gcd
from typing import Final

from msgspec import Struct

from events.money import Odds, scale
from table_core.rules.commission_owed import commission_of
from table_core.rules.rulebook import Bet, Rulebook

__all__ = ["Unpayable", "chip_values", "first_unpayable"]

# In whole units of the currency; a rulebook of form 2 may name others.
_USUAL: Final = (1, 5, 25, 100, 500, 1_000, 5_000, 10_000)
_STAKES_TRIED: Final = 200


class Unpayable(Struct, frozen=True, kw_only=True):
    """A payment that the table's chips cannot make up; amounts in minor units.

    Args:
        bet: the bet's id.
        category: as which it wins; empty where the stake itself is none of chips.
        stake: that is accepted.
        paid: winnings less commission; the stake where that is none of chips.
        chip: the smallest chip.
    """

    bet: str
    category: str
    stake: int
    paid: int
    chip: int


def chip_values(rulebook: Rulebook) -> tuple[int, ...]:
    """Return the values of the table's chips in minor units, ascending; never none."""
    if rulebook.chips:
        return rulebook.chips
    unit, one = rulebook.unit, 10**rulebook.decimals
    fitting = tuple(value * one for value in _USUAL if value * one % unit == 0)
    return fitting or (unit, 5 * unit, 10 * unit)


def first_unpayable(rulebook: Rulebook) -> Unpayable | None:
    """Return an example of a payment that the chips cannot make up; None where they make up all.

    Payments of stakes in chips come first. A stake of less than a chip is possible where wagers do
    not come from the table's layout.
    """
    chip = chip_values(rulebook)[0]
    if rulebook.unit % chip == 0:
        return None
    bets = [bet for bet in rulebook.bets.values() if bet.offered]
    for bet in bets:
        step = bet.step * chip // gcd(bet.step, chip)
        for category, odds in bet.schedule.items():
            if odds is not None and not _whole_chips(rulebook, bet, odds, step, chip):
                first = -(-bet.minimum // step)
                for times in range(first, first + _STAKES_TRIED):
                    stake = times * step
                    won = scale(stake, odds, unit=rulebook.unit, rounding=rulebook.rounding.payout)
                    paid = won - (commission_of(rulebook, won) if bet.commission else 0)
                    if paid % chip:
                        return Unpayable(
                            bet=bet.id, category=category, stake=stake, paid=paid, chip=chip
                        )
    for bet in bets:
        if bet.step % chip:
            stake = -(-bet.minimum // bet.step) * bet.step
            stake += 0 if stake % chip else bet.step
            return Unpayable(bet=bet.id, category="", stake=stake, paid=stake, chip=chip)
    return None


def _whole_chips(rulebook: Rulebook, bet: Bet, odds: Odds, step: int, chip: int) -> bool:
    """Return whether every stake in steps of `step` wins whole chips without any rounding."""
    terms = rulebook.commission
    whole = step * odds.num % (odds.den * chip) == 0
    if not whole or not bet.commission or terms is None:
        return whole
    won = step * odds.num // odds.den
    counted = won if won % terms.block == 0 else terms.block
    return counted * terms.rate.num % (terms.rate.den * chip) == 0
