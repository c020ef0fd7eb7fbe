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
from table_core.rulebook import Bet, Requirement, Rulebook
from table_core.wagers import KINDS, Patron, patron_of

__all__ = ["MAX_SEAT", "MIN_SEAT", "check", "unsupported"]

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


class _Standing:
    """What stands so far, summed up as the checks need it. It never leaves one call."""

    def __init__(self, rulebook: Rulebook) -> None:
        self.rulebook = rulebook
        self.ids: set[str] = set()
        self.bets: dict[Patron, set[str]] = {}
        self.spots: dict[tuple[Patron, int, str], int] = {}
        self.by_bet: dict[str, int] = {}
        self.staked = 0

    def add(self, wager: Wager) -> None:
        patron = patron_of(wager)
        spot = (patron, wager.seat, wager.bet)
        self.ids.add(wager.id)
        self.bets.setdefault(patron, set()).add(wager.bet)
        self.spots[spot] = self.spots.get(spot, 0) + wager.stake
        self.by_bet[wager.bet] = self.by_bet.get(wager.bet, 0) + wager.stake
        self.staked += wager.stake

    def has(self, wager: Wager, *bets: str) -> bool:
        """Whether the patron of `wager` has one of `bets`."""
        return not self.bets.get(patron_of(wager), set()).isdisjoint(bets)


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
    so_far = _Standing(rulebook)
    for wager in standing:
        so_far.add(wager)
    refusals: list[Refusal | None] = []
    for wager in asked:
        refusal = _first_objection(wager, so_far)
        if refusal is None:
            so_far.add(wager)
        refusals.append(refusal)
    if whole:
        taken = [w for w, refusal in zip(asked, refusals, strict=True) if refusal is None]
        needs = iter(unsupported(rulebook, (*standing, *taken))[len(standing) :])
        refusals = [refusal or next(needs) for refusal in refusals]
    return tuple(refusals)


def unsupported(rulebook: Rulebook, wagers: Sequence[Wager]) -> tuple[Refusal | None, ...]:
    """`main_wager_required` for each side bet that lacks the wager it needs among `wagers`.

    It is asked at the close of betting, and when a main wager is taken back.
    """
    so_far = _Standing(rulebook)
    for wager in wagers:
        so_far.add(wager)
    return tuple(_main_wager_required(wager, so_far) for wager in wagers)


def _first_objection(wager: Wager, so_far: _Standing) -> Refusal | None:
    for code, objection in _CHECKS:
        text = objection(wager, so_far)
        if text is not None:
            return Refusal(code=code, text=text)
    return None


# ---- the bet and its stake ----


def _unknown_bet(wager: Wager, _: _Standing) -> str | None:
    return None if wager.bet in KINDS else f"no such bet as {wager.bet!r}"


def _not_offered(wager: Wager, so_far: _Standing) -> str | None:
    bet = so_far.rulebook.bets.get(wager.bet)
    if bet is not None and bet.offered:
        return None
    return f"{wager.bet} is not offered under {so_far.rulebook.id}"


def _invalid_stake(wager: Wager, _: _Standing) -> str | None:
    if 0 < wager.stake <= MAX_STAKE:
        return None
    return f"a stake is a whole number of minor units, from 1 to {MAX_STAKE}"


def _not_a_step(wager: Wager, so_far: _Standing) -> str | None:
    step = _bet(wager, so_far).step
    return f"{wager.stake} is no multiple of {step}" if wager.stake % step else None


# ---- limits ----


def _above_maximum(wager: Wager, so_far: _Standing) -> str | None:
    bet, stake = _bet(wager, so_far), wager.stake
    if bet.per == "spot":
        stake += so_far.spots.get((patron_of(wager), wager.seat, wager.bet), 0)
    if bet.maximum is None or stake <= bet.maximum:
        return None
    return f"{stake} on {wager.bet} is above its maximum of {bet.maximum} for a {bet.per}"


def _below_minimum(wager: Wager, so_far: _Standing) -> str | None:
    minimum = _bet(wager, so_far).minimum
    if wager.stake >= minimum:
        return None
    return f"{wager.stake} on {wager.bet} is below its minimum of {minimum}"


def _table_maximum(wager: Wager, so_far: _Standing) -> str | None:
    maximum, staked = so_far.rulebook.limits.table_maximum, so_far.staked + wager.stake
    if maximum is None or staked <= maximum:
        return None
    return f"all stakes together would be {staked}, above the table's maximum of {maximum}"


def _differential(wager: Wager, so_far: _Standing) -> str | None:
    """Refuses what widens the gap beyond the limit, never what narrows it."""
    limit, other = so_far.rulebook.limits.differential, _SIDES.get(wager.bet)
    if limit is None or other is None:
        return None
    ahead = so_far.by_bet.get(wager.bet, 0) + wager.stake - so_far.by_bet.get(other, 0)
    if ahead <= limit:
        return None
    return f"{wager.bet} would be {ahead} ahead of {other}; the differential is {limit}"


# ---- the patron and what else the patron has ----


def _invalid_seat(wager: Wager, _: _Standing) -> str | None:
    if MIN_SEAT <= wager.seat <= MAX_SEAT:
        return None
    return f"seats are {MIN_SEAT} to {MAX_SEAT}"


def _duplicate_wager(wager: Wager, so_far: _Standing) -> str | None:
    return f"wager {wager.id!r} stands already" if wager.id in so_far.ids else None


def _opposite_sides(wager: Wager, so_far: _Standing) -> str | None:
    other = _SIDES.get(wager.bet)
    if other is None or so_far.rulebook.options.allow_opposite or not so_far.has(wager, other):
        return None
    return f"the patron has {other} already"


def _too_many_options(wager: Wager, so_far: _Standing) -> str | None:
    most = so_far.rulebook.options.max_options
    if most is None or wager.bet not in _OPTION:
        return None
    bets = {wager.bet, *so_far.bets.get(patron_of(wager), ())}
    options = {_OPTION[bet] for bet in bets if bet in _OPTION}
    if len(options) <= most:
        return None
    return f"a patron may play {most} of {', '.join(dict.fromkeys(_OPTION.values()))}"


def _main_wager_required(wager: Wager, so_far: _Standing) -> Refusal | None:
    bet = so_far.rulebook.bets.get(wager.bet)
    if bet is None or bet.requirement is Requirement.NONE:
        return None
    if bet.requirement is Requirement.ANY_MAIN:
        if so_far.has(wager, *_MAIN):
            return None
        text = f"{wager.bet} needs Player, Banker or tie of the same patron beside it"
    else:
        patron = patron_of(wager)
        if any((patron, wager.seat, side) in so_far.spots for side in _SIDES):
            return None
        text = f"{wager.bet} needs Player or Banker of the same patron in its box"
    return Refusal(code="main_wager_required", text=text)


def _bet(wager: Wager, so_far: _Standing) -> Bet:
    return so_far.rulebook.bets[wager.bet]


_CHECKS: Final[tuple[tuple[str, Callable[[Wager, _Standing], str | None]], ...]] = (
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
