"""Commands that correct a coup's cards, or void it: in progress, or settled long ago. Pure.

Before the settlement the coup is judged again with its cards as they are then. After it, one
transaction records the correction, reverses each settlement that is now wrong by its next revision,
and adjusts the commission. Nothing else of the table changes.
"""

from collections.abc import Sequence
from typing import Final

from events.cards import Card, Hand
from events.commands.base import Refusal
from events.commands.cards import CorrectCard
from events.commands.corrections import CorrectHands
from events.commands.coup import VoidCoup
from events.types.corrections import HandsCorrected
from events.types.table import CoupVoided
from table_core.decide.coup_resolution import judge_cards
from table_core.decide.decision import DecisionBuilder, DecisionContext, Handlers, Hands, Offers
from table_core.decide.settled_coups import (
    SettledCase,
    find_case,
    find_coup_in_progress,
    issue_revision,
    settle_again,
)
from table_core.fold.corrections import find_past_coup
from table_core.refusals import Decision, first_refusal, refuse
from table_core.rules.rulebook import INITIAL_PHASE, LAST_PHASE
from table_core.state.corrected_coup import fold_correction, hands_error, known_faces, void_revision
from table_core.state.coup import Phase, allows
from table_core.state.dealing import completion
from table_core.state.shoe import ShoeState, audit_shoe, times_seen
from table_core.state.table import Coup, TableState

__all__ = ["HANDLERS", "OFFERS", "correct_hands", "correct_past_card", "void_past_coup"]

_IMPOSSIBLE: Final = {
    "incomplete_coup": "by the draw table another card is due in these hands",
    "excess_card": "by the draw table these hands have a card that was not due",
}
# ---- cards ----


def correct_hands(state: TableState, command: CorrectHands, context: DecisionContext) -> Decision:
    """Correct both hands, of the coup in progress or of a settled coup."""
    hands = (command.player, command.banker)
    coup = find_coup_in_progress(state, command.coup)
    if coup is not None:
        return _hands_in_progress(state, coup, hands, command.reason, context)
    case = find_case(state, command.coup, command.reason, context, void_too=True)
    return case if isinstance(case, Refusal) else _hands(state, case, hands, command, context)


def correct_past_card(
    state: TableState, command: CorrectCard, context: DecisionContext
) -> Decision:
    """Correct the face of one card of a settled coup; the other cards stay."""
    case = find_case(state, command.coup or "", command.reason, context)
    if isinstance(case, Refusal):
        return case
    place = (command.hand, command.number)
    dealt = next((each for each in case.coup.cards if (each.hand, each.number) == place), None)
    if dealt is None:
        return refuse("no_such_card", f"no card lay at {command.hand.value} {command.number}")
    if dealt.card is command.face:
        return refuse("same_card", f"{dealt.hand.value} {dealt.number} is {command.face} already")
    cards = {(each.hand, each.number): each.card for each in case.coup.cards}
    cards[place] = command.face
    player, banker = (
        tuple(card for (of, _), card in sorted(cards.items(), key=_number) if of is hand and card)
        for hand in (Hand.PLAYER, Hand.BANKER)
    )
    return _hands(state, case, (player, banker), command, context)


def _number(item: tuple[tuple[Hand, int], Card | None]) -> int:
    return item[0][1]


def _hands(
    state: TableState,
    case: SettledCase,
    hands: Hands,
    command: CorrectHands | CorrectCard,
    context: DecisionContext,
) -> Decision:
    """Correct the hands of a settled coup; a coup voided after its settlement counts again."""
    coup, was = case.coup, _faces(case.coup)
    void = coup.phase is Phase.VOIDED
    if hands == was and not void:
        return refuse("changes_nothing", f"coup {coup.id} has these cards on record")
    error = hands_error(*hands)
    if error is not None:
        return refuse(error, _IMPOSSIBLE[error])
    refusal = _too_many(case.shoe, (*was[0], *was[1]), hands)
    if refusal:
        return refusal
    event = HandsCorrected(
        coup=coup.id,
        was_player=was[0],
        was_banker=was[1],
        player=hands[0],
        banker=hands[1],
        counts_again=void,
        reason=command.reason,
    )
    draft = DecisionBuilder(state)
    draft.emit(event)
    coup = fold_correction(coup, event)
    completed = completion(coup)
    if completed is not None:
        draft.emit(completed)
        coup = fold_correction(coup, completed)
    settle_again(draft, context, coup, was=case.rulebook, now=case.rulebook)
    _audit_again(draft, coup)
    return draft.done


