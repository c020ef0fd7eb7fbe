"""Checks which wagers a table takes: limits and combinations, each refusal with its code. Pure.

Each wager passes the checks in the order of their codes, against the wagers accepted so far. The
first check that fails refuses the wager, and later checks ignore a refused wager.
`main_wager_required` comes last and considers the whole set, because a side bet may be placed
before the wager it needs.

A bet's minimum and maximum bind what its rulebook says (`Bet.per`). A maximum counts in the order
of the wagers. A minimum counts once all wagers of the call are there, so two wagers that are below
it by themselves may reach it together.
"""

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import Final

from events.commands import Refusal
from events.money import MAX_STAKE
from events.types import Per, Wager
from table_core.refusals import refuse
from table_core.rules.rulebook import Bet, Requirement, Rulebook
from table_core.rules.wager_totals import WagerTotals, WagerTotalsBuilder, add_wagers
from table_core.rules.wagers import BET_KINDS, patron_of

__all__ = [
    "MAIN",
    "MAX_SEAT",
    "MIN_SEAT",
    "OPTIONS",
    "SIDES",
    "any_needs_main",
    "below_minimum",
    "check_further_wagers",
    "check_wagers",
    "differential_refusal",
    "lacks_main",
    "mains_for",
    "unsupported_side_bets",
    "withdrawal_refusal",
]

MIN_SEAT: Final = 1
MAX_SEAT: Final = 99

SIDES: Final = {"player": "banker", "banker": "player"}
_NOTHING: Final = WagerTotals()
MAIN: Final = frozenset({"player", "banker", "tie"})
# The four betting options of seed 3; Player and Banker are the two sides of one.
OPTIONS: Final = {
    "player": "main",
    "banker": "main",
    "tie": "tie",
    "lucky8_player": "lucky8_player",
    "lucky8_banker": "lucky8_banker",
}


class _AcceptedWagers:
    """The wagers accepted so far, under one rulebook. It never leaves one call."""

    def __init__(
        self,
        rulebook: Rulebook,
        standing: WagerTotals,
        asked: Iterable[Wager] = (),
        placed: Container[str] = (),
    ) -> None:
        self.rulebook = rulebook
        self.placed = placed
        self.accepted: set[str] = set()  # their ids
        self.tally = WagerTotalsBuilder(standing)
        # What would stand with all that is asked, of everything that a minimum binds.
        self.reached: dict[_Bound, int] = {}
        for wager in asked:
            if wager.stake > 0 and (bet := _with_minimum(rulebook, wager)) is not None:
                bound = _bound(bet.minimum_per, wager)
                before = self.reached.get(bound, _held(self.tally, bet.minimum_per, wager))
                self.reached[bound] = before + wager.stake

    def has(self, wager: Wager, *bets: str) -> bool:
        """Return whether the patron of `wager` has one of `bets`."""
        return not self.tally.spots(patron_of(wager)).keys().isdisjoint(bets)


