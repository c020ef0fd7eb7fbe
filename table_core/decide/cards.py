"""Commands about cards that went wrong: unread, misread, missed, in excess, misaligned. Pure."""

from collections.abc import Callable
from typing import Final

from events.cards import Card, Hand
from events.commands import (
    CorrectCard,
    EnterCard,
    MarkUnreadable,
    Realign,
    Refusal,
    ResolveIrregularity,
)
from events.types import (
    CardCorrected,
    CardEntered,
    CardMarkedUnreadable,
    CoupRealigned,
    ExcessCardResolved,
    ExcessOutcome,
    IrregularityRecorded,
    TableEvent,
)
from table_core.decide.corrections import correct_past_card, find_coup_in_progress
from table_core.decide.coup_resolution import EXCESS_MISMATCH, judge_cards, settle_or_hold
from table_core.decide.decision import ANY, DecisionBuilder, DecisionContext, Handlers, Offers
from table_core.refusals import Decision, refuse
from table_core.state.coup import Phase, allows
from table_core.state.dealing import due_places
from table_core.state.shoe import reported_face, times_seen
from table_core.state.shoe_of_card import is_excess_card, shoe_of_excess, shoe_of_place
from table_core.state.table import Coup, DealtCard, TableState

__all__ = [
    "EXCESS_CARD",
    "HANDLERS",
    "OFFERS",
    "RECORDED_KINDS",
    "correct_card",
    "enter_card",
    "mark_unreadable",
    "realign",
    "resolve_irregularity",
]

EXCESS_CARD: Final = "excess_card"
RECORDED_KINDS: Final = frozenset(
    {
        "card_to_wrong_hand",
        "too_few_cards",
        "shoe_fault",
        "late_wager",
        "limit_breach",
        "other",
    }
)
"""Irregularities that change no card and no money: people correct and record them by hand."""


def mark_unreadable(state: TableState, command: MarkUnreadable, _: DecisionContext) -> Decision:
    """Distrust a face that was read: a person must enter it."""
    coup = state.coup
    if coup is None or not allows(state.phase, CardMarkedUnreadable.TYPE):
        return _wrong_phase("nothing_to_mark", state)
    dealt = _at(coup, command.hand, command.number)
    if dealt is None or dealt.card is None:
        return refuse("no_such_card", f"no face is known at {_place(command)}")
    return _needs_reason(command.reason) or (
        CardMarkedUnreadable(
            coup=coup.id,
            hand=command.hand,
            number=command.number,
            was=dealt.card,
            reason=command.reason,
        ),
    )


def enter_card(state: TableState, command: EnterCard, context: DecisionContext) -> Decision:
    """Enter the face of a card that was not read, or of a due card that the shoe never reported."""
    coup = state.coup
    if coup is None or not allows(state.phase, CardEntered.TYPE):
        return _wrong_phase("nothing_to_enter", state)
    dealt = _at(coup, command.hand, command.number)
    if dealt is not None and dealt.card is not None:
        return refuse("card_known", f"{_place(command)} is {dealt.card}; correct it instead")
    due = {(place.hand, place.number) for place in due_places(coup)}
    if dealt is None and (command.hand, command.number) not in due:
        return refuse("not_due", f"no card is due at {_place(command)}")
    refusal = _needs_reason(command.reason) or _too_many(state, command)
    if refusal:
        return refusal
    return _judged(
        state,
        context,
        CardEntered(
            coup=coup.id,
            hand=command.hand,
            number=command.number,
            card=command.face,
            reason=command.reason,
        ),
    )


def correct_card(state: TableState, command: CorrectCard, context: DecisionContext) -> Decision:
    """Correct the face of a card; the coup is judged again, in progress or settled."""
    if command.coup is not None and find_coup_in_progress(state, command.coup) is None:
        return correct_past_card(state, command, context)
    coup = state.coup
    if coup is None or not allows(state.phase, CardCorrected.TYPE):
        return _wrong_phase("nothing_to_correct", state)
    dealt = _at(coup, command.hand, command.number)
    if dealt is None or dealt.card is None:
        return refuse("no_such_card", f"no face is known at {_place(command)}")
    if dealt.card is command.face:
        return refuse("same_card", f"{_place(command)} is {command.face} already")
    refusal = _needs_reason(command.reason) or _too_many(state, command)
    if refusal:
        return refusal
    return _judged(
        state,
        context,
        CardCorrected(
            coup=coup.id,
            hand=command.hand,
            number=command.number,
            was=dealt.card,
            card=command.face,
            reason=command.reason,
        ),
    )


def realign(state: TableState, command: Realign, context: DecisionContext) -> Decision:
    """Realign the coup: a person vouches for the cards as they lie, and the coup goes on."""
    coup = state.coup
    if coup is None or not allows(state.phase, CoupRealigned.TYPE):
        return _wrong_phase("nothing_to_realign", state)
    refusal = _needs_reason(command.reason)
    if refusal:
        return refusal
    return _judged(state, context, CoupRealigned(coup=coup.id, reason=command.reason))