def _hands_in_progress(
    state: TableState, coup: Coup, hands: Hands, reason: str, context: DecisionContext
) -> Decision:
    if not allows(state.phase, HandsCorrected.TYPE):
        return refuse("nothing_to_correct", f"not in phase {state.phase.value}")
    was, error = _faces(coup), hands_error(*hands)
    refusal = first_refusal(
        (not reason.strip(), "reason_required", "say why"),
        (
            any(dealt.card is None for dealt in coup.cards),
            "face_unknown",
            "a card lies there whose face is not known; have it disclosed or enter it first",
        ),
        (hands == was, "changes_nothing", "the coup has these cards on record"),
        (not any(hands), "incomplete_coup", "a coup whose cards are no cards is void"),
        (error == "excess_card", "excess_card", _IMPOSSIBLE["excess_card"]),
    ) or _too_many(state.shoe, _counted(state.shoe), hands)
    if refusal:
        return refusal
    draft = DecisionBuilder(state)
    draft.emit(
        HandsCorrected(
            coup=coup.id,
            was_player=was[0],
            was_banker=was[1],
            player=hands[0],
            banker=hands[1],
            reason=reason,
        )
    )
    judge_cards(draft, context)
    return draft.done


def _counted(shoe: ShoeState | None) -> tuple[Card, ...]:
    """Return the faces of the round in progress that the shoe reported, at their places or not."""
    told = (*shoe.told, shoe.extra) if shoe else ()
    return tuple(each.face for each in told if each is not None and each.face is not None)


def _too_many(shoe: ShoeState | None, before: Sequence[Card], now: Hands) -> Refusal | None:
    """Refuse more copies of a face than the shoe holds; `before` are counted already."""
    if shoe is None:
        return None
    after = (*now[0], *now[1])
    for face in dict.fromkeys(after):
        more = after.count(face) - before.count(face)
        if more > 0 and times_seen(shoe, face) + more > shoe.decks:
            return refuse(
                "too_many_copies", f"{face}: more than the {shoe.decks} copies of the shoe"
            )
    return None


def _faces(coup: Coup) -> Hands:
    return known_faces(coup, Hand.PLAYER), known_faces(coup, Hand.BANKER)


# ---- a void ----


def void_past_coup(state: TableState, command: VoidCoup, context: DecisionContext) -> Decision:
    """Void a settled coup: stakes go back, less what was paid for them."""
    case = find_case(state, command.coup or "", command.reason, context)
    if isinstance(case, Refusal):
        return case
    coup, rulebook = case.coup, case.rulebook
    draft = DecisionBuilder(state)
    draft.emit(CoupVoided(coup=coup.id, reason=command.reason, refunds=()))
    phases = [LAST_PHASE]
    if rulebook.procedure.void_after_phase_one == "reverse_all":
        phases.insert(0, INITIAL_PHASE)
    for phase in phases:
        settlement = void_revision(context.table, coup, phase)
        if settlement is not None:
            issue_revision(draft, coup, settlement, (), was=rulebook, now=rulebook)
    return draft.done


def _audit_again(draft: DecisionBuilder, coup: Coup) -> None:
    """Audit the shoe on the table again, if its audit counted other cards of this coup."""
    shoe = draft.state.shoe
    if shoe is None or not shoe.ended or find_past_coup(draft.state, coup.id) is None:
        return
    earlier = [each for each in draft.state.orders if each[0] != shoe.id]
    draft.emit(audit_shoe(shoe, earlier))


HANDLERS: Final[Handlers] = {
    CorrectHands: correct_hands,
    CorrectWager: correct_wager,
    CorrectRulebook: correct_rulebook,
}
OFFERS: Final = Offers()
