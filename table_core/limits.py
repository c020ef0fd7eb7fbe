"""A table's own limits laid over the rulebook's. Pure."""

from collections.abc import Iterator
from types import MappingProxyType

from msgspec.structs import replace

from events.money import MAX_STAKE
from events.wagering import BetLimits, LimitsSet
from table_core.placement import SIDES
from table_core.rulebook import Bet, Rulebook

__all__ = ["limit_faults", "with_limits"]


def with_limits(rulebook: Rulebook, limits: LimitsSet) -> Rulebook:
    """The rulebook as far as placing wagers goes; its hash stays the file's."""
    if limits == LimitsSet():
        return rulebook
    bets = {each.bet: _limited(rulebook.bets[each.bet], each) for each in _known(rulebook, limits)}
    table = rulebook.limits
    return replace(
        rulebook,
        bets=MappingProxyType({**rulebook.bets, **bets}),
        limits=replace(
            table,
            table_maximum=limits.table_maximum or table.table_maximum,
            differential=limits.differential or table.differential,
        ),
    )


def limit_faults(rulebook: Rulebook, limits: LimitsSet) -> Iterator[str]:
    """What is wrong with limits that a person wants to set, a line each."""
    for each in limits.bets:
        bet = rulebook.bets.get(each.bet)
        if bet is None:
            yield f"{each.bet!r} is not in rulebook {rulebook.id}"
            continue
        limited = _limited(bet, each)
        if limited.minimum < 1 or limited.step < 1:
            yield f"{each.bet}: minimum and step are at least 1"
        elif limited.maximum is not None and limited.maximum < limited.minimum:
            yield f"{each.bet}: maximum {limited.maximum} is below minimum {limited.minimum}"
        elif limited.step % rulebook.unit:
            yield f"{each.bet}: step {limited.step} is no multiple of {rulebook.unit}"
        elif _least(limited) > (most := limited.maximum or MAX_STAKE):
            yield (
                f"{each.bet}: no multiple of step {limited.step} lies from minimum "
                f"{limited.minimum} to {most}"
            )
    yield from _table_faults(rulebook, limits)


def _table_faults(rulebook: Rulebook, limits: LimitsSet) -> Iterator[str]:
    """Of the limits over all bets: below 1, or below the least that must be wagered."""
    bets = with_limits(rulebook, limits).bets.values()
    offered = {bet.id: _least(bet) for bet in bets if bet.offered and bet.step > 0}
    sides = [least for bet, least in offered.items() if bet in SIDES]
    for name, value, leasts in (
        ("table_maximum", limits.table_maximum, offered.values()),
        ("differential", limits.differential, sides),
    ):
        if value is None:
            continue
        if value < 1:
            yield f"{name}: {value} is less than 1"
        elif value < min(leasts, default=0):
            yield f"{name}: {value} is below {min(leasts)}, the least that may be wagered"


def _least(bet: Bet) -> int:
    """The smallest stake that is a multiple of the step."""
    return -(-bet.minimum // bet.step) * bet.step


def _known(rulebook: Rulebook, limits: LimitsSet) -> Iterator[BetLimits]:
    """Limits of bets that the rulebook in force has; an older one may have had others."""
    return (each for each in limits.bets if each.bet in rulebook.bets)


def _limited(bet: Bet, limits: BetLimits) -> Bet:
    return replace(
        bet,
        minimum=bet.minimum if limits.minimum is None else limits.minimum,
        maximum=bet.maximum if limits.maximum is None else limits.maximum,
        step=bet.step if limits.step is None else limits.step,
    )
