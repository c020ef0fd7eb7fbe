"""A table's own limits, applied over those of its rulebook. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from events.money import MAX_STAKE
from events.types import BetLimits, LimitsSet
from table_core.rules.rulebook import Bet, Rulebook
from table_core.rules.wager_checks import SIDES

__all__ = ["apply_limits", "limit_faults"]


_NO_LIMITS: Final = LimitsSet()
_WHOLE: Final = ("table_maximum", "differential", "patron_maximum", "seat_maximum")
"""The limits over several bets, by their names in a rulebook and in `LimitsSet`."""
_BEYOND: Final[Mapping[str, str]] = {
    "table_maximum": "",
    "differential": "wager spot seat patron",  # where the other side has more
    "patron_maximum": "seat",  # several patrons in one box
    "seat_maximum": "patron",  # one patron in several boxes
}
"""What a bet's minimum binds where stakes may come to it beyond such a limit."""


def apply_limits(rulebook: Rulebook, limits: LimitsSet) -> Rulebook:
    """Return the rulebook with the table's limits applied; its hash stays the file's."""
    if limits == _NO_LIMITS:
        return rulebook
    bets = {
        each.bet: _limited(rulebook.bets[each.bet], each, rulebook.unit)
        for each in _known(rulebook, limits)
    }
    table = rulebook.limits
    return replace(
        rulebook,
        bets=MappingProxyType({**rulebook.bets, **bets}),
        limits=replace(
            table, **{name: getattr(limits, name) or getattr(table, name) for name in _WHOLE}
        ),
    )


def limit_faults(rulebook: Rulebook, limits: LimitsSet) -> Iterator[str]:
    """Yield what is wrong with limits that a person wants to set, a line each.

    With `LimitsSet()`, which sets none, the faults are those of the rulebook's own limits.
    """
    senseless = [*_senseless(rulebook, limits)]
    yield from senseless or _out_of_reach(apply_limits(rulebook, limits))


def _senseless(rulebook: Rulebook, limits: LimitsSet) -> Iterator[str]:
    counts = Counter(each.bet for each in limits.bets)
    yield from (f"{name}: its limits are there twice" for name in counts if counts[name] > 1)
    for each in limits.bets:
        bet = rulebook.bets.get(each.bet)
        if bet is None:
            yield f"{each.bet!r} is not in rulebook {rulebook.id}"
            continue
        step = bet.step if each.step is None else each.step
        limited = _limited(bet, each, rulebook.unit)
        if limited.minimum < 1 or step < 1:
            yield f"{each.bet}: minimum and step are at least 1"
        elif limited.maximum is not None and limited.maximum < limited.minimum:
            yield f"{each.bet}: maximum {limited.maximum} is below minimum {limited.minimum}"
        elif step % rulebook.unit:
            yield f"{each.bet}: step {step} is no multiple of {rulebook.unit}"
        elif each.table_maximum is not None and each.table_maximum < 1:
            yield f"{each.bet}: table_maximum {each.table_maximum} is less than 1"
    for name in _WHOLE:
        value = getattr(limits, name)
        if value is not None and value < 1:
            yield f"{name}: {value} is less than 1"


def _out_of_reach(rulebook: Rulebook) -> Iterator[str]:
    """Yield the limits that no wager can meet."""
    offered = [bet for bet in rulebook.bets.values() if bet.offered]
    for bet in offered:
        if _least(bet) > (most := bet.maximum or MAX_STAKE):
            reach = f"from minimum {bet.minimum} to {most}"
            yield f"{bet.id}: no multiple of step {bet.step} lies {reach}"
        elif bet.table_maximum is not None and bet.table_maximum < _least(bet):
            yield f"{bet.id}: table_maximum {bet.table_maximum} is below {_least(bet)}"
    for name in _WHOLE:
        value = getattr(rulebook.limits, name)
        bound = [bet for bet in offered if name != "differential" or bet.id in SIDES]
        within = [bet for bet in bound if bet.minimum_per not in _BEYOND[name].split()]
        # Each bet that comes to its minimum only within this limit, or else at least one bet.
        due = max(within, key=_least, default=None) or min(bound, key=_least, default=None)
        if value is not None and due is not None and value < _least(due):
            right = f"{_least(due)}, the least that may be wagered on {due.id}"
            yield f"{name}: {value} is below {right}"


def _least(bet: Bet) -> int:
    """Return the smallest amount that may stand and is a multiple of the step."""
    return -(-bet.minimum // bet.step) * bet.step


def _known(rulebook: Rulebook, limits: LimitsSet) -> Iterator[BetLimits]:
    """Yield the limits of bets in the rulebook in force; an older rulebook may have had others."""
    return (each for each in limits.bets if each.bet in rulebook.bets)


def _limited(bet: Bet, limits: BetLimits, unit: int) -> Bet:
    """Return a bet with the table's limits applied.

    What the limits bind is the same for minimum and maximum, unless the rulebook has it so already.
    A step that was set under another version of the rulebook may be no multiple of the unit. The
    winnings of such a stake could not be paid, so the rulebook's own step stays.
    """
    step = limits.step
    return replace(
        bet,
        per=limits.per or bet.per,
        minimum_per=bet.minimum_per if limits.per in {None, bet.per} else limits.per,
        table_maximum=limits.table_maximum or bet.table_maximum,
        minimum=bet.minimum if limits.minimum is None else limits.minimum,
        maximum=bet.maximum if limits.maximum is None else limits.maximum,
        step=bet.step if step is None or step < 1 or step % unit else step,
    )