def resolve_irregularity(
    state: TableState, command: ResolveIrregularity, context: DecisionContext
) -> Decision:
    """Resolve an excess card by the house's policy, or record an irregularity of another kind."""
    refusal = _needs_reason(command.reason)
    if refusal:
        return refusal
    if command.kind in RECORDED_KINDS:
        coup = state.coup.id if state.coup and state.in_progress else None
        return (IrregularityRecorded(coup=coup, kind=command.kind, reason=command.reason),)
    if command.kind != EXCESS_CARD:
        known = ", ".join(sorted({EXCESS_CARD, *RECORDED_KINDS}))
        return refuse("unknown_irregularity", f"{command.kind!r}; there are {known}")
    if state.phase is not Phase.HELD:
        return refuse("nothing_to_resolve", f"no coup is held in phase {state.phase.value}")
    return _resolve_excess_card(DecisionBuilder(state), command, context)


def _resolve_excess_card(
    draft: DecisionBuilder, command: ResolveIrregularity, context: DecisionContext
) -> Decision:
    if command.seen is None:
        return refuse("seen_required", "say whether the table has seen the card's face")
    procedure = context.rulebook_of(draft.coup).procedure
    outcome = _OUTCOMES[procedure.excess](command.seen)
    if outcome is None:
        draft.void(context, command.reason)
        return draft.done
    gone = _gone(draft.state) if outcome != "burned" else None
    draft.emit(
        ExcessCardResolved(
            coup=draft.coup.id,
            seen=command.seen,
            outcome="burned" if gone else outcome,
            reason=command.reason,
        )
    )
    if gone:
        reason = f"by the policy it was to be {_MEANT[outcome]}, and {gone}"
        draft.emit(IrregularityRecorded(coup=draft.coup.id, kind=EXCESS_MISMATCH, reason=reason))
    settle_or_hold(draft, context)
    return draft.done


# House rule 17: a hidden card is carried over, and a seen card is shown in a dummy coup; or, by
# policy, every excess card is burned, or voids the coup.
_OUTCOMES: Final[dict[str, Callable[[bool], ExcessOutcome | None]]] = {
    "carry": lambda seen: "dummy" if seen else "carried",
    "burn": lambda _: "burned",
    "void": lambda _: None,
}


_MEANT: Final[dict[ExcessOutcome, str]] = {
    "carried": "carried over",
    "dummy": "shown in a dummy coup",
    "burned": "burned",
}


def _gone(state: TableState) -> str | None:
    """Return why the excess card cannot be any coup's first card; None where it can."""
    if state.coup is not None and state.coup.excess == "taken_out":
        return "the shoe has taken it out of play"
    shoe = shoe_of_excess(state)
    if state.shoe is not None and shoe.id != state.shoe.id:
        return f"its shoe {shoe.id} was replaced"
    return None


def _judged(state: TableState, context: DecisionContext, event: TableEvent) -> Decision:
    """Emit a person's change to the cards, and the events that follow from it."""
    draft = DecisionBuilder(state)
    draft.emit(event)
    judge_cards(draft, context)
    return draft.done


def _at(coup: Coup, hand: Hand, number: int) -> DealtCard | None:
    return next((d for d in coup.cards if (d.hand, d.number) == (hand, number)), None)


def _too_many(state: TableState, command: EnterCard | CorrectCard) -> Refusal | None:
    face, place = command.face, (command.hand, command.number)
    shoe = shoe_of_place(state, *place)
    if times_seen(shoe, face) < shoe.decks or reported_face(shoe, *place) is face:
        return None
    if is_excess_card(state, *place, face) and shoe.extra and shoe.extra.face is face:
        return None  # the shoe counted it when it was drawn outside the game
    return refuse("too_many_copies", f"all {shoe.decks} copies of {face} have been seen")


def _needs_reason(reason: str) -> Refusal | None:
    return None if reason.strip() else refuse("reason_required", "say why")


def _wrong_phase(code: str, state: TableState) -> Refusal:
    return refuse(code, f"not in phase {state.phase.value}")


def _place(command: EnterCard | CorrectCard | MarkUnreadable) -> str:
    return f"{command.hand.value} {command.number}"


HANDLERS: Final[Handlers] = {
    MarkUnreadable: mark_unreadable,
    EnterCard: enter_card,
    CorrectCard: correct_card,
    Realign: realign,
    ResolveIrregularity: resolve_irregularity,
}
OFFERS: Final = Offers(
    bare=(
        MarkUnreadable(transaction=ANY, reason="", hand=Hand.PLAYER, number=0),
        EnterCard(transaction=ANY, face=Card.SA, reason="", hand=Hand.PLAYER, number=0),
        CorrectCard(transaction=ANY, face=Card.SA, reason="", hand=Hand.PLAYER, number=0),
        Realign(transaction=ANY, reason=""),
        ResolveIrregularity(transaction=ANY, kind=EXCESS_CARD, reason=ANY),
    ),
    details=frozenset(
        {"card_known", "no_such_card", "not_due", "reason_required", "seen_required"}
    ),
)
