"""Checks which wagers a table takes: limits and combinations, each refusal with its code. Pure.

Each wager passes the checks in the order of their codes, against the wagers accepted so far. The
first check that fails refuses the wager, and later checks ignore a refused wager.
`main_wager_required` comes last and considers the whole set, because a side bet may be placed
before the wager it needs.
"""

from collections.abc import Sequence
from typing import Final

from events.commands.base import Refusal
from events.money import MAX_STAKE
from events.types.table import Wager
from table_core.refusals import refuse
from table_core.rules.rulebook import Requirement, Rulebook
from table_core.rules.wager_totals import WagerTotals, WagerTotalsBuilder, add_wagers
from table_core.rules.wagers import BET_KINDS, patron_of

__all__ = [
    "MAX_SEAT",
    "MIN_SEAT",
    "SIDES",
    "check_further_wagers",
    "check_wagers",
    "differential_refusal",
    "unsupported_side_bets",
    "withdrawal_refusal",
]

MIN_SEAT: Final = 1
MAX_SEAT: Final = 99

SIDES: Final = {"player": "banker", "banker": "player"}
_NOTHING: Final = WagerTotals()
_MAIN: Final = frozenset({"player", "banker", "tie"})
# The four betting options of seed 3; Player and Banker are the two sides of one.
_OPTION: Final = {
    "player": "main",
    "banker": "main",
    "tie": "tie",
    "lucky8_player": "lucky8_player",
    "lucky8_banker": "lucky8_banker",
}


class _AcceptedWagers:
    """The wagers accepted so far, under one rulebook. It never leaves one call."""

    def __init__(self, rulebook: Rulebook, standing: WagerTotals) -> None:
        self.rulebook = rulebook
        self.tally = WagerTotalsBuilder(standing)

    def has(self, wager: Wager, *bets: str) -> bool:
        """Return whether the patron of `wager` has one of `bets`."""
        return not self.tally.spots(patron_of(wager)).keys().isdisjoint(bets)


def check_wagers(
    rulebook: Rulebook,
    standing: Sequence[Wager],
    asked: Sequence[Wager],
) -> tuple[Refusal | None, ...]:
    """Check the wagers asked for, in that order. None comes after them: side bets need main wagers.

    Args:
        rulebook: the one in force.
        standing: the wagers already placed; they are not checked again.
        asked: the new wagers, however odd their texts and amounts.

    Returns:
        For each new wager its refusal, or None where it is accepted. Codes, in the order of the
        checks: `unknown_bet` `not_offered` `invalid_stake` `not_a_step` `above_maximum`
        `below_minimum` `table_maximum` `differential` `invalid_seat` `duplicate_wager`
        `opposite_sides` `too_many_options` `main_wager_required`.
    """
    so_far = _AcceptedWagers(
        rulebook, add_wagers(WagerTotals(), standing) if standing else _NOTHING
    )
    refusals = _each(asked, so_far)
    judged = zip(asked, refusals, strict=True)
    return tuple([refusal or _main_wager_required(w, so_far) for w, refusal in judged])


def check_further_wagers(
    rulebook: Rulebook, standing: WagerTotals, asked: Sequence[Wager]
) -> tuple[Refusal | None, ...]:
    """Check as `check_wagers` does, against known totals, and before more wagers come."""
    return tuple(_each(asked, _AcceptedWagers(rulebook, standing)))


def unsupported_side_bets(
    rulebook: Rulebook, wagers: Sequence[Wager], standing: WagerTotals | None = None
) -> tuple[Refusal | None, ...]:
    """Return `main_wager_required` for each side bet that lacks the wager it needs.

    `decide` calls it at the close of betting, and when a patron withdraws a main wager.

    Args:
        rulebook: the one in force.
        wagers: the wagers to check.
        standing: totals of all wagers placed; None where these are `wagers`.
    """
    if standing is None:
        standing = add_wagers(WagerTotals(), wagers)
    so_far = _AcceptedWagers(rulebook, standing)
    return tuple(_main_wager_required(wager, so_far) for wager in wagers)


def withdrawal_refusal(
    rulebook: Rulebook, before: WagerTotals, after: WagerTotals
) -> Refusal | None:
    """Return `differential` where a withdrawal would leave one side too far ahead; else None.

    Others have wagered against the wagers on the table, and those wagers bound the house's risk. So
    a withdrawal may not leave a difference that a placement could not create. A withdrawal from the
    side that is ahead is always allowed.
    """
    return differential_refusal(rulebook, before, after)


def differential_refusal(
    rulebook: Rulebook, before: WagerTotals, after: WagerTotals
) -> Refusal | None:
    """Return `differential` where a set of wagers widens a gap beyond the limit; else None."""
    limit = rulebook.limits.differential
    if limit is None:
        return None
    for bet, other in SIDES.items():
        ahead = after.by_bet.get(bet, 0) - after.by_bet.get(other, 0)
        if ahead > max(limit, before.by_bet.get(bet, 0) - before.by_bet.get(other, 0)):
            return refuse(
                "differential",
                f"{bet} would be {ahead} ahead of {other}; the differential is {limit}",
            )
    return None