def check_wagers(
    rulebook: Rulebook,
    standing: Collection[Wager],
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
        `below_minimum` `patron_maximum` `seat_maximum` `table_maximum` `differential`
        `invalid_seat` `duplicate_wager` `opposite_sides` `too_many_options`
        `main_wager_required`. A wager that could stand only with another that is refused may be
        `below_minimum`, `differential` or `main_wager_required` as well.
    """
    before = add_wagers(WagerTotals(), standing) if standing else _NOTHING
    placed = {wager.id for wager in standing}
    refusals: list[Refusal | None] = [None] * len(asked)
    needed = True
    # Each round judges those again that stand so far, until none needed one that was refused.
    while needed:
        places = [place for place, refusal in enumerate(refusals) if refusal is None]
        left = [asked[place] for place in places]
        so_far = _AcceptedWagers(rulebook, before, left, placed)
        fails = _each(left, so_far)
        needed = bool(so_far.reached) and any(fails)
        if not needed:
            each = zip(left, fails, strict=True)
            alone = [None if no else _main_wager_required(wager, so_far) for wager, no in each]
            needed = any(alone)
            fails = [no or lacks for no, lacks in zip(fails, alone, strict=True)]
        for place, refusal in zip(places, fails, strict=True):
            refusals[place] = refusal
    return tuple(refusals)


def check_further_wagers(
    rulebook: Rulebook, standing: WagerTotals, placed: Container[str], asked: Sequence[Wager]
) -> tuple[Refusal | None, ...]:
    """Check as `check_wagers` does, against known totals, and before more wagers come.

    A side bet without its main wager is left to the close of betting, where the rulebook lets it
    come first.

    Args:
        rulebook: the one in force.
        standing: totals of all wagers placed.
        placed: their ids.
        asked: the new wagers.
    """
    so_far = _AcceptedWagers(rulebook, standing, asked, placed)
    refusals = _each(asked, so_far)
    if not rulebook.options.side_bet_first:
        each = zip(asked, refusals, strict=True)
        refusals = [refusal or _main_wager_required(wager, so_far) for wager, refusal in each]
    return tuple(refusals)


def unsupported_side_bets(
    rulebook: Rulebook, wagers: Collection[Wager], standing: WagerTotals | None = None
) -> tuple[Refusal | None, ...]:
    """Return `main_wager_required` for each side bet that lacks the wager it needs.

    `decide` calls it at the close of betting.

    Args:
        rulebook: the one in force.
        wagers: the wagers to check.
        standing: totals of all wagers placed; None where these are `wagers`.
    """
    if standing is None:
        standing = add_wagers(WagerTotals(), wagers)
    so_far = _AcceptedWagers(rulebook, standing)
    return tuple(_main_wager_required(wager, so_far) for wager in wagers)


def below_minimum(
    rulebook: Rulebook, wagers: Sequence[Wager], standing: WagerTotals
) -> tuple[Refusal | None, ...]:
    """Return `below_minimum` for each wager of which too little stands.

    Args:
        rulebook: the one in force.
        wagers: some that stand, or that were removed; nothing left is not too little.
        standing: totals of all wagers placed.
    """
    so_far = _AcceptedWagers(rulebook, standing)
    return tuple(_still_below(wager, so_far) for wager in wagers)


def any_needs_main(rulebook: Rulebook, wagers: Iterable[Wager]) -> bool:
    """Return whether one of the wagers is a side bet that needs a main wager."""
    for name in {wager.bet for wager in wagers}:
        bet = rulebook.bets.get(name)
        if bet is not None and bet.requirement is not Requirement.NONE:
            return True
    return False


def mains_for(rulebook: Rulebook, bet: Bet) -> Collection[str]:
    """Return the main wagers of which a bet needs one; none where it needs none."""
    if bet.requirement is Requirement.NONE:
        return ()
    tie = rulebook.options.tie_is_main
    with_tie = bet.requirement is Requirement.ANY_MAIN if tie is None else tie
    return MAIN if with_tie else SIDES


def lacks_main(
    rulebook: Rulebook, bet: Bet, seat: str, spots: Mapping[str, Mapping[str, int]]
) -> bool:
    """Return whether a bet at a seat lacks the wager it needs among these stakes of its patron."""
    any_box, mains = bet.requirement is Requirement.ANY_MAIN, mains_for(rulebook, bet)
    theirs = [spots[main] for main in mains if main in spots]
    return bool(mains) and not any(any_box or seat in seats for seats in theirs)


def withdrawal_refusal(
    rulebook: Rulebook, before: WagerTotals, after: WagerTotals, withdrawn: Sequence[Wager]
) -> Refusal | None:
    """Return `differential` or `below_minimum` where a withdrawal would leave too much or little.

    Others have wagered against the wagers on the table, and those wagers bound the house's risk. So
    a withdrawal may not leave a difference that a placement could not create. A withdrawal from the
    side that is ahead is always allowed. Nor may it leave less than a bet's minimum, unless it
    leaves nothing.
    """
    for left in filter(None, below_minimum(rulebook, withdrawn, after)):
        return refuse(left.code, f"{left.text}; take all of it back")
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
            so_far.accepted.add(wager.id)
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


# ---- what a limit binds ----


_Bound = tuple[str, str, int | None]
"""A patron or a box, a bet, and a seat: what one minimum or maximum binds together."""


def _bound(per: Per, wager: Wager) -> _Bound:
    owner = "" if per == "seat" else patron_of(wager)
    return owner, wager.bet, None if per == "patron" else wager.seat


def _held(tally: WagerTotalsBuilder, per: Per, wager: Wager) -> int:
    """Return what stands already of that which a limit binds together with this wager."""
    if per == "wager":
        return 0
    if per == "seat":
        return tally.box(wager.seat).get(wager.bet, 0)
    boxes = tally.spots(patron_of(wager)).get(wager.bet, {})
    return sum(boxes.values()) if per == "patron" else boxes.get(str(wager.seat), 0)


def _with_minimum(rulebook: Rulebook, wager: Wager) -> Bet | None:
    """Return the wager's bet where its minimum binds more than a wager and a step may miss it."""
    bet = rulebook.bets.get(wager.bet)
    if bet is None or bet.minimum_per == "wager" or bet.minimum <= bet.step:
        return None
    return bet


# ---- limits ----


def _beyond_its_limits(wager: Wager, so_far: _AcceptedWagers) -> Refusal | None:
    """Check for `above_maximum` `below_minimum` `patron_maximum` `seat_maximum`."""
    bet, tally, limits = so_far.rulebook.bets[wager.bet], so_far.tally, so_far.rulebook.limits
    if bet.maximum is not None:
        stake = wager.stake + _held(tally, bet.per, wager)
        if stake > bet.maximum:
            text = f"{stake} on {wager.bet} is above its maximum of {bet.maximum} for a {bet.per}"
            return refuse("above_maximum", text)
    if wager.stake < bet.minimum:
        reached = so_far.reached.get(_bound(bet.minimum_per, wager), wager.stake)
        if reached < bet.minimum:
            text = f"{reached} on {wager.bet} is below its minimum of {bet.minimum}"
            return refuse("below_minimum", text)
    if limits.patron_maximum is not None:
        bets = tally.spots(patron_of(wager)).values()
        stake = wager.stake + sum(sum(boxes.values()) for boxes in bets)
        if stake > limits.patron_maximum:
            text = f"{stake} of one patron is above the maximum of {limits.patron_maximum}"
            return refuse("patron_maximum", text)
    if limits.seat_maximum is not None:
        stake = wager.stake + sum(tally.box(wager.seat).values())
        if stake > limits.seat_maximum:
            text = f"{stake} in box {wager.seat} is above the maximum of {limits.seat_maximum}"
            return refuse("seat_maximum", text)
    return None


def _still_below(wager: Wager, so_far: _AcceptedWagers) -> Refusal | None:
    """Check for `below_minimum` once it is known what else stands."""
    bet = _with_minimum(so_far.rulebook, wager)
    held = 0 if bet is None else _held(so_far.tally, bet.minimum_per, wager)
    if bet is None or held == 0 or held >= bet.minimum:
        return None
    text = f"{held} on {wager.bet} is below its minimum of {bet.minimum}"
    return refuse("below_minimum", text)


def _beyond_the_tables_limits(wager: Wager, so_far: _AcceptedWagers) -> Refusal | None:
    """Check for `table_maximum`, and for `differential` where the wager widens the gap."""
    limits, tally = so_far.rulebook.limits, so_far.tally
    of_bet = so_far.rulebook.bets[wager.bet].table_maximum
    on_bet = tally.by_bet.get(wager.bet, 0) + wager.stake
    if of_bet is not None and on_bet > of_bet:
        text = f"all stakes on {wager.bet} would be {on_bet}, above its maximum of {of_bet}"
        return refuse("table_maximum", text)
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
    if wager.id in so_far.accepted or wager.id in so_far.placed:
        return refuse("duplicate_wager", f"wager {wager.id!r} stands already")
    options, other = so_far.rulebook.options, SIDES.get(wager.bet)
    if other is not None and not options.allow_opposite and so_far.has(wager, other):
        return refuse("opposite_sides", f"the patron has {other} already")
    if options.max_options is not None and _too_many_options(wager, so_far, options.max_options):
        names = ", ".join(dict.fromkeys(OPTIONS.values()))
        return refuse("too_many_options", f"a patron may play {options.max_options} of {names}")
    return None


def _too_many_options(wager: Wager, so_far: _AcceptedWagers, most: int) -> bool:
    if wager.bet not in OPTIONS:
        return False
    bets = {wager.bet, *so_far.tally.spots(patron_of(wager))}
    return len({OPTIONS[bet] for bet in bets if bet in OPTIONS}) > most


def _main_wager_required(wager: Wager, so_far: _AcceptedWagers) -> Refusal | None:
    bet = so_far.rulebook.bets.get(wager.bet)
    spots = so_far.tally.spots(patron_of(wager))
    if bet is None or not lacks_main(so_far.rulebook, bet, str(wager.seat), spots):
        return None
    mains = mains_for(so_far.rulebook, bet)
    names = "Player, Banker or tie" if len(mains) > len(SIDES) else "Player or Banker"
    where = "beside it" if bet.requirement is Requirement.ANY_MAIN else "in its box"
    text = f"{wager.bet} needs {names} of the same patron {where}"
    return Refusal(code="main_wager_required", text=text)
