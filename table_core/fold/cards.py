"""The fold of events about cards: dealt, disclosed, unread, entered, corrected, in excess. Pure."""

from msgspec.structs import replace

from events.cards import Card, Hand
from events.types import (
    CardCorrected,
    CardDealt,
    CardEntered,
    CardMarkedUnreadable,
    CardUnread,
    CoupRealigned,
    ExcessCardResolved,
)
from table_core.fold.common import current_coup, current_shoe, on_coup, with_coup
from table_core.state.coup import Phase
from table_core.state.dealing import due_places
from table_core.state.shoe import move_last_card, set_face
from table_core.state.shoe_of_card import add_card, shoe_of_excess, shoe_of_place, with_shoe
from table_core.state.table import TableState

__all__ = [
    "on_card_dealt",
    "on_card_marked_unreadable",
    "on_card_set_by_hand",
    "on_card_unread",
    "on_coup_realigned",
    "on_excess_card_resolved",
]


def on_card_dealt(state: TableState, event: CardDealt, phase: Phase) -> TableState:
    """Place a card."""
    shoe = move_last_card(current_shoe(state), event.hand, event.number)
    if shoe is not state.shoe:
        state = replace(state, shoe=shoe)
    if state.link.carried:
        state = replace(state, link=replace(state.link, carried=False))
    return on_coup(state, event, phase)


def on_card_unread(state: TableState, event: CardUnread, phase: Phase) -> TableState:
    """Place a card with an unknown face."""
    shoe = move_last_card(current_shoe(state), event.hand, event.number)
    return on_coup(replace(state, shoe=shoe), event, phase)


def on_card_marked_unreadable(
    state: TableState, event: CardMarkedUnreadable, phase: Phase
) -> TableState:
    """Forget the face of a card."""
    state = _face_in_shoe(state, event.hand, event.number, None)
    return on_coup(state, event, phase)


def on_card_set_by_hand(
    state: TableState, event: CardEntered | CardCorrected, phase: Phase
) -> TableState:
    """Set a face that a person entered or corrected, or add a card that the shoe never reported."""
    place = (event.hand, event.number)
    if any((dealt.hand, dealt.number) == place for dealt in current_coup(state).cards):
        state = _face_in_shoe(state, *place, event.card)
    else:
        state = add_card(state, *place, event.card)
        state = replace(state, link=replace(state.link, carried=False))
    return on_coup(state, event, phase)


def _face_in_shoe(state: TableState, hand: Hand, number: int, face: Card | None) -> TableState:
    return with_shoe(state, set_face(shoe_of_place(state, hand, number), hand, number, face))


def on_coup_realigned(state: TableState, _: CoupRealigned, phase: Phase) -> TableState:
    """Continue the coup from its cards as they lie.

    A person vouches for a card drawn outside the game while one was due, too: it belongs to no
    hand.
    """
    coup = current_coup(state)
    known = all(dealt.card is not None for dealt in coup.cards)
    excess = "" if coup.excess_open and known and due_places(coup) else coup.excess
    return with_coup(state, phase, reason="", completed=None, excess=excess)


def on_excess_card_resolved(
    state: TableState, event: ExcessCardResolved, phase: Phase
) -> TableState:
    """Set the fate of the excess card."""
    carried, dummy = event.outcome == "carried", event.outcome == "dummy"
    link, shoe = replace(state.link, carried=carried or dummy, dummy=dummy), shoe_of_excess(state)
    if event.outcome == "burned":
        state = with_shoe(state, replace(shoe, discarded=shoe.discarded + 1))
    return with_coup(replace(state, link=link), phase, excess=event.outcome)
