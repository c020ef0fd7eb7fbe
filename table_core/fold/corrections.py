"""The fold of corrections: of the coup in progress, and of coups that are over. Pure.

The state holds the coups of the shoe on the table (`TableState.past`), because their record, the
roads and the shoe's order follow a correction. Of an earlier shoe's coup, only the events say what
changes: a settlement's `difference`, and the hands before and after.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from events.cards import Card
from events.errors import OurBug
from events.types import (
    CoupSettled,
    CoupVoided,
    DealCompleted,
    HandsCorrected,
    RulebookCorrected,
    TableEvent,
    WagerCorrected,
)
from table_core.fold.common import current_coup, current_shoe, with_coup
from table_core.persistent_list import PersistentList
from table_core.roads.columns import Roads, bead_of
from table_core.rules.wager_totals import WagerTotals
from table_core.state.corrected_coup import in_dealing_order
from table_core.state.coup import OVER, Phase
from table_core.state.coup_projection import changed_coup, corrects, coup_after
from table_core.state.shoe_of_card import lay_cards
from table_core.state.table import KEPT_WAGERS, Coup, TableState, by_id

__all__ = [
    "PAST_COUP_EVENTS",
    "find_past_coup",
    "find_whole_coup",
    "fold_past_coup",
    "is_about_past_coup",
    "on_hands_corrected",
    "past_with_ended_coup",
]

_FACE: Final = 2  # letters of a face in a shoe's order
_NOTHING: Final = WagerTotals()


# ---- the coup in progress ----


def on_hands_corrected(state: TableState, event: HandsCorrected, phase: Phase) -> TableState:
    """Set the coup's cards, and forget the outcome derived from the old ones."""
    coup = changed_coup(current_coup(state), event)
    faces = {(each.hand, each.number): each.card for each in coup.cards if each.card}
    return with_coup(lay_cards(state, faces), phase, cards=coup.cards, completed=None)


# ---- coups that are over ----


def past_with_ended_coup(state: TableState) -> PersistentList[Coup]:
    """Return the past coups with the one that has just ended, which belongs to its id's shoe."""
    coup = current_coup(state)
    if coup.id.rpartition("/")[0] != current_shoe(state).id:
        return state.past
    return _within_bounds(state.past.append(_lean(coup)))


def _within_bounds(past: PersistentList[Coup]) -> PersistentList[Coup]:
    """Return the coups, the oldest slim where they hold too many wagers besides the last's."""
    held, cells = 0, past.cells
    while cells:  # many coups, and one of them is new
        coup, cells = cells
        held += len(coup.wagers)
    if held <= KEPT_WAGERS:
        return past
    coups = list(past)
    for number, coup in enumerate(coups[:-1]):
        if held > KEPT_WAGERS and not coup.slim:
            coups[number], held = _slim(coup), held - len(coup.wagers)
    return _listed(coups)


def _slim(coup: Coup) -> Coup:
    """Return a coup without its wagers and the lines of its settlements."""
    settlements = tuple(replace(each, lines=(), difference=()) for each in coup.settlements)
    return replace(coup, wagers=by_id(()), settlements=settlements, paid_by=(), slim=True)


def _listed(coups: Iterable[Coup]) -> PersistentList[Coup]:
    listed: PersistentList[Coup] = PersistentList()
    for coup in coups:
        listed = listed.append(coup)
    return listed


def find_past_coup(state: TableState, coup: str) -> Coup | None:
    """Return a coup of the shoe on the table that is over, with its corrections; else None."""
    return next((each for each in state.past if each.id == coup), None)


def find_whole_coup(state: TableState, coup: str) -> Coup | None:
    """Return the coup as `find_past_coup` does; None where the state holds it without wagers."""
    found = find_past_coup(state, coup)
    return None if found is None or found.slim else found


def is_about_past_coup(state: TableState, event: TableEvent) -> bool:
    """Return whether an event of `PAST_COUP_EVENTS` is about a coup that is over."""
    coup = state.coup
    return coup is not None and (coup.phase in OVER or coup.id != event.coup)  # type: ignore[attr-defined]  # each type of _PAST has a coup


