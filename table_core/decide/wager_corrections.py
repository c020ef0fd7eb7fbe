"""The command that corrects a wager, before or after the settlement of its coup. Pure."""

from collections.abc import Sequence
from typing import Final

from events.commands.base import Refusal
from events.commands.corrections import CorrectWager
from events.commands.wagers import WagerRequest
from events.types.commission import CommissionPrepaid, CommissionReturned
from events.types.corrections import WagerCorrected
from events.types.irregularities import IrregularityRecorded
from events.types.table import Wager
from table_core.decide.coup_resolution import settle_first_phase
from table_core.decide.decision import DecisionBuilder, DecisionContext, Handlers, Offers
from table_core.decide.settled_coups import find_case, find_coup_in_progress, settle_again
from table_core.refusals import Decision, first_refusal, refuse
from table_core.rules.commission_owed import prepaid_changes
from table_core.rules.coup_capacity import bounds_refusal
from table_core.rules.rulebook import INITIAL_PHASE, Rulebook
from table_core.rules.table_limits import apply_limits
from table_core.rules.wager_checks import MAX_SEAT, MIN_SEAT, check_wagers
from table_core.rules.wager_totals import WagerTotals, add_wagers
from table_core.state.corrected_coup import fold_correction, with_wager
from table_core.state.coup import Phase, allows
from table_core.state.table import Coup, TableState

__all__ = ["correct_wager"]

# House rule 19: a breach that is found late is recorded and the wager stays. Any other refusal
# means that the wager cannot have existed.
_BREACHES: Final = frozenset(
    {
        "not_a_step",
        "above_maximum",
        "below_minimum",
        "table_maximum",
        "differential",
        "opposite_sides",
        "too_many_options",
        "main_wager_required",
    }
)


def correct_wager(state: TableState, command: CorrectWager, context: DecisionContext) -> Decision:
    """Correct a wager once betting is closed."""
    coup = find_coup_in_progress(state, command.coup)
    if coup is None:
        case = find_case(state, command.coup, command.reason, context)
        if isinstance(case, Refusal):
            return case
        event = _wager_event(case.coup, case.rulebook, command, context)
        if isinstance(event, Refusal):
            return event
        draft = DecisionBuilder(state)
        draft.emit(event)
        _record_breach(draft, case.coup, case.rulebook, event)
        coup = fold_correction(case.coup, event)
        settle_again(draft, context, coup, was=case.rulebook, now=case.rulebook)
        return draft.done
    refusal = _wager_phase_refusal(state) or first_refusal(
        (not command.reason.strip(), "reason_required", "say why")
    )
    made = refusal or _wager_event(coup, context.rulebook_of(coup), command, context)
    if isinstance(made, Refusal):
        return made
    return _wager_in_progress(state, coup, made, context)


def _wager_phase_refusal(state: TableState) -> Refusal | None:
    return first_refusal(
        (
            state.phase is Phase.BETTING,
            "betting_open",
            "betting is open: place the wager, or withdraw it",
        ),
        (
            not allows(state.phase, WagerCorrected.TYPE),
            "coup_misaligned",
            "realign the coup first; what is paid already could not be paid again",
        ),
    )


def _wager_in_progress(
    state: TableState, coup: Coup, event: WagerCorrected, context: DecisionContext
) -> Decision:
    """Emit the correction; prepaid commission and a paid first phase are adjusted at once."""
    rulebook, draft = context.rulebook_of(coup), DecisionBuilder(state)
    draft.emit(event)
    _record_breach(draft, coup, apply_limits(rulebook, state.limits), event)
    more, less = prepaid_changes(rulebook, coup.wagers, draft.coup.wagers)
    if more:
        draft.emit(CommissionPrepaid(coup=coup.id, amounts=more))
    paid = coup.settlement(INITIAL_PHASE)
    if paid is not None:
        draft.settle(context, INITIAL_PHASE, hands=(paid.player, paid.banker))
    else:
        settle_first_phase(draft, context)
    if less:
        draft.emit(CommissionReturned(coup=coup.id, amounts=less))
    return draft.done


def _wager_event(
    coup: Coup, rulebook: Rulebook, command: CorrectWager, context: DecisionContext
) -> WagerCorrected | Refusal:
    """Return the correction, or why there can be none."""
    was = next((each for each in coup.wagers if each.id == command.wager), None)
    if command.wager is not None and was is None:
        return refuse("unknown_wager", f"no wager {command.wager!r} stands in coup {coup.id}")
    if was is None and command.to is None:
        return refuse("changes_nothing", "neither a wager on record nor what it should be")
    wager = None
    if command.to is not None:
        name = was.id if was else f"{context.user}/{command.transaction}/0"
        wager = _wager(name, command.to)
        if wager == was:
            return refuse("changes_nothing", f"wager {name} stands so on record")
        others = tuple(each for each in coup.wagers if each is not was)
        refusal = _never_a_wager(rulebook, others, wager)
        if refusal:
            return refusal
    return WagerCorrected(coup=coup.id, was=was, wager=wager, reason=command.reason)


def _wager(name: str, asked: WagerRequest) -> Wager:
    return Wager(
        id=name,
        seat=asked.seat,
        bet=asked.bet,
        stake=asked.stake,
        patron=asked.patron,
        kind=asked.kind,
    )


def _never_a_wager(rulebook: Rulebook, others: Sequence[Wager], wager: Wager) -> Refusal | None:
    """Return why a wager cannot have existed; a broken limit is a breach, not a reason."""
    if not MIN_SEAT <= wager.seat <= MAX_SEAT:
        return refuse("invalid_seat", f"seat {wager.seat}; seats are {MIN_SEAT} to {MAX_SEAT}")
    if any(each.id == wager.id for each in others):
        return refuse("duplicate_wager", f"wager {wager.id!r} stands already")
    (refusal,) = check_wagers(rulebook, others, (wager,))
    if refusal is not None and refusal.code not in _BREACHES:
        return refusal
    if wager.stake % rulebook.unit:
        text = f"{wager.stake} is no multiple of the smallest chip, {rulebook.unit}"
        return refuse("not_a_step", text)
    return bounds_refusal(add_wagers(WagerTotals(), others), (wager,))


def _record_breach(
    draft: DecisionBuilder, coup: Coup, rulebook: Rulebook, event: WagerCorrected
) -> None:
    """Record a limit that the wager broke: it is paid or lost in full (house rule 19)."""
    if event.wager is None:
        return
    others = with_wager(coup, event.was, None).wagers if event.was else coup.wagers
    (breach,) = check_wagers(rulebook, others, (event.wager,))
    if breach is not None:
        text = f"wager {event.wager.id}: {breach.text}"
        draft.emit(IrregularityRecorded(coup=coup.id, kind="limit_breach", reason=text))

