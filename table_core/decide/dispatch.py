"""Commands to events: `decide(state, command, context)` returns events, or a refusal with a code.

Pure. An empty tuple means that what was asked for holds already (`exists`). Handlers stand in a map
at the end, one small function a command. What the shoe says is heard in
`table_core.decide.shoe_reports`.
"""

from collections.abc import Callable
from typing import Any, Final

from events.commands.chips import (
    CloseFloat,
    CorrectChips,
    CountChips,
    CountDrop,
    Credit,
    Fill,
    OpenFloat,
)
from events.commands.play import (
    AcknowledgeAlarm,
    AssignDealer,
    Burn,
    ClearShoeError,
    CloseBetting,
    CollectCommission,
    Command,
    ConfirmResult,
    CorrectCard,
    CorrectHands,
    CorrectRulebook,
    CorrectWager,
    CutCard,
    EndShoe,
    EnterCard,
    FreeHand,
    LoadShoe,
    MarkUncollected,
    MarkUnreadable,
    OpenBetting,
    PlaceWager,
    Realign,
    RecoverCommission,
    Refusal,
    ReplaceShoe,
    ResolveIrregularity,
    SetLimits,
    VoidCoup,
    WithdrawWager,
)
from events.errors import OurBug
from events.types.irregularities import DealerAssigned
from events.types.table import (
    AlarmCleared,
    AlarmRaised,
    CoupVoided,
    ResultConfirmed,
    RulebookAdopted,
    TableEvent,
)
from table_core.decide.cards import (
    correct_card,
    enter_card,
    mark_unreadable,
    realign,
    resolve_irregularity,
)
from table_core.decide.chips import (
    close_float,
    correct_chips,
    count_chips,
    count_drop,
    credit,
    fill,
    open_float,
)
from table_core.decide.commission import collect_commission, mark_uncollected, recover_commission
from table_core.decide.corrections import correct_hands, correct_past_card, void_past_coup
from table_core.decide.decision import Context, Draft
from table_core.decide.rulebook_corrections import correct_rulebook
from table_core.decide.settled_coups import in_progress
from table_core.decide.shoe import (
    burn,
    clear_shoe_error,
    end_shoe,
    load_shoe,
    owes_before,
    replace_shoe,
    report_cut_card,
)
from table_core.decide.wager_corrections import correct_wager
from table_core.decide.wagers import place_wager, set_limits, withdraw_wager
from table_core.refusals import Decision, another_coup, first_of, refuse
from table_core.rules.rulebook import LAST_PHASE, CommissionTiming, Rulebook
from table_core.state.coup import OVER, Phase, allows
from table_core.state.shoe_procedure import BURN_ALARM
from table_core.state.table import TableState

__all__ = ["adopt_rulebook", "decide", "result_overdue"]

_MAX_TRANSACTION: Final = 128


def decide(state: TableState, command: Command, context: Context) -> Decision:
    """What `command` does to a table in `state`.

    Returns:
        The events to append (none when it holds already), or a refusal that changes nothing.
    """
    if not 1 <= len(command.transaction) <= _MAX_TRANSACTION:
        return refuse(
            "invalid_transaction", f"a transaction id has 1 to {_MAX_TRANSACTION} characters"
        )
    handler = _HANDLERS.get(type(command))
    if handler is None:
        raise OurBug(f"no handler for {type(command).__name__}")
    return handler(state, command, context)


def adopt_rulebook(state: TableState, rulebook: Rulebook) -> tuple[TableEvent, ...]:
    """What must be appended before play so that the log pins the rulebook in force.

    Raises:
        OurBug: a coup is in progress under another rulebook; the shell must not start.
    """
    if (state.rulebook, state.rulebook_hash) == (rulebook.id, rulebook.hash):
        return ()
    if state.in_progress:
        raise OurBug("the rulebook changed in mid-coup")
    return (RulebookAdopted(rulebook=rulebook.id, rulebook_hash=rulebook.hash),)


def result_overdue(state: TableState, waited_s: int) -> tuple[TableEvent, ...]:
    """The alarm for a coup whose device result has not come within `waited_s` seconds."""
    coup = state.coup
    if coup is None or coup.phase is not Phase.COMPLETE:
        return ()
    if any(alarm.name == "result_overdue" for alarm in state.alarms):
        return ()
    text = (
        f"coup {coup.id}: no result from the shoe within {waited_s} s; "
        "a supervisor may confirm the table's own result"
    )
    return (AlarmRaised(alarm="result_overdue", text=text, coup=coup.id),)


def _free_hand(state: TableState, _: FreeHand, context: Context) -> Decision:
    refusal = _play_refusal(state, context, dummy=True)
    if refusal:
        return refusal
    draft = Draft(state)
    draft.open_coup(context, wagerless=True)
    draft.close_betting(context, by="free_hand")
    return draft.done