def _each(asked: Sequence[Wager], so_far: _AcceptedWagers) -> list[Refusal | None]:
    refusals: list[Refusal | None] = []
    for wager in asked:
        refusal = _first_objection(wager, so_far)
        if refusal is None:
            so_far.tally.add(wager)
        refusals.append(refusal)
    return refusals


def _first_objection(wager: Wager, so_far: _AcceptedWagers) -> Refusal | None:
    """Return the first refusal, in the order of `check_wagers`'s codes."""
    return (
        _wrong_wager(wager, so_far.rulebook)
        or _beyond_its_limits(wager, so_far)
        or _beyond_the_tables_limits(wager, so_far)
        or _at_odds_with_others(wager, so_far)
    )


# ---- the bet and its stake ----


def _wrong_wager(wager: Wager, rulebook: Rulebook) -> Refusal | None:
    """Check for `unknown_bet` `not_offered` `invalid_stake` `not_a_step`."""
    if wager.bet not in BET_KINDS:
        return refuse("unknown_bet", f"no such bet as {wager.bet!r}")
    bet = rulebook.bets.get(wager.bet)
    if bet is None or not bet.offered:
        return refuse("not_offered", f"{wager.bet} is not offered under {rulebook.id}")
    if not 0 < wager.stake <= MAX_STAKE:
        text = f"a stake is a whole number of minor units, from 1 to {MAX_STAKE}"
        return refuse("invalid_stake", text)
    if wager.stake % bet.step:
        return refuse("not_a_step", f"{wager.stake} is no multiple of {bet.step}")
    return None


# ---- limits ----


def _beyond_its_limits(wager: Wager, so_far: _AcceptedWagers) -> Refusal | None:
    """Check for `above_maximum` `below_minimum`."""
    bet, stake = so_far.rulebook.bets[wager.bet], wager.stake
    if bet.maximum is not None:
        if bet.per == "spot":
            spots = so_far.tally.spots(patron_of(wager))
            stake += spots.get(wager.bet, {}).get(str(wager.seat), 0)
        if stake > bet.maximum:
            text = f"{stake} on {wager.bet} is above its maximum of {bet.maximum} for a {bet.per}"
            return refuse("above_maximum", text)
    if wager.stake < bet.minimum:
        text = f"{wager.stake} on {wager.bet} is below its minimum of {bet.minimum}"
        return refuse("below_minimum", text)
    return None


def _beyond_the_tables_limits(wager: Wager, so_far: _AcceptedWagers) -> Refusal | None:
    """Check for `table_maximum`, and for `differential` where the wager widens the gap."""
    limits, tally = so_far.rulebook.limits, so_far.tally
    maximum, staked = limits.table_maximum, tally.staked + wager.stake
    if maximum is not None and staked > maximum:
        text = f"all stakes together would be {staked}, above the table's maximum of {maximum}"
        return refuse("table_maximum", text)
    limit, other = limits.differential, SIDES.get(wager.bet)
    if limit is not None and other is not None:
        ahead = tally.by_bet.get(wager.bet, 0) + wager.stake - tally.by_bet.get(other, 0)
        if ahead > limit:
            text = f"{wager.bet} would be {ahead} ahead of {other}; the differential is {limit}"
            return refuse("differential", text)
    return None


# ---- the patron and what else the patron has ----


def _at_odds_with_others(wager: Wager, so_far: _AcceptedWagers) -> Refusal | None:
    """Check for `invalid_seat` `duplicate_wager` `opposite_sides` `too_many_options`."""
    if not MIN_SEAT <= wager.seat <= MAX_SEAT:
        return refuse("invalid_seat", f"seats are {MIN_SEAT} to {MAX_SEAT}")
    if so_far.tally.known(wager.id):
        return refuse("duplicate_wager", f"wager {wager.id!r} stands already")
    options, other = so_far.rulebook.options, SIDES.get(wager.bet)
    if other is not None and not options.allow_opposite and so_far.has(wager, other):
        return refuse("opposite_sides", f"the patron has {other} already")
    if options.max_options is not None and _too_many_options(wager, so_far, options.max_options):
        names = ", ".join(dict.fromkeys(_OPTION.values()))
        return refuse("too_many_options", f"a patron may play {options.max_options} of {names}")
    return None


def _too_many_options(wager: Wager, so_far: _AcceptedWagers, most: int) -> bool:
    if wager.bet not in _OPTION:
        return False
    bets = {wager.bet, *so_far.tally.spots(patron_of(wager))}
    return len({_OPTION[bet] for bet in bets if bet in _OPTION}) > most


def _main_wager_required(wager: Wager, so_far: _AcceptedWagers) -> Refusal | None:
    bet = so_far.rulebook.bets.get(wager.bet)
    if bet is None or bet.requirement is Requirement.NONE:
        return None
    if bet.requirement is Requirement.ANY_MAIN:
        if so_far.has(wager, *_MAIN):
            return None
        text = f"{wager.bet} needs Player, Banker or tie of the same patron beside it"
    else:
        spots = so_far.tally.spots(patron_of(wager))
        if any(str(wager.seat) in spots.get(side, {}) for side in SIDES):
            return None
        text = f"{wager.bet} needs Player or Banker of the same patron in its box"
    return Refusal(code="main_wager_required", text=text)
