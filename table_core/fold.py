"""Events to state: `fold(state, event)` returns nothing but the next state.

One small function a type, in a map at the end. The coup's phase moves by `coup.TRANSITIONS`.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec.structs import replace

from events.books import BooksClosed
from events.commission import (
    CommissionAccrued,
    CommissionCollected,
    CommissionPrepaid,
    CommissionRecovered,
    CommissionReturned,
    CommissionReversed,
    CommissionUncollected,
)
from events.errors import OurBug
from events.irregularity import (
    CardCorrected,
    CardEntered,
    CardMarkedUnreadable,
    CardUnread,
    CoupRealigned,
    DealerAssigned,
    ExcessCardDrawn,
    ExcessCardResolved,
    IrregularityRecorded,
)
from events.shoe import (
    DeviceResult,
    ErrorCleared,
    ErrorRaised,
    LinkDown,
    LinkOpen,
    LinkStalled,
    LinkUp,
    LockChanged,
    RoundForcedEnd,
    ShoeBooted,
    ShoeReady,
)
from events.shoe_life import BurnRecorded, CutCardCame, ShoeAudited
from events.table import (
    AlarmCleared,
    AlarmRaised,
    BettingClosed,
    BettingOpened,
    CardDealt,
    CardDisclosed,
    CoupMisaligned,
    CoupSettled,
    CoupVoided,
    DealCompleted,
    ResultConfirmed,
    ResultDisputed,
    RulebookAdopted,
    ShoeEnded,
    ShoeLoaded,
    ShoeReported,
    TableEvent,
    WagersPlaced,
    WagersWithdrawn,
)
from events.wagering import AggregateCapped, LimitsSet, WagersVoided
from table_core.commission import fold_commission
from table_core.coup import COUP_EVENTS, OVER, Phase, allows, input_of
from table_core.fold_cards import (
    on_card_dealt,
    on_card_disclosed,
    on_card_marked_unreadable,
    on_card_set_by_hand,
    on_card_unread,
    on_coup_realigned,
    on_deal_completed,
    on_excess_card_resolved,
)
from table_core.fold_tools import current_coup, current_shoe, with_coup
from table_core.roads import bead
from table_core.shoe_life import BURN_ALARM
from table_core.shoe_state import (
    ORDERS_KEPT,
    ShoeView,
    hear_card,
    new_round,
    put_aside,
)
from table_core.standing import with_wagers, without_wagers
from table_core.state import Alarm, Coup, LinkView, TableState

__all__ = ["FOLD_VERSION", "fold", "fold_all"]

# Raised whenever the same log would fold to another state; snapshots are keyed by it.
FOLD_VERSION: Final = 2


def fold(state: TableState, event: TableEvent) -> TableState:
    """The table after `event`, which is the one at position `state.position + 1`.

    Raises:
        OurBug: the event could not have been decided in this state.
    """
    if event.TYPE in COUP_EVENTS and not allows(state.phase, event):
        raise OurBug(
            f"position {state.position + 1}: {input_of(event)} in phase {state.phase.value}"
        )
    return replace(_FOLDS[type(event)](state, event), position=state.position + 1)


def fold_all(state: TableState, events: Iterable[TableEvent]) -> TableState:
    """The table after all of `events`, in order."""
    for event in events:
        state = fold(state, event)
    return state


def _on_rulebook_adopted(state: TableState, event: RulebookAdopted) -> TableState:
    return replace(state, rulebook=event.rulebook, rulebook_hash=event.rulebook_hash)


def _on_shoe_loaded(state: TableState, event: ShoeLoaded) -> TableState:
    # An overdrawn card of the shoe before is no card of this one.
    link = replace(state.link, carried=False, dummy=False)
    return replace(state, shoe=ShoeView(id=event.shoe, decks=event.decks), link=link)


def _on_shoe_ended(state: TableState, _: ShoeEnded) -> TableState:
    shoe = current_shoe(state)
    orders = (*state.orders, (shoe.id, shoe.order))[-ORDERS_KEPT:]
    return _forget_burn(replace(state, shoe=replace(shoe, ended=True), orders=orders))


def _on_burn_recorded(state: TableState, _: BurnRecorded) -> TableState:
    return _forget_burn(replace(state, shoe=replace(current_shoe(state), burn_recorded=True)))


def _on_cut_card_came(state: TableState, event: CutCardCame) -> TableState:
    return replace(state, shoe=replace(current_shoe(state), last_coup=event.last_coup))


def _on_shoe_reported(state: TableState, event: ShoeReported) -> TableState:
    source, report = event.source, event.source.report
    link = state.link
    if link.journal and link.journal != source.journal:
        link = replace(link, past=link.past | {link.journal})
    link = replace(link, journal=source.journal, seq=source.seq)
    link = _LINK_FOLDS.get(type(report), _unchanged)(link, report)
    state = replace(state, link=link)
    if state.shoe:
        between = not state.in_progress and not link.residue
        state = replace(state, shoe=hear_card(state.shoe, report, between=between))
    coup = state.coup
    if coup is not None and isinstance(report, DeviceResult | RoundForcedEnd | ShoeBooted):
        coup = replace(coup, round_over=True)
        if isinstance(report, DeviceResult) and coup.phase not in {*OVER, Phase.BETTING}:
            coup = replace(coup, device_result=report)
        state = replace(state, coup=coup)
    return state


def _on_betting_opened(state: TableState, event: BettingOpened) -> TableState:
    coup = Coup(
        id=event.coup,
        phase=Phase.BETTING,
        rulebook=event.rulebook,
        rulebook_hash=event.rulebook_hash,
        wagerless=event.wagerless,
    )
    shoe = replace(current_shoe(state), coups=current_shoe(state).coups + 1)
    if not event.wagerless and not state.link.residue:
        shoe = new_round(shoe)
    link = replace(state.link, residue=False, dummy=False)
    return replace(state, coup=coup, shoe=shoe, link=link)


def _on_wagers_placed(state: TableState, event: WagersPlaced) -> TableState:
    coup, wagers = current_coup(state), event.wagers
    standing = with_wagers(coup.standing, wagers)
    return with_coup(state, event, wagers=coup.wagers + wagers, standing=standing)


def _on_wagers_withdrawn(state: TableState, event: WagersWithdrawn) -> TableState:
    return _wagers_gone(state, event, set(event.wagers))


def _on_wagers_voided(state: TableState, event: WagersVoided) -> TableState:
    return _wagers_gone(state, event, {refund.wager for refund in event.refunds})


def _wagers_gone(state: TableState, event: TableEvent, gone: set[str]) -> TableState:
    coup = current_coup(state)
    left = tuple(wager for wager in coup.wagers if wager.id not in gone)
    taken = (wager for wager in coup.wagers if wager.id in gone)
    return with_coup(state, event, wagers=left, standing=without_wagers(coup.standing, taken))


def _on_limits_set(state: TableState, event: LimitsSet) -> TableState:
    return replace(state, limits=event)


def _on_excess_card_drawn(state: TableState, event: ExcessCardDrawn) -> TableState:
    return with_coup(replace(state, shoe=put_aside(current_shoe(state))), event)


def _on_nothing(state: TableState, _: TableEvent) -> TableState:
    return state


def _on_dealer_assigned(state: TableState, event: DealerAssigned) -> TableState:
    return replace(state, dealer=event.dealer, supervisor=event.supervisor)


def _on_phase_only(state: TableState, event: TableEvent) -> TableState:
    return with_coup(state, event)


def _on_result_disputed(state: TableState, event: ResultDisputed) -> TableState:
    return with_coup(state, event, reason=event.detail)


def _on_coup_misaligned(state: TableState, event: CoupMisaligned) -> TableState:
    return with_coup(state, event, reason=f"{event.reason}: {event.detail}")


def _on_coup_settled(state: TableState, event: CoupSettled) -> TableState:
    settlement, totals, coup = event.settlement, state.totals, current_coup(state)
    before = coup.settlement(settlement.phase)
    others = tuple(each for each in coup.settlements if each is not before)
    state = with_coup(state, event, settlements=(*others, settlement))
    totals = replace(
        totals,
        coups=totals.coups + (state.phase is Phase.SETTLED),
        staked=totals.staked + settlement.staked - (before.staked if before else 0),
        paid=totals.paid + settlement.paid - (before.paid if before else 0),
        commission=totals.commission + settlement.commission - (before.commission if before else 0),
    )
    state = replace(state, totals=totals)
    if state.shoe and coup.completed and state.phase is Phase.SETTLED:
        roads = state.shoe.roads.add(bead(coup.completed))
        state = replace(state, shoe=replace(state.shoe, roads=roads))
    return _forget_coup_alarms(state)


def _on_coup_voided(state: TableState, event: CoupVoided) -> TableState:
    coup = current_coup(state)
    # Cards of the round may still come when the coup is void before the shoe's round is over.
    had_cards = bool(coup.cards) or coup.phase is Phase.MISALIGNED
    link = replace(
        state.link,
        residue=had_cards and not coup.round_over,
        carried=state.link.carried and not had_cards,
    )
    totals = replace(state.totals, voids=state.totals.voids + 1)
    shoe = replace(current_shoe(state), voids=current_shoe(state).voids + 1)
    state = replace(state, link=link, totals=totals, shoe=shoe)
    state = with_coup(state, event, reason=event.reason)
    return _forget_coup_alarms(state)


def _on_alarm_raised(state: TableState, event: AlarmRaised) -> TableState:
    others = tuple(alarm for alarm in state.alarms if alarm.name != event.alarm)
    alarm = Alarm(name=event.alarm, text=event.text, coup=event.coup)
    return replace(state, alarms=(*others, alarm))


def _on_alarm_cleared(state: TableState, event: AlarmCleared) -> TableState:
    return replace(state, alarms=tuple(a for a in state.alarms if a.name != event.alarm))


def _on_commission(state: TableState, event: TableEvent) -> TableState:
    return replace(state, commission=fold_commission(state.commission, event))


def _forget_burn(state: TableState) -> TableState:
    """A burn that is known, or whose shoe is over, is missed no more."""
    return replace(state, alarms=tuple(a for a in state.alarms if a.name != BURN_ALARM))


def _forget_coup_alarms(state: TableState) -> TableState:
    """A coup that is over takes its own alarms with it."""
    if state.in_progress:
        return state
    return replace(state, alarms=tuple(alarm for alarm in state.alarms if alarm.coup is None))


def _unchanged(link: LinkView, _: object) -> LinkView:
    return link


_LINK_FOLDS: Final[dict[type, Callable[[LinkView, Any], LinkView]]] = {
    LinkOpen: lambda link, _: replace(link, state="open"),
    LinkUp: lambda link, _: replace(link, state="up"),
    LinkDown: lambda link, _: replace(link, state="down"),
    LinkStalled: lambda link, _: replace(link, state="stalled"),
    ShoeBooted: lambda link, _: replace(link, errors=frozenset(), residue=False),
    ErrorRaised: lambda link, report: replace(link, errors=link.errors | {report.code}),
    ErrorCleared: lambda link, report: replace(link, errors=link.errors - {report.code}),
    LockChanged: lambda link, report: replace(link, locked=report.locked),
    DeviceResult: lambda link, _: replace(link, residue=False),
    RoundForcedEnd: lambda link, _: replace(link, residue=False),
    ShoeReady: lambda link, _: replace(link, residue=False),
}

_FOLDS: Final[dict[type[TableEvent], Callable[[TableState, Any], TableState]]] = {
    RulebookAdopted: _on_rulebook_adopted,
    ShoeLoaded: _on_shoe_loaded,
    ShoeEnded: _on_shoe_ended,
    BurnRecorded: _on_burn_recorded,
    CutCardCame: _on_cut_card_came,
    ShoeAudited: _on_nothing,
    ShoeReported: _on_shoe_reported,
    BettingOpened: _on_betting_opened,
    WagersPlaced: _on_wagers_placed,
    WagersWithdrawn: _on_wagers_withdrawn,
    BettingClosed: _on_phase_only,
    CardDealt: on_card_dealt,
    CardDisclosed: on_card_disclosed,
    DealCompleted: on_deal_completed,
    ResultConfirmed: _on_phase_only,
    ResultDisputed: _on_result_disputed,
    CoupMisaligned: _on_coup_misaligned,
    CoupSettled: _on_coup_settled,
    CoupVoided: _on_coup_voided,
    AlarmRaised: _on_alarm_raised,
    AlarmCleared: _on_alarm_cleared,
    CommissionAccrued: _on_commission,
    CommissionCollected: _on_commission,
    CommissionPrepaid: _on_commission,
    CommissionReturned: _on_commission,
    CommissionReversed: _on_commission,
    CommissionUncollected: _on_commission,
    CommissionRecovered: _on_commission,
    CardUnread: on_card_unread,
    CardMarkedUnreadable: on_card_marked_unreadable,
    CardEntered: on_card_set_by_hand,
    CardCorrected: on_card_set_by_hand,
    CoupRealigned: on_coup_realigned,
    ExcessCardDrawn: _on_excess_card_drawn,
    ExcessCardResolved: on_excess_card_resolved,
    IrregularityRecorded: _on_nothing,
    DealerAssigned: _on_dealer_assigned,
    WagersVoided: _on_wagers_voided,
    LimitsSet: _on_limits_set,
    AggregateCapped: _on_nothing,
    BooksClosed: _on_nothing,
}
