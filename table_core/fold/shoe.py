"""The fold of shoe reports and of a shoe's life: loaded, reported, ended, held. Pure."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from events.types import (
    BurnRecorded,
    CardOutOfGame,
    CutCardCame,
    DeviceResult,
    ErrorCleared,
    ErrorRaised,
    LinkDown,
    LinkOpen,
    LinkStalled,
    LinkUp,
    LockChanged,
    RoundForcedEnd,
    ShoeAudited,
    ShoeBooted,
    ShoeEnded,
    ShoeErrorCleared,
    ShoeHeld,
    ShoeLoaded,
    ShoeReady,
    ShoeReleased,
    ShoeReported,
    ShuffleQuestioned,
)
from table_core.fold.common import current_shoe
from table_core.persistent_list import PersistentList
from table_core.shuffle.orders import order_of
from table_core.state.coup import OVER, Phase
from table_core.state.dealt_order import dealt_faces
from table_core.state.shoe import BURN_ALARM, CARD_REPORTS, ORDERS_KEPT, ShoeState
from table_core.state.shoe_of_card import (
    DRAWN_OUTSIDE,
    fold_report_into_shoes,
    shoe_of_excess,
    with_shoe,
)
from table_core.state.table import (
    KEPT_JOURNALS,
    MORE_ERRORS,
    MOST_ERRORS,
    STALLED,
    Coup,
    HeldShoe,
    ShoeLink,
    TableState,
)

__all__ = [
    "on_burn_recorded",
    "on_cut_card_came",
    "on_shoe_audited",
    "on_shoe_ended",
    "on_shoe_error_cleared",
    "on_shoe_held",
    "on_shoe_loaded",
    "on_shoe_released",
    "on_shoe_reported",
    "on_shuffle_questioned",
]


def on_shoe_loaded(state: TableState, event: ShoeLoaded) -> TableState:
    """Load a shoe; the one before may still report cards, and its coup may go on."""
    before = (*state.replaced, state.shoe) if state.shoe else ()
    kept = tuple(shoe for shoe in before if state.in_progress or shoe.told or shoe.extra)
    # An overdrawn card of the earlier shoe does not belong to this one.
    link = replace(state.link, carried=False, dummy=False)
    shoe = ShoeState(id=event.shoe, decks=event.decks)
    # Chips of the shoe that is leaving may still have to be moved; what is older was let be.
    last = "" if state.shoe is None else f"{state.shoe.id}/"
    to_move = tuple(each for each in state.to_move if each.coup.startswith(last))
    return replace(
        state, shoe=shoe, replaced=kept, link=link, past=PersistentList(), to_move=to_move
    )


def on_shoe_ended(state: TableState, _: ShoeEnded) -> TableState:
    """End the shoe: no more coups come from it."""
    shoe = current_shoe(state)
    order = order_of(dealt_faces(state, shoe.id))
    orders = (*state.orders, (shoe.id, order))[-ORDERS_KEPT:]
    return _forget_burn(replace(state, shoe=replace(shoe, ended=True), orders=orders))


def on_shoe_audited(state: TableState, event: ShoeAudited) -> TableState:
    """Close the shoe's record of cards."""
    shoe = next((s for s in (state.shoe, *state.replaced) if s and s.id == event.shoe), None)
    return state if shoe is None else with_shoe(state, replace(shoe, audited=True))


def on_shuffle_questioned(state: TableState, event: ShuffleQuestioned) -> TableState:
    """Note the doubt about the order of the shoe on the table."""
    shoe = current_shoe(state)
    others = tuple(each for each in shoe.questioned if each[0] != event.kind)
    return replace(state, shoe=replace(shoe, questioned=(*others, (event.kind, event.exponent))))


def on_shoe_held(state: TableState, event: ShoeHeld) -> TableState:
    """Hold the next shoe."""
    held = HeldShoe(shoe=event.shoe, cause=event.cause, text=event.text)
    return replace(state, held=(*state.held, held))


def on_shoe_released(state: TableState, event: ShoeReleased) -> TableState:
    """Release the next shoe, as far as this one held it."""
    return replace(state, held=tuple(each for each in state.held if each.shoe != event.shoe))


def on_burn_recorded(state: TableState, _: BurnRecorded) -> TableState:
    """Mark the burn as recorded."""
    return _forget_burn(replace(state, shoe=replace(current_shoe(state), burn_recorded=True)))


def on_cut_card_came(state: TableState, event: CutCardCame) -> TableState:
    """Set the number of the last coup."""
    return replace(state, shoe=replace(current_shoe(state), last_coup=event.last_coup))


