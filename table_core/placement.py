"""Which wagers a table takes: the rulebook's limits and combinations, each refusal with its code.

One wager after another goes through the checks of `_CHECKS` in their order, against what stands by
then; the first that objects refuses it, and a refused wager counts for nothing in the checks of the
next. `main_wager_required` comes last and looks at the whole set, for a side bet may be placed
before the wager it needs.
"""

from collections.abc import Callable, Sequence
from typing import Final

from events.commands import Refusal
from events.money import MAX_STAKE
from events.table import Wager
from table_core.refusals import refuse
from table_core.rulebook import Bet, Requirement, Rulebook
from table_core.standing import Standing, Tally, with_wagers
from table_core.wagers import KINDS, patron_of

__all__ = [
    "MAX_SEAT",
    "MIN_SEAT",
    "check",
    "check_more",
    "unsupported",
    "withdrawal_refusal",
]

MIN_SEAT: Final = 1
MAX_SEAT: Final = 99

_SIDES: Final = {"player": "banker", "banker": "player"}
_MAIN: Final = frozenset({"player", "banker", "tie"})
# The four betting options of seed 3; Player and Banker are the two sides of one.
_OPTION: Final = {
    "player": "main",
    "banker": "main",
    "tie": "tie",
    "lucky8_player": "lucky8_player",
    "lucky8_banker": "lucky8_banker",
}


class _SoFar:
    """What stands so far, under one rulebook. It never leaves one call."""

    def __init__(self, rulebook: Rulebook, standing: Standing) -> None:
        self.rulebook = rulebook
        self.tally = Tally(standing)

    def has(self, wager: Wager, *bets: str) -> bool:
        """Whether the patron of `wager` has one of `bets`."""
        return not self.tally.spots(patron_of(wager)).keys().isdisjoint(bets)


def check(
    rulebook: Rulebook,
    standing: Sequence[Wager],
    asked: Sequence[Wager],
    *,
    whole: bool = True,
) -> tuple[Refusal | None, ...]:
    """Judge the wagers asked for, in the order they were asked.

    Args:
        rulebook: the one in force.
        standing: those that stand already; they are not judged again.
        asked: the new ones, however odd their texts and amounts.
        whole: nothing comes after these, so that a side bet must have its main wager by now.

    Returns:
        For each wager asked for its refusal, or None where it stands. Codes, in the order of the
        checks: `unknown_bet` `not_offered` `invalid_stake` `not_a_step` `above_maximum`
        `below_minimum` `table_maximum` `differential` `invalid_seat` `duplicate_wager`
        `opposite_sides` `too_many_options` `main_wager_required`.
    """
    before = with_wagers(Standing(), standing)
    refusals = check_more(rulebook, before, asked)
    if whole:
        taken = [w for w, refusal in zip(asked, refusals, strict=True) if refusal is None]
        needs = iter(unsupported(rulebook, taken, with_wagers(before, taken)))
        refusals = tuple(refusal or next(needs) for refusal in refusals)
    return refusals


def check_more(
    rulebook: Rulebook, standing: Standing, asked: Sequence[Wager]
) -> tuple[Refusal | None, ...]:
    """As `check` of what is not the whole yet, against sums that are known already."""
    so_far = _SoFar(rulebook, standing)
    refusals: list[Refusal | None] = []
    for wager in asked:
        refusal = _first_objection(wager, so_far)
        if refusal is None:
            so_far.tally.add(wager)
        refusals.append(refusal)
    return tuple(refusals)


def unsupported(
    rulebook: Rulebook, wagers: Sequence[Wager], standing: Standing | None = None
) -> tuple[Refusal | None, ...]:
    """`main_wager_required` for each side bet that lacks the wager it needs.

    It is asked at the close of betting, and when a main wager is taken back.

    Args:
        rulebook: the one in force.
        wagers: those to be judged.
        standing: all that stands; None where that is `wagers`.
    """
    if standing is None:
        standing = with_wagers(Standing(), wagers)
    so_far = _SoFar(rulebook, standing)
    return tuple(_main_wager_required(wager, so_far) for wager in wagers)


def withdrawal_refusal(rulebook: Rulebook, before: Standing, after: Standing) -> Refusal | None:
    """`differential` where taking wagers back would leave one side too far ahead of the other.

    Others have wagered against what stands, and the house's risk is bounded by it: so what a limit
    refuses to be added it refuses to be left. Taking back from the side that is ahead is always
    allowed.
    """
    limit = rulebook.limits.differential
    if limit is None:
        return None
    for bet, other in _SIDES.items():
        ahead = after.by_bet.get(bet, 0) - after.by_bet.get(other, 0)
        if ahead > max(limit, before.by_bet.get(bet, 0) - before.by_bet.get(other, 0)):
            return refuse(
                "differential",
                f"{bet} would be left {ahead} ahead of {other}; the differential is {limit}",
            )
    return None


def _first_objection(wager: Wager, so_far: _SoFar) -> Refusal | None:
    for code, objection in _CHECKS:
        text = objection(wager, so_far)
        if text is not None:
            return Refusal(code=code, text=text)
    return None


# ---- the bet and its stake ----


