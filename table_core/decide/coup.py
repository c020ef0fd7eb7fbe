"""Commands about a coup: open and close betting, free hand, confirm, void. Pure."""

from typing import Final

from events.commands import CloseBetting, ConfirmResult, FreeHand, OpenBetting, Refusal, VoidCoup
from events.types import CoupVoided, ResultConfirmed
from table_core.decide.corrections import find_coup_in_progress, void_past_coup
from table_core.decide.decision import ANY, DecisionBuilder, DecisionContext, Handlers, Offers
from table_core.decide.shoe import commission_owed_before
from table_core.refusals import Decision, first_refusal, refuse, refuse_another_coup
from table_core.rules.rulebook import LAST_PHASE, CommissionTiming
from table_core.state.coup import OVER, Phase, allows
from table_core.state.table import TableState

__all__ = [
    "HANDLERS",
    "OFFERS",
    "close_betting",
    "confirm_result",
    "free_hand",
    "open_betting",
    "void_coup",
]


def open_betting(state: TableState, _: OpenBetting, context: DecisionContext) -> Decision:
    """A coup begins: wagers may be placed."""
    refusal = _play_refusal(state, context)
    if refusal:
        return refusal
    draft = DecisionBuilder(state)
    draft.open_coup(context)
    return draft.done


def free_hand(state: TableState, _: FreeHand, context: DecisionContext) -> Decision:
    """A coup begins without wagers."""
    refusal = _play_refusal(state, context, dummy=True)
    if refusal:
        return refusal
    draft = DecisionBuilder(state)
    draft.open_coup(context, wagerless=True)
    draft.close_betting(context, by="free_hand")
    return draft.done


def close_betting(state: TableState, command: CloseBetting, context: DecisionContext) -> Decision:
    """No more wagers; holds already where the first card has closed betting."""
    if state.coup is None or state.phase in OVER:
        return refuse("betting_not_open", "no coup is in progress")
    if command.coup not in {None, state.coup.id}:
        return refuse_another_coup(command.coup, state.coup.id)
    if state.phase is not Phase.BETTING:
        return ()
    draft = DecisionBuilder(state)
    draft.close_betting(context, by="dealer")
    return draft.done


def confirm_result(state: TableState, command: ConfirmResult, context: DecisionContext) -> Decision:
    """A person confirms the table's own result: the coup is settled by it."""
    if state.coup is None or not allows(state.phase, ResultConfirmed.TYPE):
        return refuse(
            "nothing_to_confirm", f"no result can be confirmed in phase {state.phase.value}"
        )
    if not command.reason.strip():
        return refuse("reason_required", "say why the table's own result is confirmed")
    draft = DecisionBuilder(state)
    draft.emit(ResultConfirmed(coup=state.coup.id, by="person", reason=command.reason))
    draft.settle(context, LAST_PHASE)
    return draft.done


def void_coup(state: TableState, command: VoidCoup, context: DecisionContext) -> Decision:
    """The coup does not count, in progress or settled."""
    if command.coup is not None and find_coup_in_progress(state, command.coup) is None:
        return void_past_coup(state, command, context)
    if state.coup is None or not allows(state.phase, CoupVoided.TYPE):
        return refuse("nothing_to_void", f"no coup can be voided in phase {state.phase.value}")
    if not command.reason.strip():
        return refuse("reason_required", "say why the coup is void")
    draft = DecisionBuilder(state)
    draft.void(context, command.reason)
    return draft.done


def _play_refusal(
    state: TableState, context: DecisionContext, *, dummy: bool = False
) -> Refusal | None:
    """Why betting cannot open, the first reason in this order; None when it can."""
    link, shoe = state.link, state.shoe
    if not context.caught_up:
        return refuse("catching_up", "the table is still reading what the shoe has said")
    if state.in_progress:
        return refuse("coup_in_progress", f"coup in phase {state.phase.value}")
    return first_refusal(
        (
            context.dealers is not None and state.dealer not in context.dealers,
            "no_dealer",
            "no dealer has taken the table",
        ),
        (shoe is None, "no_shoe", "load a shoe first"),
        (shoe is not None and shoe.ended, "shoe_ended", "the shoe has ended; load the next one"),
        # It was loaded for another rulebook, or by a build that took any number of decks.
        (
            shoe is not None and shoe.decks != context.rulebook.decks,
            "unfit_shoe",
            f"end the shoe and load one of {context.rulebook.decks} decks, as the rulebook says",
        ),
        (
            shoe is not None and shoe.last_coup is not None and shoe.coups >= shoe.last_coup,
            "last_coup_played",
            "the cut card came, and the last coup has been played; end the shoe",
        ),
        (link.state not in {"open", "up"}, "link_down", f"the shoe link is {link.state}"),
        (
            link.dummy and not dummy,
            "dummy_coup_due",
            "the excess card was seen: show it in a free hand first",
        ),
        (bool(link.errors), "shoe_error", f"the shoe reports {', '.join(sorted(link.errors))}"),
        (link.locked, "shoe_locked", "the shoe is locked"),
        (
            commission_owed_before(state, context, CommissionTiming.PER_COUP),
            "commission_outstanding",
            "collect the last coup's commission, or mark it uncollected",
        ),
    )


HANDLERS: Final[Handlers] = {
    OpenBetting: open_betting,
    CloseBetting: close_betting,
    FreeHand: free_hand,
    ConfirmResult: confirm_result,
    VoidCoup: void_coup,
}
OFFERS: Final = Offers(
    bare=(
        CloseBetting(transaction=ANY),
        ConfirmResult(transaction=ANY, reason=""),
        VoidCoup(transaction=ANY, reason=""),
        OpenBetting(transaction=ANY),
        FreeHand(transaction=ANY),
    ),
    details=frozenset({"reason_required"}),
)