def _acknowledge_alarm(state: TableState, command: AcknowledgeAlarm, _: Context) -> Decision:
    alarm = next((each for each in state.alarms if each.name == command.alarm), None)
    if alarm is None:
        return refuse("no_such_alarm", f"no alarm {command.alarm!r} waits to be acknowledged")
    if alarm.coup is not None or alarm.name == BURN_ALARM:
        return refuse("stands_until_resolved", f"{alarm.text}; only that clears it")
    return (AlarmCleared(alarm=alarm.name),)


def _assign_dealer(_: TableState, command: AssignDealer, __: Context) -> Decision:
    if not command.dealer.strip():
        return refuse("invalid_dealer", "name the dealer by the house's reference")
    return (DealerAssigned(dealer=command.dealer, supervisor=command.supervisor),)


def _open_betting(state: TableState, _: OpenBetting, context: Context) -> Decision:
    refusal = _play_refusal(state, context)
    if refusal:
        return refusal
    draft = Draft(state)
    draft.open_coup(context)
    return draft.done


def _play_refusal(state: TableState, context: Context, *, dummy: bool = False) -> Refusal | None:
    """Why betting cannot open, the first reason in this order; None when it can."""
    link, shoe = state.link, state.shoe
    if not context.caught_up:
        return refuse("catching_up", "the table is still reading what the shoe has said")
    if state.in_progress:
        return refuse("coup_in_progress", f"coup in phase {state.phase.value}")
    return first_of(
        (shoe is None, "no_shoe", "load a shoe first"),
        (shoe is not None and shoe.ended, "shoe_ended", "the shoe has ended; load the next one"),
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
            owes_before(state, context, CommissionTiming.PER_COUP),
            "commission_outstanding",
            "collect the last coup's commission, or mark it uncollected",
        ),
    )


def _close_betting(state: TableState, command: CloseBetting, context: Context) -> Decision:
    if state.coup is None or state.phase in OVER:
        return refuse("betting_not_open", "no coup is in progress")
    if command.coup not in {None, state.coup.id}:
        return another_coup(command.coup, state.coup.id)
    if state.phase is not Phase.BETTING:
        return ()
    draft = Draft(state)
    draft.close_betting(context, by="dealer")
    return draft.done


def _confirm_result(state: TableState, command: ConfirmResult, context: Context) -> Decision:
    if state.coup is None or not allows(state.phase, ResultConfirmed.TYPE):
        return refuse(
            "nothing_to_confirm", f"no result can be confirmed in phase {state.phase.value}"
        )
    if not command.reason.strip():
        return refuse("reason_required", "say why the table's own result is confirmed")
    draft = Draft(state)
    draft.emit(ResultConfirmed(coup=state.coup.id, by="person", reason=command.reason))
    draft.settle(context, LAST_PHASE)
    return draft.done


def _correct_card(state: TableState, command: CorrectCard, context: Context) -> Decision:
    if command.coup is not None and in_progress(state, command.coup) is None:
        return correct_past_card(state, command, context)
    return correct_card(state, command, context)


def _void_coup(state: TableState, command: VoidCoup, context: Context) -> Decision:
    if command.coup is not None and in_progress(state, command.coup) is None:
        return void_past_coup(state, command, context)
    if state.coup is None or not allows(state.phase, CoupVoided.TYPE):
        return refuse("nothing_to_void", f"no coup can be voided in phase {state.phase.value}")
    if not command.reason.strip():
        return refuse("reason_required", "say why the coup is void")
    draft = Draft(state)
    draft.void(context, command.reason)
    return draft.done


_HANDLERS: Final[dict[type[Command], Callable[[TableState, Any, Context], Decision]]] = {
    LoadShoe: load_shoe,
    Burn: burn,
    CutCard: report_cut_card,
    EndShoe: end_shoe,
    OpenBetting: _open_betting,
    PlaceWager: place_wager,
    WithdrawWager: withdraw_wager,
    SetLimits: set_limits,
    CloseBetting: _close_betting,
    ConfirmResult: _confirm_result,
    VoidCoup: _void_coup,
    FreeHand: _free_hand,
    MarkUnreadable: mark_unreadable,
    EnterCard: enter_card,
    CorrectCard: _correct_card,
    CorrectHands: correct_hands,
    CorrectWager: correct_wager,
    CorrectRulebook: correct_rulebook,
    Realign: realign,
    ResolveIrregularity: resolve_irregularity,
    ReplaceShoe: replace_shoe,
    AcknowledgeAlarm: _acknowledge_alarm,
    ClearShoeError: clear_shoe_error,
    AssignDealer: _assign_dealer,
    CollectCommission: collect_commission,
    MarkUncollected: mark_uncollected,
    RecoverCommission: recover_commission,
    OpenFloat: open_float,
    Fill: fill,
    Credit: credit,
    CountChips: count_chips,
    CloseFloat: close_float,
    CountDrop: count_drop,
    CorrectChips: correct_chips,
}
