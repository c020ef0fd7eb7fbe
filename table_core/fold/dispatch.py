"""Folds an event into the state: `fold(state, event)` returns the next state. Pure.

One small function an event type, in a map at the end. The coup's phase moves by `coup.TRANSITIONS`.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec.structs import replace

from events.errors import OurBug
from events.types import (
    AggregateCapped,
    AlarmCleared,
    AlarmRaised,
    BettingClosed,
    BettingOpened,
    BooksClosed,
    BurnRecorded,
    CardCorrected,
    CardDealt,
    CardDisclosed,
    CardEntered,
    CardMarkedUnreadable,
    CardUnread,
    CheckpointKeyChanged,
    ChipsCorrected,
    ChipsCounted,
    ChipsCredited,
    ChipsFilled,
    CommissionAccrued,
    CommissionCollected,
    CommissionEvent,
    CommissionPrepaid,
    CommissionRecovered,
    CommissionRefunded,
    CommissionReturned,
    CommissionReversed,
    CommissionUncollected,
    CorrectionAcknowledged,
    CorrectionSigned,
    CoupMisaligned,
    CoupRealigned,
    CoupSettled,
    CoupVoided,
    CutCardCame,
    DealCompleted,
    DealerAssigned,
    DropCounted,
    ExcessCardDrawn,
    ExcessCardResolved,
    FloatClosed,
    FloatOpened,
    HandsCorrected,
    IrregularityRecorded,
    LimitsSet,
    LogAdopted,
    LoginsNoted,
    ResultConfirmed,
    ResultDisputed,
    RulebookAdopted,
    RulebookCorrected,
    ShoeAudited,
    ShoeCounted,
    ShoeEnded,
    ShoeErrorCleared,
    ShoeHeld,
    ShoeLoaded,
    ShoeReleased,
    ShoeReported,
    ShuffleQuestioned,
    TableEvent,
    WagerCorrected,
    WagersPlaced,
    WagersVoided,
    WagersWithdrawn,
)
from table_core.fold.cards import (
    on_card_dealt,
    on_card_marked_unreadable,
    on_card_set_by_hand,
    on_card_unread,
    on_coup_realigned,
    on_excess_card_resolved,
)
from table_core.fold.chips import (
    on_chips_corrected,
    on_chips_counted,
    on_chips_moved,
    on_drop_counted,
    on_float_closed,
    on_float_opened,
)
from table_core.fold.chips_to_move import CHIPS_TO_MOVE, on_correction_acknowledged
from table_core.fold.common import current_coup, current_shoe, on_coup, with_coup
from table_core.fold.corrections import (
    PAST_COUP_EVENTS,
    fold_past_coup,
    is_about_past_coup,
    on_hands_corrected,
    past_with_ended_coup,
)
from table_core.fold.shoe import (
    on_burn_recorded,
    on_cut_card_came,
    on_shoe_audited,
    on_shoe_ended,
    on_shoe_error_cleared,
    on_shoe_held,
    on_shoe_loaded,
    on_shoe_released,
    on_shoe_reported,
    on_shuffle_questioned,
)
from table_core.roads.columns import bead_of
from table_core.rules.commission_owed import fold_commission, without_refunds
from table_core.rules.wager_totals import UNSUMMED, WagerTotals, remove_wagers
from table_core.state.coup import Phase, advance, input_of
from table_core.state.coup_projection import begun_coup, changed_coup
from table_core.state.shoe import forget_entries, new_round, set_aside_last_card
from table_core.state.shoe_of_card import shoe_of_coup, with_shoe
from table_core.state.table import Alarm, TableState

__all__ = ["FOLD_VERSION", "FoldedEvents", "fold", "fold_all", "fold_at"]

# Increase it whenever the same log would fold to another state; snapshots are keyed by it.
FOLD_VERSION: Final = 9


class FoldedEvents(tuple[TableEvent, ...]):  # noqa: SLOT001 - a tuple takes no slots but empty ones
    """Events together with their fold: a decision folds its events as it makes them.

    Attributes:
        before: the state that they were decided in.
        after: the state after them.
    """

    before: TableState
    after: TableState


def fold(state: TableState, event: TableEvent) -> TableState:
    """Return the state after `event`, which is at position `state.position + 1`.

    Raises:
        OurBug: the event could not have been decided in this state.
    """
    position = state.position + 1
    return replace(fold_at(state, event, position), position=position)


def fold_all(state: TableState, events: Iterable[TableEvent]) -> TableState:
    """Return the state after all of `events`, in order.

    Events that were decided in this very state are not folded again: they hold the result.
    """
    if isinstance(events, FoldedEvents) and events.before is state:
        return events.after
    begin = position = state.position
    for position, event in enumerate(events, start=begin + 1):
        state = fold_at(state, event, position)
    return replace(state, position=position)


def fold_at(state: TableState, event: TableEvent, position: int) -> TableState:
    """Return the state after the event at `position`, except for the position itself.

    Raises:
        OurBug: as `fold`.
    """
    kind = type(event)
    on_coup = _COUP_FOLDS.get(kind)
    if on_coup is None:
        state = _FOLDS[kind](state, event)
    elif kind in PAST_COUP_EVENTS and is_about_past_coup(state, event):
        state = fold_past_coup(state, event, position)
    else:
        before = Phase.NONE if state.coup is None else state.coup.phase
        after = advance(before, event)
        if after is None:
            raise OurBug(f"position {position}: {input_of(event)} in phase {before.value}")
        state = on_coup(state, event, after)
    return CHIPS_TO_MOVE[kind](state, event) if kind in CHIPS_TO_MOVE else state


def _on_rulebook_adopted(state: TableState, event: RulebookAdopted) -> TableState:
    _require_named_currency(state, event)
    totals = state.totals
    unnamed = not state.currency and state.rulebook_hash in {"", event.rulebook_hash}
    totals = (
        replace(totals, currency=event.currency) if unnamed else totals.turned_to(event.currency)
    )
    return replace(
        state,
        rulebook=event.rulebook,
        rulebook_hash=event.rulebook_hash,
        currency=event.currency,
        totals=totals,
    )


def _on_betting_opened(state: TableState, event: BettingOpened, phase: Phase) -> TableState:
    coup = replace(begun_coup(event), phase=phase)
    shoe, link = current_shoe(state), state.link
    # Its first card may have come already, or the rest of a void round may still come.
    shoe = forget_entries(shoe) if shoe.begun or link.residue else new_round(shoe)
    shoe = replace(shoe, coups=shoe.coups + 1, begun=False)
    link = replace(link, residue=False, dummy=False)
    commission = without_refunds(state.commission)
    return replace(state, coup=coup, shoe=shoe, replaced=(), link=link, commission=commission)


def _on_wagers_changed(state: TableState, event: TableEvent, phase: Phase) -> TableState:
    """Fold wagers that came, went or were corrected, and their totals."""
    before = current_coup(state)
    summed = before.summed if isinstance(event, WagersPlaced) else WagerTotals()
    if isinstance(event, WagersWithdrawn) and before.summed.count:
        gone = [before.wagers[name] for name in set(event.wagers) if name in before.wagers]
        summed = remove_wagers(before.standing, gone)
    coup = replace(changed_coup(before, event), phase=phase, summed=summed)
    if len(coup.wagers) - summed.count >= UNSUMMED:
        coup = replace(coup, summed=coup.standing)
    return replace(state, coup=coup)


def _on_limits_set(state: TableState, event: LimitsSet) -> TableState:
    return replace(state, limits=event)


def _on_excess_card_drawn(state: TableState, _: ExcessCardDrawn, phase: Phase) -> TableState:
    if current_coup(state).excess_open:
        return with_coup(state, phase)  # drawn outside the game earlier, and judged now
    return with_coup(
        replace(state, shoe=set_aside_last_card(current_shoe(state))), phase, excess="drawn"
    )


def _on_nothing(state: TableState, _: TableEvent) -> TableState:
    return state


def _on_dealer_assigned(state: TableState, event: DealerAssigned) -> TableState:
    return replace(state, dealer=event.dealer, supervisor=event.supervisor)


def _on_coup_settled(state: TableState, event: CoupSettled, phase: Phase) -> TableState:
    settlement, totals, coup = event.settlement, state.totals, current_coup(state)
    before = coup.settlement(settlement.phase)
    over = phase is Phase.SETTLED
    totals = replace(
        totals,
        coups=totals.coups + over,
        staked=totals.staked + settlement.staked - (before.staked if before else 0),
        paid=totals.paid + settlement.paid - (before.paid if before else 0),
        commission=totals.commission + settlement.commission - (before.commission if before else 0),
    )
    completed = coup.completed
    coup = replace(changed_coup(coup, event), phase=phase)
    state = replace(state, coup=coup, totals=totals)
    if not over:
        return state
    if state.shoe and completed:
        shoe = shoe_of_coup(state)
        state = with_shoe(state, replace(shoe, roads=shoe.roads.add(bead_of(completed))))
    return _over(state)


def _on_coup_voided(state: TableState, event: CoupVoided, phase: Phase) -> TableState:
    coup = current_coup(state)
    # Cards of the round may still come when the coup is void before the shoe's round is over.
    had_cards = bool(coup.cards) or coup.phase is Phase.MISALIGNED
    link = replace(
        state.link,
        residue=had_cards and not coup.round_over,
        carried=state.link.carried and not had_cards,
    )
    totals = replace(state.totals, voids=state.totals.voids + 1)
    shoe = shoe_of_coup(state)
    state = with_shoe(state, replace(shoe, voids=shoe.voids + 1))
    state = replace(state, link=link, totals=totals)
    return _over(with_coup(state, phase, reason=event.reason))


def _on_alarm_raised(state: TableState, event: AlarmRaised) -> TableState:
    others = tuple(alarm for alarm in state.alarms if alarm.name != event.alarm)
    alarm = Alarm(name=event.alarm, text=event.text, coup=event.coup)
    return replace(state, alarms=(*others, alarm))


def _on_alarm_cleared(state: TableState, event: AlarmCleared) -> TableState:
    return replace(state, alarms=tuple(a for a in state.alarms if a.name != event.alarm))


def _require_named_currency(state: TableState, event: CommissionEvent | RulebookAdopted) -> None:
    """Refuse an event of a build that named no currency, after one of a build that did."""
    if state.currency and not event.currency:
        raise OurBug(f"{event.TYPE} names no currency, and the log is in {state.currency}")


def _on_commission(state: TableState, event: CommissionEvent) -> TableState:
    _require_named_currency(state, event)
    return replace(state, commission=fold_commission(state.commission, event))


def _over(state: TableState) -> TableState:
    """Add a coup that has just ended to the past, and clear its own alarms."""
    alarms = tuple([alarm for alarm in state.alarms if alarm.coup is None])
    return replace(state, past=past_with_ended_coup(state), alarms=alarms)


# Folds of events that move the coup in progress to the given phase.
_COUP_FOLDS: Final[dict[type[TableEvent], Callable[[TableState, Any, Phase], TableState]]] = {
    BettingOpened: _on_betting_opened,
    WagersPlaced: _on_wagers_changed,
    WagersWithdrawn: _on_wagers_changed,
    BettingClosed: on_coup,
    CardDealt: on_card_dealt,
    CardDisclosed: on_coup,
    DealCompleted: on_coup,
    ResultConfirmed: on_coup,
    ResultDisputed: on_coup,
    CoupMisaligned: on_coup,
    CoupSettled: _on_coup_settled,
    CoupVoided: _on_coup_voided,
    CardUnread: on_card_unread,
    CardMarkedUnreadable: on_card_marked_unreadable,
    CardEntered: on_card_set_by_hand,
    CardCorrected: on_card_set_by_hand,
    HandsCorrected: on_hands_corrected,
    WagerCorrected: _on_wagers_changed,
    RulebookCorrected: on_coup,
    CoupRealigned: on_coup_realigned,
    ExcessCardDrawn: _on_excess_card_drawn,
    ExcessCardResolved: on_excess_card_resolved,
    WagersVoided: _on_wagers_changed,
}

_FOLDS: Final[dict[type[TableEvent], Callable[[TableState, Any], TableState]]] = {
    RulebookAdopted: _on_rulebook_adopted,
    ShoeLoaded: on_shoe_loaded,
    ShoeEnded: on_shoe_ended,
    BurnRecorded: on_burn_recorded,
    CutCardCame: on_cut_card_came,
    ShoeAudited: on_shoe_audited,
    ShuffleQuestioned: on_shuffle_questioned,
    ShoeCounted: _on_nothing,
    ShoeHeld: on_shoe_held,
    ShoeReleased: on_shoe_released,
    ShoeReported: on_shoe_reported,
    AlarmRaised: _on_alarm_raised,
    AlarmCleared: _on_alarm_cleared,
    CommissionAccrued: _on_commission,
    CommissionCollected: _on_commission,
    CommissionPrepaid: _on_commission,
    CommissionReturned: _on_commission,
    CommissionReversed: _on_commission,
    CommissionUncollected: _on_commission,
    CommissionRecovered: _on_commission,
    CommissionRefunded: _on_commission,
    FloatOpened: on_float_opened,
    ChipsFilled: on_chips_moved,
    ChipsCredited: on_chips_moved,
    ChipsCounted: on_chips_counted,
    FloatClosed: on_float_closed,
    DropCounted: on_drop_counted,
    ChipsCorrected: on_chips_corrected,
    IrregularityRecorded: _on_nothing,
    ShoeErrorCleared: on_shoe_error_cleared,
    CorrectionAcknowledged: on_correction_acknowledged,
    CorrectionSigned: _on_nothing,
    DealerAssigned: _on_dealer_assigned,
    LimitsSet: _on_limits_set,
    AggregateCapped: _on_nothing,
    BooksClosed: _on_nothing,
    CheckpointKeyChanged: _on_nothing,
    LogAdopted: _on_nothing,
    LoginsNoted: _on_nothing,
}
