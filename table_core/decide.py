"""Commands to events: `decide(state, command, context)` returns events, or a refusal with a code.

Pure. An empty tuple means that what was asked for holds already (`exists`). Handlers stand in a map
at the end, one small function a command. What the shoe says is heard in `table_core.hear`.
"""

from collections.abc import Callable
from typing import Any, Final

from events.commands import (
    Burn,
    CloseBetting,
    CollectCommission,
    Command,
    ConfirmResult,
    CutCard,
    EndShoe,
    LoadShoe,
    MarkUncollected,
    OpenBetting,
    PlaceWager,
    RecoverCommission,
    Refusal,
    VoidCoup,
    WithdrawWager,
)
from events.errors import OurBug
from events.shoe_life import BurnRecorded
from events.table import (
    AlarmCleared,
    AlarmRaised,
    CoupVoided,
    ResultConfirmed,
    RulebookAdopted,
    ShoeLoaded,
    TableEvent,
    Wager,
    WagersPlaced,
    WagersWithdrawn,
)
from table_core.coup import OVER, Phase, allows
from table_core.decide_commission import (
    collect_commission,
    mark_uncollected,
    recover_commission,
)
from table_core.draft import LAST_PHASE, Context, Draft
from table_core.placement import MAX_SEAT, MIN_SEAT, check, unsupported
from table_core.rulebook import CommissionTiming, Rulebook
from table_core.shoe_life import BURN_ALARM, burn_expected, cut_card
from table_core.state import TableState

__all__ = [
    "Decision",
    "adopt_rulebook",
    "decide",
    "result_overdue",
]

_MAX_TRANSACTION: Final = 128
_DECKS: Final = (4, 6, 8)
_MAX_BURN: Final = 52

Decision = tuple[TableEvent, ...] | Refusal