def on_shoe_reported(state: TableState, event: ShoeReported) -> TableState:
    """Apply the facts that a report itself establishes: the link, the cards, the evidence."""
    source, report = event.source, event.source.report
    kind, before, coup = type(report), state.link, state.coup
    if before.journal == source.journal:
        link = replace(before, seq=source.seq)
    else:
        past = (*before.past, before.journal)[-KEPT_JOURNALS:] if before.journal else before.past
        link = replace(before, journal=source.journal, seq=source.seq, past=past)
    of_link, of_coup = _LINK_FOLDS.get(kind), _COUP_FOLDS.get(kind)
    if of_link is not None:
        link = of_link(link, report)
    if coup is not None and of_coup is not None:
        coup = of_coup(coup, report)
    state = replace(state, link=link, coup=coup)
    if state.shoe is None or kind not in CARD_REPORTS:
        return state
    between = not link.residue and (coup is None or coup.phase in OVER)
    state = fold_report_into_shoes(state, report, between=between)
    if before.carried and not link.carried:
        shoe = shoe_of_excess(state)
        state = with_shoe(state, replace(shoe, discarded=shoe.discarded + 1))
    return state


def on_shoe_error_cleared(state: TableState, event: ShoeErrorCleared) -> TableState:
    """Clear a device error that a person saw to be over; a new report raises it again."""
    link = replace(state.link, errors=state.link.errors - {event.code})
    if event.code == link.state == STALLED:
        link = replace(link, state="open")  # not proven to be up: its next report shows that
    return replace(state, link=link)


def _round_over(coup: Coup, _: object) -> Coup:
    """Note the shoe's evidence that the round is over."""
    return replace(coup, round_over=True)


def _with_result(coup: Coup, report: DeviceResult) -> Coup:
    """Note the shoe's evidence, and its result where the coup is in progress."""
    if coup.phase is Phase.BETTING or coup.phase in OVER:
        return replace(coup, round_over=True)
    return replace(coup, round_over=True, device_result=report)


def _excess(coup: Coup, report: CardOutOfGame) -> Coup:
    """Keep a card outside the game until it is judged and resolved, and note its end."""
    if report.reason != DRAWN_OUTSIDE:
        return replace(coup, excess=_TAKEN_OUT.get(coup.excess, coup.excess))
    if coup.phase in OVER or (coup.phase is Phase.BETTING and not coup.cards):
        return coup
    return replace(coup, excess="several" if coup.excess_open else "drawn")


# The fate of an excess card that the shoe takes out of play. A person must still confirm it where
# nobody has resolved the card; a card that was to be carried over is burned.
_TAKEN_OUT: Final = {"drawn": "taken_out", "carried": "burned", "dummy": "burned"}


def _out_of_game(link: ShoeLink, report: CardOutOfGame) -> ShoeLink:
    """Stop awaiting a card as the next coup's first, once the shoe has taken it out of play."""
    if report.reason == DRAWN_OUTSIDE:
        return link
    return replace(link, carried=False, dummy=False)


def _no_residue(link: ShoeLink, _: object) -> ShoeLink:
    """Note that the round is over: it sends no more cards."""
    return replace(link, residue=False) if link.residue else link


def _error_raised(link: ShoeLink, report: ErrorRaised) -> ShoeLink:
    """Note an active error; all codes beyond the bound are one."""
    known = len(link.errors - {MORE_ERRORS}) < MOST_ERRORS or report.code in link.errors
    return replace(link, errors=link.errors | {report.code if known else MORE_ERRORS})


def _forget_burn(state: TableState) -> TableState:
    """Clear the alarm of a missing burn, once the burn is known or the shoe is over."""
    return replace(state, alarms=tuple(a for a in state.alarms if a.name != BURN_ALARM))


_LINK_FOLDS: Final[dict[type, Callable[[ShoeLink, Any], ShoeLink]]] = {
    LinkOpen: lambda link, _: replace(link, state="open"),
    LinkUp: lambda link, _: replace(link, state="up"),
    LinkDown: lambda link, _: replace(link, state="down"),
    LinkStalled: lambda link, _: replace(link, state=STALLED),
    ShoeBooted: lambda link, _: replace(link, errors=frozenset(), residue=False),
    CardOutOfGame: _out_of_game,
    ErrorRaised: _error_raised,
    ErrorCleared: lambda link, report: replace(link, errors=link.errors - {report.code}),
    LockChanged: lambda link, report: replace(link, locked=report.locked),
    DeviceResult: _no_residue,
    RoundForcedEnd: _no_residue,
    ShoeReady: _no_residue,
}

_COUP_FOLDS: Final[dict[type, Callable[[Coup, Any], Coup]]] = {
    DeviceResult: _with_result,
    RoundForcedEnd: _round_over,
    ShoeBooted: _round_over,
    CardOutOfGame: _excess,
}
