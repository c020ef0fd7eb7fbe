"""Commands about wagers: place them, withdraw them, set the table's limits. Pure."""

from collections.abc import Container, Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from events.commands import PlaceWager, Refusal, SetLimits, WithdrawWager
from events.types import LimitsSet, Wager, WagersPlaced, WagersWithdrawn
from table_core.decide.decision import ANY, DecisionContext, Handlers, Offers
from table_core.refusals import Decision, refuse, refuse_another_coup
from table_core.rules.rulebook import Rulebook
from table_core.rules.table_limits import apply_limits, limit_faults
from table_core.rules.wager_checks import (
    MAIN,
    MAX_SEAT,
    MIN_SEAT,
    check_further_wagers,
    differential_refusal,
    lacks_main,
    withdrawal_refusal,
)
from table_core.rules.wager_totals import (
    WagerTotals,
    add_wagers,
    bounds_refusal,
    remove_wagers,
)
from table_core.rules.wagers import BET_KINDS, Patron, patron_of
from table_core.state.coup import Phase, allows
from table_core.state.table import Coup, TableState

__all__ = ["HANDLERS", "OFFERS", "place_wager", "set_limits", "withdraw_wager"]

_Spot = tuple[Patron, str, str]
"""A patron, a bet and a seat, as text: where stakes lie together."""


def place_wager(state: TableState, command: PlaceWager, context: DecisionContext) -> Decision:
    """Place all wagers of the command, or none."""
    if not context.caught_up:
        return refuse("catching_up", "the table is still reading what the shoe has said")
    if state.coup is None or state.phase is not Phase.BETTING:
        return refuse("betting_closed", f"no wager in phase {state.phase.value}")
    if command.coup not in {None, state.coup.id}:
        return refuse_another_coup(command.coup, state.coup.id)
    if not command.wagers:
        return refuse("no_wagers", "the list of wagers is empty")
    asked = tuple(
        [
            Wager(
                id=f"{context.user}/{command.transaction}/{index}",
                seat=wager.seat,
                bet=wager.bet,
                stake=wager.stake,
                patron=wager.patron,
                kind=wager.kind,
            )
            for index, wager in enumerate(command.wagers)
        ]
    )
    rulebook, coup = apply_limits(context.rulebook, state.limits), state.coup
    refusal = _wager_refusal(rulebook, coup.standing, coup.wagers, asked)
    refusal = refusal or _closed_refusal(coup, asked)
    return refusal or (WagersPlaced(coup=coup.id, wagers=asked),)


def _wager_refusal(
    rulebook: Rulebook, standing: WagerTotals, placed: Container[str], asked: Sequence[Wager]
) -> Refusal | None:
    """Return why wagers cannot be placed next to those already placed; else None."""
    for wager in asked:
        if not MIN_SEAT <= wager.seat <= MAX_SEAT:
            return refuse("invalid_seat", f"seat {wager.seat}; seats are {MIN_SEAT} to {MAX_SEAT}")
    # A side bet may come before the wager it needs: the close of betting checks that.
    if len(asked) > 1 and rulebook.limits.differential is not None:
        # It looks at the set: one wager may close the gap that another opens.
        one_by_one = replace(rulebook, limits=replace(rulebook.limits, differential=None))
        refusal = _wager_refusal(one_by_one, standing, placed, asked)
        return refusal or differential_refusal(rulebook, standing, add_wagers(standing, asked))
    refusals = check_further_wagers(rulebook, standing, placed, asked)
    return next(filter(None, refusals), None) or bounds_refusal(standing, asked)


def set_limits(state: TableState, command: SetLimits, context: DecisionContext) -> Decision:
    """Set the table's own limits, from the next coup on."""
    if state.in_progress:
        return refuse("coup_in_progress", "limits change between coups")
    limits = LimitsSet(
        bets=command.bets,
        table_maximum=command.table_maximum,
        differential=command.differential,
        patron_maximum=command.patron_maximum,
        seat_maximum=command.seat_maximum,
    )
    faults = "; ".join(limit_faults(context.rulebook, limits))
    if faults:
        return refuse("invalid_limits", faults)
    return () if limits == state.limits else (limits,)


def withdraw_wager(state: TableState, command: WithdrawWager, context: DecisionContext) -> Decision:
    """Withdraw the named wagers, all or none, and with a main wager the side bets that need it."""
    coup = state.coup
    if coup is None or not allows(state.phase, WagersWithdrawn.TYPE):
        return refuse("betting_closed", f"no wager can be taken back in phase {state.phase.value}")
    unknown = [name for name in command.wagers if name not in coup.wagers]
    if unknown or not command.wagers:
        return refuse(
            "unknown_wager", f"no such wager stands: {', '.join(unknown) or 'none named'}"
        )
    rulebook, standing = apply_limits(context.rulebook, state.limits), coup.standing
    named = set(command.wagers)
    withdrawn = [coup.wagers[name] for name in named]
    left = remove_wagers(standing, withdrawn)
    alone = _left_alone(rulebook, withdrawn, standing, left)
    if alone or len(named) > 1:
        bets = {bet for _, bet, _ in alone}
        withdrawn = [  # in the order in which they were placed
            wager
            for wager in coup.wagers.values()
            if wager.id in named or (wager.bet in bets and _spot(wager) in alone)
        ]
        left = remove_wagers(standing, withdrawn)
    return (
        _closed_refusal(coup, withdrawn)
        or withdrawal_refusal(rulebook, standing, left, withdrawn)
        or (WagersWithdrawn(coup=coup.id, wagers=tuple(wager.id for wager in withdrawn)),)
    )


def _closed_refusal(coup: Coup, wagers: Sequence[Wager]) -> Refusal | None:
    """Return `betting_closed` where cards lie and a bet has closed with the first; else None."""
    if not coup.cards:
        return None
    closed = {wager.bet for wager in wagers if BET_KINDS[wager.bet].before_first_card}
    if not closed:
        return None
    return refuse("betting_closed", f"{', '.join(sorted(closed))}: closed by the first card")


def _spot(wager: Wager) -> _Spot:
    return patron_of(wager), wager.bet, str(wager.seat)


def _left_alone(
    rulebook: Rulebook, withdrawn: Iterable[Wager], standing: WagerTotals, left: WagerTotals
) -> set[_Spot]:
    """Return where side bets would lie without the wager they need, once others are withdrawn.

    A side bet that has waited for its main wager before goes on waiting.

    Args:
        rulebook: the one in force.
        withdrawn: the others.
        standing: totals of all wagers.
        left: totals without those withdrawn.
    """
    return {
        (patron, name, seat)
        for patron in {patron_of(wager) for wager in withdrawn if wager.bet in MAIN}
        for name, seats in left.spots(patron).items()
        for seat in seats
        if (bet := rulebook.bets.get(name)) is not None
        and lacks_main(rulebook, bet, seat, left.spots(patron))
        and not lacks_main(rulebook, bet, seat, standing.spots(patron))
    }


HANDLERS: Final[Handlers] = {
    PlaceWager: place_wager,
    WithdrawWager: withdraw_wager,
    SetLimits: set_limits,
}
OFFERS: Final = Offers(
    bare=(
        PlaceWager(transaction=ANY, wagers=()),
        WithdrawWager(transaction=ANY, wagers=()),
        SetLimits(transaction=ANY, table_maximum=0),
    ),
    details=frozenset({"no_wagers", "unknown_wager", "invalid_limits"}),
)
