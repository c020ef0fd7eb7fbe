"""Coups that are over, for corrections: find one, judge it again, settle it again. Pure."""

from msgspec import Struct

from events.commands.base import Refusal
from events.types.table import CoupSettled, Settlement
from table_core.decide.decision import DecisionBuilder, DecisionContext
from table_core.fold.corrections import find_past_coup
from table_core.refusals import refuse
from table_core.rules.commission_owed import correction_commission
from table_core.rules.rulebook import LAST_PHASE, Rulebook
from table_core.rules.settlement import CapApplied
from table_core.state.corrected_coup import revised_settlements
from table_core.state.coup import OVER, Phase
from table_core.state.shoe import ShoeState
from table_core.state.table import Coup, TableState

__all__ = [
    "SettledCase",
    "find_case",
    "find_coup_in_progress",
    "find_rulebook",
    "issue_revision",
    "settle_again",
]


class SettledCase(Struct, frozen=True):
    """A coup that is over, with the data needed to judge it again.

    Args:
        coup: with its corrections so far.
        shoe: the one it was dealt from; None where the coup continued from another shoe.
        rulebook: the one it was settled by.
    """

    coup: Coup
    shoe: ShoeState | None
    rulebook: Rulebook


def find_coup_in_progress(state: TableState, coup: str) -> Coup | None:
    """Return the coup in progress where it has this id; else None."""
    found = state.coup
    return found if found is not None and found.id == coup and state.in_progress else None


def find_case(
    state: TableState, name: str, reason: str, context: DecisionContext, *, void_too: bool = False
) -> SettledCase | Refusal:
    """Return a settled coup by its id; else why there is nothing to correct."""
    if not reason.strip():
        return refuse("reason_required", "say why")
    coup, shoe = find_past_coup(state, name), state.shoe
    if coup is None and context.recalled is not None:
        then = context.recalled
        coup, shoe = find_past_coup(then, name), then.shoe
        if coup is None and then.coup is not None and then.coup.id == name and then.phase in OVER:
            coup = then.coup
    if coup is None:
        return refuse("unknown_coup", f"no coup {name!r} was played to its end at this table")
    if coup.settlement(LAST_PHASE) is None or (coup.phase is Phase.VOIDED and not void_too):
        return refuse("coup_void", f"coup {coup.id} is void ({coup.reason})")
    rulebook = find_rulebook(context, coup.rulebook_hash)
    if rulebook is None:
        text = f"coup {coup.id} was settled by {coup.rulebook} ({coup.rulebook_hash[:12]})"
        return refuse("unknown_rulebook", f"{text}, which is not at hand")
    dealt_from = coup.id.rpartition("/")[0]
    return SettledCase(coup, shoe if shoe is not None and shoe.id == dealt_from else None, rulebook)


def find_rulebook(context: DecisionContext, its_hash: str) -> Rulebook | None:
    """Return the rulebook of this hash; None where the table does not have it."""
    books = (context.rulebook, *context.library)
    return next((each for each in books if each.hash == its_hash), None)


def settle_again(
    draft: DecisionBuilder, context: DecisionContext, coup: Coup, *, was: Rulebook, now: Rulebook
) -> None:
    """Reverse every settlement of a corrected coup that is now wrong, and settle again.

    Args:
        draft: the decision in progress.
        context: the table.
        coup: as corrected, with the settlements in force until now.
        was: the rulebook it was settled by.
        now: the rulebook to settle it by.
    """
    for settlement, cuts in revised_settlements(context.table, coup, now):
        issue_revision(draft, coup, settlement, cuts, was=was, now=now)


def issue_revision(
    draft: DecisionBuilder,
    coup: Coup,
    settlement: Settlement,
    cuts: tuple[CapApplied, ...],
    *,
    was: Rulebook,
    now: Rulebook,
) -> None:
    """Emit a revision, its commission events, and the aggregate maxima that reduced it."""
    facts = correction_commission(
        was,
        now,
        draft.state.commission,
        settlement,
        reversed_=coup.settlement(settlement.phase),
    )
    draft.emit(CoupSettled(coup=coup.id, settlement=settlement))
    for fact in facts:
        draft.emit(fact)
    draft.emit_caps(settlement, cuts)
