"""Lets plain wagers pass at once, so that only the others need `wager_checks`. Pure.

Nearly all wagers that reach a batch are in order, and it shows without adding anything up by
patron, box and bet: all stakes together are within the smallest maximum, so no part of them is
above any. The screen refuses nothing. What does not pass is for `check_wagers` to judge.
"""

from collections.abc import Sequence

from events.money import MAX_STAKE
from events.types import Wager
from table_core.rules.rulebook import Requirement, Rulebook
from table_core.rules.wager_checks import MAX_SEAT, MIN_SEAT, SIDES

__all__ = ["WagerScreen"]

_Box = tuple[int | str, int]
"""A patron's box: the patron's reference, else the seat, and the seat."""


class WagerScreen:
    """The checks of one rulebook that a set of plain wagers passes."""

    def __init__(self, rulebook: Rulebook) -> None:
        offered = {name: bet for name, bet in rulebook.bets.items() if bet.offered}
        limits, options = rulebook.limits, rulebook.options
        maxima = (
            MAX_STAKE,
            limits.table_maximum,
            limits.differential,
            limits.patron_maximum,
            limits.seat_maximum,
            *(bet.maximum for bet in offered.values()),
            *(bet.table_maximum for bet in offered.values()),
        )
        self._least_maximum = min(each for each in maxima if each is not None)
        self._max_options = options.max_options
        self._allow_opposite = options.allow_opposite
        self._terms = {
            name: (bet.minimum, bet.step, name in SIDES, bet.requirement is not Requirement.NONE)
            for name, bet in offered.items()
        }

    def passes(self, wagers: Sequence[Wager]) -> bool:
        """Return whether `check_wagers` would take all of these, where none stands yet.

        False where only a closer look can tell.
        """
        if self._max_options is not None and len(wagers) > self._max_options:
            return False
        # Declared, not subscripted: `set[str]()` takes four times as long as `set()`.
        ids: set[str] = set()
        side_of: dict[int | str, str] = {}
        with_side: set[_Box] = set()
        in_need: set[_Box] = set()
        staked = 0
        for wager in wagers:
            bet, seat, stake = wager.bet, wager.seat, wager.stake
            terms = self._terms.get(bet)
            if terms is None:
                return False
            minimum, step, is_side, needs_main = terms
            if stake < minimum or stake % step or not MIN_SEAT <= seat <= MAX_SEAT:
                return False
            staked += stake
            ids.add(wager.id)
            patron = seat if wager.patron is None else wager.patron
            if is_side:
                if side_of.setdefault(patron, bet) != bet and not self._allow_opposite:
                    return False
                with_side.add((patron, seat))
            elif needs_main:
                in_need.add((patron, seat))
        return staked <= self._least_maximum and len(ids) == len(wagers) and in_need <= with_side
