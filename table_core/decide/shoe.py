"""Commands about the shoe: load, burn, cut card, end, replace, count, clear an error. Pure."""

from typing import Final

from events.commands import (
    Burn,
    ClearShoeError,
    CountShoe,
    CutCard,
    EndShoe,
    LoadShoe,
    ReleaseShoe,
    ReplaceShoe,
)
from events.types import (
    AlarmCleared,
    BurnRecorded,
    ShoeCounted,
    ShoeErrorCleared,
    ShoeLoaded,
    ShoeReleased,
)
from table_core.decide.decision import ANY, DecisionBuilder, DecisionContext, Handlers, Offers
from table_core.decide.shoe_doubts import HELD_ALARM, count_faults, hold
from table_core.refusals import Decision, first_refusal, refuse
from table_core.rules.rulebook import CommissionTiming
from table_core.rules.rulebook_file import DECKS
from table_core.state.shoe import BURN_ALARM, DAY_AND_NUMBER, burn_expected, cut_card_event
from table_core.state.table import STALLED, TableState

__all__ = [
    "HANDLERS",
    "OFFERS",
    "burn",
    "clear_shoe_error",
    "commission_owed_before",
    "count_shoe",
    "end_shoe",
    "load_shoe",
    "release_shoe",
    "replace_shoe",
    "report_cut_card",
]

_MAX_BURN: Final = 52
_MAX_COUNT: Final = 999  # cards: more than any shoe holds, and the most that a form takes


def load_shoe(state: TableState, command: LoadShoe, context: DecisionContext) -> Decision:
    """Load a shuffled shoe."""
    last = state.shoe
    refusal = first_refusal(
        (state.in_progress, "coup_in_progress", "finish or void the coup before loading a shoe"),
        (
            last is not None and not last.ended,
            "shoe_in_play",
            f"end shoe {last.id if last else ''} before loading another",
        ),
        *_shoe_faults(state, command, context),
    )
    return refusal or (ShoeLoaded(shoe=command.shoe, decks=command.decks),)


def end_shoe(state: TableState, command: EndShoe, _: DecisionContext) -> Decision:
    """End the shoe and audit it: no more coups come from it."""
    if state.shoe is None:
        return refuse("no_shoe", "there is no shoe to end; load one first")
    if state.in_progress:
        return refuse("coup_in_progress", "finish or void the coup before ending the shoe")
    if state.shoe.ended:
        return ()
    draft = DecisionBuilder(state)
    draft.end_shoe(command.reason)
    return draft.done


def replace_shoe(state: TableState, command: ReplaceShoe, context: DecisionContext) -> Decision:
    """Replace the shoe by another; a coup in progress goes on or is void."""
    last = state.shoe
    refusal = first_refusal(
        (last is None, "no_shoe", "there is no shoe to replace; load one"),
        (not command.reason.strip(), "reason_required", "say why the shoe is replaced"),
        *_shoe_faults(state, command, context),
    )
    if refusal:
        return refusal
    draft = DecisionBuilder(state)
    if state.in_progress and command.coup == "void":
        draft.void(context, command.reason)
    if not draft.shoe.ended:
        # Faces of a coup that goes on may still become known: the shoe's audit waits for its end.
        draft.end_shoe(f"replaced: {command.reason}", audited=not draft.state.in_progress)
    draft.emit(ShoeLoaded(shoe=command.shoe, decks=command.decks))
    return draft.done


def burn(state: TableState, command: Burn, context: DecisionContext) -> Decision:
    """Record the burn as a person reports it."""
    if state.shoe is None or state.shoe.ended:
        return refuse("no_shoe", "there is no shoe whose burn could be recorded")
    if state.shoe.burn_recorded:
        return refuse("burn_known", f"the burn of shoe {state.shoe.id} is recorded already")
    if not 0 <= command.cards <= _MAX_BURN:
        return refuse("invalid_burn", f"{command.cards} cards; a burn is 0 to {_MAX_BURN}")
    if not command.reason.strip():
        return refuse("reason_required", "say why the burn is recorded by hand")
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


def report_cut_card(state: TableState, command: CutCard, context: DecisionContext) -> Decision:
    """Record the cut card as the dealer reports it."""
    if state.shoe is None or state.shoe.ended:
        return refuse("no_shoe", "there is no shoe whose cut card could come")
    if state.shoe.last_coup is not None:
        return ()
    if (command.place == "between") is state.in_progress:
        text = "a coup is in progress" if state.in_progress else "no coup is in progress"
        return refuse("wrong_place", f"{command.place}: {text}")
    procedure = context.rulebook.procedure
    return (cut_card_event(state.shoe, command.place, procedure, by="person"),)