def _unknown_bet(wager: Wager, _: _SoFar) -> str | None:
    return None if wager.bet in KINDS else f"no such bet as {wager.bet!r}"


def _not_offered(wager: Wager, so_far: _SoFar) -> str | None:
    bet = so_far.rulebook.bets.get(wager.bet)
    if bet is not None and bet.offered:
        return None
    return f"{wager.bet} is not offered under {so_far.rulebook.id}"


def _invalid_stake(wager: Wager, _: _SoFar) -> str | None:
    if 0 < wager.stake <= MAX_STAKE:
        return None
    return f"a stake is a whole number of minor units, from 1 to {MAX_STAKE}"


def _not_a_step(wager: Wager, so_far: _SoFar) -> str | None:
    step = _bet(wager, so_far).step
    return f"{wager.stake} is no multiple of {step}" if wager.stake % step else None


# ---- limits ----


def _above_maximum(wager: Wager, so_far: _SoFar) -> str | None:
    bet, stake = _bet(wager, so_far), wager.stake
    if bet.per == "spot":
        stake += so_far.tally.spots(patron_of(wager)).get(wager.bet, {}).get(str(wager.seat), 0)
    if bet.maximum is None or stake <= bet.maximum:
        return None
    return f"{stake} on {wager.bet} is above its maximum of {bet.maximum} for a {bet.per}"


def _below_minimum(wager: Wager, so_far: _SoFar) -> str | None:
    minimum = _bet(wager, so_far).minimum
    if wager.stake >= minimum:
        return None
    return f"{wager.stake} on {wager.bet} is below its minimum of {minimum}"


def _table_maximum(wager: Wager, so_far: _SoFar) -> str | None:
    maximum, staked = so_far.rulebook.limits.table_maximum, so_far.tally.staked + wager.stake
    if maximum is None or staked <= maximum:
        return None
    return f"all stakes together would be {staked}, above the table's maximum of {maximum}"


def _differential(wager: Wager, so_far: _SoFar) -> str | None:
    """Refuses what widens the gap beyond the limit, never what narrows it."""
    limit, other = so_far.rulebook.limits.differential, _SIDES.get(wager.bet)
    if limit is None or other is None:
        return None
    ahead = so_far.tally.by_bet.get(wager.bet, 0) + wager.stake - so_far.tally.by_bet.get(other, 0)
    if ahead <= limit:
        return None
    return f"{wager.bet} would be {ahead} ahead of {other}; the differential is {limit}"


# ---- the patron and what else the patron has ----


def _invalid_seat(wager: Wager, _: _SoFar) -> str | None:
    if MIN_SEAT <= wager.seat <= MAX_SEAT:
        return None
    return f"seats are {MIN_SEAT} to {MAX_SEAT}"


def _duplicate_wager(wager: Wager, so_far: _SoFar) -> str | None:
    return f"wager {wager.id!r} stands already" if so_far.tally.known(wager.id) else None


def _opposite_sides(wager: Wager, so_far: _SoFar) -> str | None:
    other = _SIDES.get(wager.bet)
    if other is None or so_far.rulebook.options.allow_opposite or not so_far.has(wager, other):
        return None
    return f"the patron has {other} already"


def _too_many_options(wager: Wager, so_far: _SoFar) -> str | None:
    most = so_far.rulebook.options.max_options
    if most is None or wager.bet not in _OPTION:
        return None
    bets = {wager.bet, *so_far.tally.spots(patron_of(wager))}
    options = {_OPTION[bet] for bet in bets if bet in _OPTION}
    if len(options) <= most:
        return None
    return f"a patron may play {most} of {', '.join(dict.fromkeys(_OPTION.values()))}"


def _main_wager_required(wager: Wager, so_far: _SoFar) -> Refusal | None:
    bet = so_far.rulebook.bets.get(wager.bet)
    if bet is None or bet.requirement is Requirement.NONE:
        return None
    if bet.requirement is Requirement.ANY_MAIN:
        if so_far.has(wager, *_MAIN):
            return None
        text = f"{wager.bet} needs Player, Banker or tie of the same patron beside it"
    else:
        spots = so_far.tally.spots(patron_of(wager))
        if any(str(wager.seat) in spots.get(side, {}) for side in _SIDES):
            return None
        text = f"{wager.bet} needs Player or Banker of the same patron in its box"
    return Refusal(code="main_wager_required", text=text)


def _bet(wager: Wager, so_far: _SoFar) -> Bet:
    return so_far.rulebook.bets[wager.bet]


_CHECKS: Final[tuple[tuple[str, Callable[[Wager, _SoFar], str | None]], ...]] = (
    ("unknown_bet", _unknown_bet),
    ("not_offered", _not_offered),
    ("invalid_stake", _invalid_stake),
    ("not_a_step", _not_a_step),
    ("above_maximum", _above_maximum),
    ("below_minimum", _below_minimum),
    ("table_maximum", _table_maximum),
    ("differential", _differential),
    ("invalid_seat", _invalid_seat),
    ("duplicate_wager", _duplicate_wager),
    ("opposite_sides", _opposite_sides),
    ("too_many_options", _too_many_options),
)