def fold_past_coup(state: TableState, event: TableEvent, position: int) -> TableState:
    """Return the state after an event about a coup that is over; `position` is the event's.

    Raises:
        OurBug: the event could not have been decided.
    """
    coup = find_past_coup(state, event.coup)  # type: ignore[attr-defined]  # as above
    if not _lawful(state, coup, event):
        raise OurBug(f"position {position}: {event.TYPE} of a coup that is over")
    state = _PAST[type(event)](state, event)
    if coup is not None:
        after = coup_after(coup, event)
        after = _slim(after) if coup.slim else after
        past = _listed(after if each.id == coup.id else each for each in state.past)
        state = replace(state, past=past)
        if isinstance(event, DealCompleted | CoupVoided):
            state = replace(state, shoe=replace(current_shoe(state), roads=_roads(past)))
    last = state.coup
    if last is not None and last.id == event.coup:  # type: ignore[attr-defined]  # as above
        state = replace(state, coup=_lean(coup_after(last, event)))
    return state


def _lawful(state: TableState, coup: Coup | None, event: TableEvent) -> bool:
    if coup is None:
        # A coup of an earlier shoe: only the log knows its cards and settlements.
        shoe = event.coup.rpartition("/")[0]  # type: ignore[attr-defined]  # as above
        known = isinstance(event, CoupSettled) and shoe == current_shoe(state).id
        return shoe != "" and not known
    return corrects(coup, event)


def _hands(state: TableState, event: HandsCorrected) -> TableState:
    was = in_dealing_order(event.was_player, event.was_banker)
    now = in_dealing_order(event.player, event.banker)
    shoe = state.shoe
    mine = find_past_coup(state, event.coup)
    if shoe is not None and mine is not None:
        # The shoe has counted a card whose face nobody knows as well.
        unknown = sum(dealt.card is None for dealt in mine.cards)
        cards = shoe.cards + len(now) - len(was) - unknown
        shoe = replace(shoe, cards=cards, order=_in_order(shoe.order, was, now))
        if event.counts_again:
            shoe = replace(shoe, voids=shoe.voids - 1)
    name = event.coup.rpartition("/")[0]
    # A shoe that was replaced may still wait for its audit.
    replaced = tuple(
        replace(each, order=_in_order(each.order, was, now)) if each.id == name else each
        for each in state.replaced
    )
    totals, again = state.totals, event.counts_again
    totals = replace(totals, coups=totals.coups + again, voids=totals.voids - again)
    return replace(state, shoe=shoe, replaced=replaced, totals=totals)


def _settled(state: TableState, event: CoupSettled) -> TableState:
    totals = state.totals
    for each in event.settlement.difference:
        totals = replace(
            totals,
            staked=totals.staked + each.staked,
            paid=totals.paid + each.paid,
            commission=totals.commission + each.commission,
        )
    return replace(state, totals=totals)


def _voided(state: TableState, event: CoupVoided) -> TableState:
    totals = replace(state.totals, coups=state.totals.coups - 1, voids=state.totals.voids + 1)
    shoe = state.shoe
    if shoe is not None and find_past_coup(state, event.coup) is not None:
        shoe = replace(shoe, voids=shoe.voids + 1)
    return replace(state, totals=totals, shoe=shoe)


def _roads(past: PersistentList[Coup]) -> Roads:
    """Return the roads from the shoe's first coup on: a changed winner moves all later marks."""
    roads = Roads()
    for coup in past:
        if coup.phase is Phase.SETTLED and coup.completed is not None:
            roads = roads.add(bead_of(coup.completed))
    return roads


def _in_order(order: str, was: Sequence[Card], now: Sequence[Card]) -> str:
    """Return a shoe's order with one coup's cards replaced.

    The coup's cards may not be one run in the order, because some were disclosed late. The faces
    are right even then, and new faces go to the end.
    """
    run = "".join(card.value for card in was)
    at = order.rfind(run)  # no face begins within another: no letter is both a suit and a rank
    if at >= 0:
        return order[:at] + "".join(card.value for card in now) + order[at + len(run) :]
    left, new = list(was), []
    for card in now:
        if card in left:
            left.remove(card)
        else:
            new.append(card.value)
    faces = [order[at : at + _FACE] for at in range(0, len(order), _FACE)]
    for card in left:
        if card.value in faces:
            faces.reverse()
            faces.remove(card.value)
            faces.reverse()
    return "".join((*faces, *new))


def _lean(coup: Coup) -> Coup:
    """Return the coup without the totals that only a coup with open betting needs."""
    return replace(coup, summed=_NOTHING)


def _unchanged(state: TableState, _: TableEvent) -> TableState:
    return state


_PAST: Final[dict[type[TableEvent], Callable[[TableState, Any], TableState]]] = {
    HandsCorrected: _hands,
    DealCompleted: _unchanged,
    WagerCorrected: _unchanged,
    RulebookCorrected: _unchanged,
    CoupSettled: _settled,
    CoupVoided: _voided,
}

PAST_COUP_EVENTS: Final = frozenset(_PAST)
"""The types of events that can be about a coup that is over."""