def count_shoe(state: TableState, command: CountShoe, context: DecisionContext) -> Decision:
    """Record a count of all cards of an ended shoe; one that does not come out holds the next."""
    shoe, numbers = state.shoe, (command.cards, *command.faces.values())
    refusal = first_refusal(
        (
            shoe is not None and command.shoe == shoe.id and not shoe.ended,
            "shoe_in_play",
            f"end shoe {command.shoe} before counting it",
        ),
        (not state.orders, "no_ended_shoe", "no shoe has ended that could be counted"),
        (
            all(ended != command.shoe for ended, _ in state.orders),
            "unknown_shoe",
            f"no shoe {command.shoe!r} has ended here",
        ),
        (
            not all(0 <= number <= _MAX_COUNT for number in numbers),
            "invalid_count",
            f"a count is 0 to {_MAX_COUNT} cards",
        ),
        (
            bool(command.faces) and sum(command.faces.values()) != command.cards,
            "invalid_count",
            f"the faces do not add up to {command.cards} cards",
        ),
    )
    if refusal:
        return refusal
    counted = ShoeCounted(shoe=command.shoe, cards=command.cards, faces=command.faces)
    faults = count_faults(counted, context.rulebook.decks)
    causes = {each.cause for each in state.held if each.shoe == command.shoe}
    if not faults:
        again = "counted again, and the count comes out"
        return (counted, *(_release(state, command.shoe, again) if causes == {"count"} else ()))
    return (counted, *(() if "count" in causes else hold(command.shoe, "count", faults)))


def release_shoe(state: TableState, command: ReleaseShoe, _: DecisionContext) -> Decision:
    """Let the next shoe be loaded although this one is held."""
    if not state.held:
        return refuse("not_held", "no shoe is held")
    if all(each.shoe != command.shoe for each in state.held):
        held = ", ".join(each.shoe for each in state.held)
        return refuse("unknown_shoe", f"shoe {command.shoe!r} is not held, but {held}")
    if not command.reason.strip():
        return refuse("reason_required", "say what was found")
    return _release(state, command.shoe, command.reason)


def _release(state: TableState, shoe: str, reason: str) -> tuple[ShoeReleased | AlarmCleared, ...]:
    released = ShoeReleased(shoe=shoe, reason=reason)
    others = any(each.shoe != shoe for each in state.held)
    return (released,) if others else (released, AlarmCleared(alarm=HELD_ALARM))


def clear_shoe_error(state: TableState, command: ClearShoeError, _: DecisionContext) -> Decision:
    """Clear a device error that is over, or a stall without a reason.

    A device that is silent between coups reports nothing before the next one. So a stall that
    remains after its coup would keep betting closed for ever.
    """
    if command.code == STALLED and state.link.state == STALLED:
        if state.coup is not None and state.in_progress:
            return refuse("coup_in_progress", f"coup {state.coup.id} waits for the shoe")
    elif command.code not in state.link.errors:
        return refuse("no_such_error", f"the shoe does not stand in an error {command.code!r}")
    if not command.reason.strip():
        return refuse("reason_required", "say how you know that the error is over")
    return (ShoeErrorCleared(code=command.code, reason=command.reason),)


def commission_owed_before(
    state: TableState, context: DecisionContext, timing: CommissionTiming
) -> bool:
    """Return whether play must wait until commission with this timing has been collected."""
    terms = context.rulebook.commission
    return terms is not None and terms.timing is timing and bool(state.commission.outstanding)


def _shoe_faults(
    state: TableState, command: LoadShoe | ReplaceShoe, context: DecisionContext
) -> tuple[tuple[bool, str, str], ...]:
    """Return the checks of a new shoe, loaded or replaced, as (fails, code, text)."""
    last = state.shoe
    return (
        (
            bool(state.held),
            "shoe_held",
            "; ".join(f"{each.text}; a supervisor releases it" for each in state.held),
        ),
        (
            not DAY_AND_NUMBER.fullmatch(command.shoe),
            "invalid_shoe",
            f"{command.shoe!r} is no shoe id; write YYYYMMDD-NN",
        ),
        # A shoe's id is the first part of its coups' and settlements' ids: it is never reused.
        (
            last is not None and command.shoe <= last.id,
            "shoe_known",
            f"shoe ids rise, and {last.id if last else ''} has been played already",
        ),
        (
            command.decks not in DECKS,
            "invalid_decks",
            f"{command.decks} decks; a shoe has 4, 6 or 8",
        ),
        (
            command.decks != context.rulebook.decks,
            "wrong_decks",
            f"{context.rulebook.id} is played with {context.rulebook.decks} decks",
        ),
        (
            commission_owed_before(state, context, CommissionTiming.PER_SHOE),
            "commission_outstanding",
            "collect the last shoe's commission, or mark it uncollected",
        ),
    )


HANDLERS: Final[Handlers] = {
    LoadShoe: load_shoe,
    Burn: burn,
    CutCard: report_cut_card,
    EndShoe: end_shoe,
    CountShoe: count_shoe,
    ReleaseShoe: release_shoe,
    ReplaceShoe: replace_shoe,
    ClearShoeError: clear_shoe_error,
}
OFFERS: Final = Offers(
    bare=(
        LoadShoe(transaction=ANY, shoe=""),
        Burn(transaction=ANY, cards=-1, reason=""),
        ReplaceShoe(transaction=ANY, shoe="", reason=""),
        CountShoe(transaction=ANY, shoe="", cards=0),
        ReleaseShoe(transaction=ANY, shoe="", reason=""),
    ),
    details=frozenset(
        {"invalid_shoe", "unknown_shoe", "wrong_decks", "invalid_burn", "reason_required"}
    ),
)