def decide(state: TableState, command: Command, context: Context) -> Decision:
    """What `command` does to a table in `state`.

    Returns:
        The events to append (none when it holds already), or a refusal that changes nothing.
    """
    if not 1 <= len(command.transaction) <= _MAX_TRANSACTION:
        return _refuse(
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


def _load_shoe(state: TableState, command: LoadShoe, context: Context) -> Decision:
    last = state.shoe
    refusal = _first_of(
        (state.in_progress, "coup_in_progress", "finish or void the coup before loading a shoe"),
        (
            last is not None and not last.ended,
            "shoe_in_play",
            f"end shoe {last.id if last else ''} before loading another",
        ),
        (
            not _is_shoe_id(command.shoe),
            "invalid_shoe",
            f"{command.shoe!r} is no shoe id; write YYYYMMDD-NN",
        ),
        # A shoe's id is the first part of its coups' and settlements' ids: never twice.
        (
            last is not None and command.shoe <= last.id,
            "shoe_known",
            f"shoe ids rise, and {last.id if last else ''} has been played already",
        ),
        (
            command.decks not in _DECKS,
            "invalid_decks",
            f"{command.decks} decks; a shoe has 4, 6 or 8",
        ),
        (
            _owes_before(state, context, CommissionTiming.PER_SHOE),
            "commission_outstanding",
            "collect the last shoe's commission, or mark it uncollected",
        ),
    )
    return refusal or (ShoeLoaded(shoe=command.shoe, decks=command.decks),)


def _end_shoe(state: TableState, command: EndShoe, _: Context) -> Decision:
    if state.shoe is None:
        return _refuse("no_shoe", "there is no shoe to end; load one first")
    if state.in_progress:
        return _refuse("coup_in_progress", "finish or void the coup before ending the shoe")
    if state.shoe.ended:
        return ()
    draft = Draft(state)
    draft.end_shoe(command.reason)
    return tuple(draft.events)


def _burn(state: TableState, command: Burn, context: Context) -> Decision:
    if state.shoe is None or state.shoe.ended:
        return _refuse("no_shoe", "there is no shoe whose burn could be recorded")
    if state.shoe.burn_recorded:
        return _refuse("burn_known", f"the burn of shoe {state.shoe.id} is recorded already")
    if not 0 <= command.cards <= _MAX_BURN:
        return _refuse("invalid_burn", f"{command.cards} cards; a burn is 0 to {_MAX_BURN}")
    if not command.reason.strip():
        return _refuse("reason_required", "say why the burn is recorded by hand")
    recorded = BurnRecorded(
        shoe=state.shoe.id,
        exposed=state.shoe.exposed,
        burned=command.cards,
        expected=burn_expected(context.rulebook.procedure, state.shoe.exposed),
        by="person",
        reason=command.reason,
    )
    if any(alarm.name == BURN_ALARM for alarm in state.alarms):
        return (recorded, AlarmCleared(alarm=BURN_ALARM))
    return (recorded,)


def _cut_card(state: TableState, command: CutCard, context: Context) -> Decision:
    if state.shoe is None or state.shoe.ended:
        return _refuse("no_shoe", "there is no shoe whose cut card could come")
    if state.shoe.last_coup is not None:
        return ()
    if (command.place == "between") is state.in_progress:
        text = "a coup is in progress" if state.in_progress else "no coup is in progress"
        return _refuse("wrong_place", f"{command.place}: {text}")
    procedure = context.rulebook.procedure
    return (cut_card(state.shoe, command.place, procedure, by="person"),)


def _open_betting(state: TableState, _: OpenBetting, context: Context) -> Decision:
    refusal = _play_refusal(state, context)
    if refusal:
        return refusal
    draft = Draft(state)
    draft.open_coup(context)
    return tuple(draft.events)


def _play_refusal(state: TableState, context: Context) -> Refusal | None:
    """Why betting cannot open, the first reason in this order; None when it can."""
    link, shoe = state.link, state.shoe
    return _first_of(
        (not context.caught_up, "catching_up", "the table is still reading what the shoe has said"),
        (state.in_progress, "coup_in_progress", f"coup in phase {state.phase.value}"),
        (shoe is None, "no_shoe", "load a shoe first"),
        (shoe is not None and shoe.ended, "shoe_ended", "the shoe has ended; load the next one"),
        (
            shoe is not None and shoe.last_coup is not None and shoe.coups >= shoe.last_coup,
            "last_coup_played",
            "the cut card came, and the last coup has been played; end the shoe",
        ),
        (link.state not in {"open", "up"}, "link_down", f"the shoe link is {link.state}"),
        (bool(link.errors), "shoe_error", f"the shoe reports {', '.join(sorted(link.errors))}"),
        (link.locked, "shoe_locked", "the shoe is locked"),
        (
            _owes_before(state, context, CommissionTiming.PER_COUP),
            "commission_outstanding",
            "collect the last coup's commission, or mark it uncollected",
        ),
    )


def _owes_before(state: TableState, context: Context, timing: CommissionTiming) -> bool:
    """Whether play must wait until commission taken at such times has been collected."""
    terms = context.rulebook.commission
    return terms is not None and terms.timing is timing and bool(state.commission.outstanding)


def _place_wager(state: TableState, command: PlaceWager, context: Context) -> Decision:
    if not context.caught_up:
        return _refuse("catching_up", "the table is still reading what the shoe has said")
    if state.coup is None or state.phase is not Phase.BETTING:
        return _refuse("betting_closed", f"no wager in phase {state.phase.value}")
    if not command.wagers:
        return _refuse("no_wagers", "the list of wagers is empty")
    asked = tuple(
        Wager(
            id=f"{command.transaction}/{index}",
            seat=wager.seat,
            bet=wager.bet,
            stake=wager.stake,
            patron=wager.patron,
        )
        for index, wager in enumerate(command.wagers)
    )
    for wager in asked:
        if not MIN_SEAT <= wager.seat <= MAX_SEAT:
            return _refuse("invalid_seat", f"seat {wager.seat}; seats are {MIN_SEAT} to {MAX_SEAT}")
    refusals = [r for r in check(context.rulebook, state.coup.wagers, asked) if r]
    if refusals:
        return refusals[0]
    return (WagersPlaced(coup=state.coup.id, wagers=asked),)


def _withdraw_wager(state: TableState, command: WithdrawWager, context: Context) -> Decision:
    if state.coup is None or not allows(state.phase, WagersWithdrawn.TYPE):
        return _refuse("betting_closed", f"no wager can be taken back in phase {state.phase.value}")
    standing = {wager.id for wager in state.coup.wagers}
    unknown = [wager for wager in command.wagers if wager not in standing]
    if unknown or not command.wagers:
        return _refuse(
            "unknown_wager", f"no such wager stands: {', '.join(unknown) or 'none named'}"
        )
    left = tuple(wager for wager in state.coup.wagers if wager.id not in set(command.wagers))
    # Withdrawing a main wager withdraws what needs it.
    support = zip(left, unsupported(context.rulebook, left), strict=True)
    gone = {*command.wagers, *(wager.id for wager, lacks in support if lacks)}
    return (
        WagersWithdrawn(
            coup=state.coup.id,
            wagers=tuple(wager.id for wager in state.coup.wagers if wager.id in gone),
        ),
    )


def _close_betting(state: TableState, _: CloseBetting, context: Context) -> Decision:
    if state.coup is None or state.phase in OVER:
        return _refuse("betting_not_open", "no coup is in progress")
    if state.phase is not Phase.BETTING:
        return ()
    draft = Draft(state)
    draft.close_betting(context, by="dealer")
    return tuple(draft.events)


def _confirm_result(state: TableState, command: ConfirmResult, context: Context) -> Decision:
    if state.coup is None or not allows(state.phase, ResultConfirmed.TYPE):
        return _refuse(
            "nothing_to_confirm", f"no result can be confirmed in phase {state.phase.value}"
        )
    if not command.reason.strip():
        return _refuse("reason_required", "say why the table's own result is confirmed")
    draft = Draft(state)
    draft.emit(ResultConfirmed(coup=state.coup.id, by="person", reason=command.reason))
    draft.settle(context, LAST_PHASE)
    return tuple(draft.events)


def _void_coup(state: TableState, command: VoidCoup, context: Context) -> Decision:
    if state.coup is None or not allows(state.phase, CoupVoided.TYPE):
        return _refuse("nothing_to_void", f"no coup can be voided in phase {state.phase.value}")
    if not command.reason.strip():
        return _refuse("reason_required", "say why the coup is void")
    draft = Draft(state)
    draft.void(context, command.reason)
    return tuple(draft.events)


def _is_shoe_id(text: str) -> bool:
    day, dash, number = text.partition("-")
    return (
        bool(dash)
        and day.isascii()
        and day.isdigit()
        and len(day) == len("YYYYMMDD")
        and (number.isascii() and number.isdigit() and len(number) == len("NN"))
    )


def _first_of(*reasons: tuple[bool, str, str]) -> Refusal | None:
    """The first reason (does it hold, code, text) that holds; None when none does."""
    return next((_refuse(code, text) for holds, code, text in reasons if holds), None)


def _refuse(code: str, text: str) -> Refusal:
    return Refusal(code=code, text=text)


_HANDLERS: Final[dict[type[Command], Callable[[TableState, Any, Context], Decision]]] = {
    LoadShoe: _load_shoe,
    Burn: _burn,
    CutCard: _cut_card,
    EndShoe: _end_shoe,
    OpenBetting: _open_betting,
    PlaceWager: _place_wager,
    WithdrawWager: _withdraw_wager,
    CloseBetting: _close_betting,
    ConfirmResult: _confirm_result,
    VoidCoup: _void_coup,
    CollectCommission: collect_commission,
    MarkUncollected: mark_uncollected,
    RecoverCommission: recover_commission,
}
