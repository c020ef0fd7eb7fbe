"""The command that corrects the rulebook of a coup. Pure.

The rules on the table's sign at the time of the stakes count, not the configured ones. Before the
settlement, the coup is judged by the right rulebook from then on: prepaid commission and a paid
first phase are adjusted at once, the rest at the settlement. After the settlement, the coup's
settlements are reversed. A wager that the right rulebook does not have is void when the coup is
settled. A wager that breaks the right rulebook's limits stays, and the breach is recorded (house
rule 19).
"""

from typing import Final

from events.cards import Hand
from events.commands.base import Refusal
from events.commands.corrections import CorrectRulebook
from events.types.commission import CommissionPrepaid, CommissionReturned
from events.types.corrections import RulebookCorrected
from events.types.irregularities import IrregularityRecorded
from events.types.table import Wager
from table_core.decide.decision import DecisionBuilder, DecisionContext, Handlers, Hands, Offers
from table_core.decide.settled_coups import (
    find_case,
    find_coup_in_progress,
    find_rulebook,
    issue_revision,
    settle_again,
)
from table_core.refusals import Decision, first_refusal, refuse
from table_core.rules.commission_owed import amount_changes, prepaid_commission
from table_core.rules.rulebook import INITIAL_PHASE, Rulebook
from table_core.rules.settlement import settle_with_caps
from table_core.rules.wager_checks import check_wagers
from table_core.state.corrected_coup import (
    fold_correction,
    known_faces,
    next_settlement,
    phase_outcome,
)
from table_core.state.corrected_coup import same_settlement as same
from table_core.state.coup import Phase, allows
from table_core.state.table import Coup, TableState

__all__ = ["correct_rulebook"]

_TWO_CARDS: Final = 2
_MOST_TOLD: Final = 20  # breaches that are listed one by one


def correct_rulebook(
    state: TableState, command: CorrectRulebook, context: DecisionContext
) -> Decision:
    """Judge a coup, in progress or settled, by another rulebook that this build has."""
    coup = find_coup_in_progress(state, command.coup)
    if coup is not None:
        refusal = _rulebook_phase_refusal(state, command)
        return refusal or _judged_by_another(state, coup, command, context)
    case = find_case(state, command.coup, command.reason, context)
    if isinstance(case, Refusal):
        return case
    now = _asked_for(case.coup, case.rulebook, command, context)
    if isinstance(now, Refusal):
        return now
    event, draft = _rulebook_event(case.coup, now, command.reason), DecisionBuilder(state)
    draft.emit(event)
    _record_breaches(draft, case.coup, now)
    settle_again(draft, context, fold_correction(case.coup, event), was=case.rulebook, now=now)
    return draft.done


def _rulebook_phase_refusal(state: TableState, command: CorrectRulebook) -> Refusal | None:
    return first_refusal(
        (not command.reason.strip(), "reason_required", "say why"),
        (
            state.phase is Phase.BETTING,
            "betting_open",
            "wagers are taken by the rulebook that the coup began with: close betting first",
        ),
        (
            not allows(state.phase, RulebookCorrected.TYPE),
            "coup_misaligned",
            "realign the coup first; what is paid already could not be paid again",
        ),
    )


def _asked_for(
    coup: Coup, was: Rulebook, command: CorrectRulebook, context: DecisionContext
) -> Rulebook | Refusal:
    """Return the rulebook that the command names, or why the coup cannot have been played by it."""
    now = find_rulebook(context, command.rulebook_hash)
    if now is None or now.id != command.rulebook:
        text = f"no rulebook {command.rulebook!r} of hash {command.rulebook_hash[:12]!r} is known"
        return refuse("unknown_rulebook", text)
    refusal = first_refusal(
        (now.hash == was.hash, "changes_nothing", f"coup {coup.id} is judged by that rulebook"),
        (
            now.currency != was.currency,
            "wrong_currency",
            f"the stakes of coup {coup.id} are {was.currency}, and {now.id} pays {now.currency}",
        ),
    )
    return refusal or now


def _rulebook_event(coup: Coup, now: Rulebook, reason: str) -> RulebookCorrected:
    return RulebookCorrected(
        coup=coup.id,
        was=coup.rulebook,
        was_hash=coup.rulebook_hash,
        rulebook=now.id,
        rulebook_hash=now.hash,
        reason=reason,
    )


def _record_breaches(draft: DecisionBuilder, coup: Coup, now: Rulebook) -> None:
    """Record in one event every wager that the right rulebook would have refused."""
    refusals = zip(coup.wagers, check_wagers(now, (), coup.wagers), strict=True)
    told = [_told(wager, no.text, now) for wager, no in refusals if no is not None]
    if told:
        more = len(told) - _MOST_TOLD
        rest = [f"and {more} more"] if more > 0 else []
        reason = "; ".join([*told[:_MOST_TOLD], *rest])
        draft.emit(IrregularityRecorded(coup=coup.id, kind="limit_breach", reason=reason))


def _told(wager: Wager, text: str, now: Rulebook) -> str:
    void = "" if wager.bet in now.bets else "; it is void"
    return f"wager {wager.id}: {text}{void}"


# ---- before the settlement ----


def _judged_by_another(
    state: TableState, coup: Coup, command: CorrectRulebook, context: DecisionContext
) -> Decision:
    was = context.rulebook_of(coup)
    now = _asked_for(coup, was, command, context)
    if isinstance(now, Refusal):
        return now
    draft = DecisionBuilder(state)
    draft.emit(_rulebook_event(coup, now, command.reason))
    _record_breaches(draft, coup, now)
    _first_phase_again(draft, context, was, now)
    _lay_anew(draft, now)
    return draft.done


def _first_phase_again(
    draft: DecisionBuilder, context: DecisionContext, was: Rulebook, now: Rulebook
) -> None:
    """Reverse a first phase that was paid, and pay it by the right rulebook.

    A first phase that only the right rulebook has is paid if the first four faces are known.
    """
    coup = draft.coup
    paid, hands = coup.settlement(INITIAL_PHASE), _first_four(coup)
    if hands is None:
        return
    outcome = phase_outcome(INITIAL_PHASE, *hands)
    lines, cuts = settle_with_caps(now, outcome, coup.wagers, phase=INITIAL_PHASE)
    settlement = next_settlement(context.table, coup, INITIAL_PHASE, outcome, lines)
    if (paid or lines) and not same(paid, settlement):
        issue_revision(draft, coup, settlement, cuts, was=was, now=now)


def _first_four(coup: Coup) -> Hands | None:
    """Return the faces that the first phase is paid on; None while they are not known."""
    paid = coup.settlement(INITIAL_PHASE)
    if paid is not None:
        return paid.player, paid.banker  # even where a face was distrusted since
    player, banker = (
        known_faces(coup, hand)[:_TWO_CARDS]
        if all(dealt.card for dealt in coup.hand(hand)[:_TWO_CARDS])
        else ()
        for hand in (Hand.PLAYER, Hand.BANKER)
    )
    return (player, banker) if len(player) == len(banker) == _TWO_CARDS else None


def _lay_anew(draft: DecisionBuilder, now: Rulebook) -> None:
    """Adjust the prepaid commission of unsettled wagers to the right rulebook."""
    coup = draft.coup
    open_ = [wager for wager in coup.wagers if now.phase_of(wager.bet) not in coup.settled]
    more, less = amount_changes(draft.state.commission.laid, prepaid_commission(now, open_))
    if more:
        draft.emit(CommissionPrepaid(coup=coup.id, amounts=more))
    if less:
        draft.emit(CommissionReturned(coup=coup.id, amounts=less))

