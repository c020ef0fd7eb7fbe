"""Finds the shoe that a card came from, where a shoe was replaced in mid-coup. Pure.

The coup goes on from the new shoe's cards, but the cards on the table came from the earlier shoe.
Their faces count there, however late they become known. So do the coup, its mark on the roads and
its void, because the coup's id names that shoe. So a replaced shoe stays in the state until the
next coup begins, and its audit waits for the end of the coup.
"""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from events.cards import Card, Hand
from events.errors import OurBug
from events.types import (
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    CardUnreadable,
    Report,
    ShoeBooted,
)
from table_core.state.shoe import (
    ReportedCard,
    ShoeState,
    add_by_hand,
    can_be_excess_card,
    confirm_entry,
    entered_card,
    fold_card_report,
    has_reported_card,
    has_reported_later_card,
    has_reported_place,
    place_excess_card,
    set_face,
)
from table_core.state.table import TableState

__all__ = [
    "DRAWN_OUTSIDE",
    "add_card",
    "confirmed_entry",
    "fold_report_into_shoes",
    "is_excess_card",
    "lay_cards",
    "shoe_of_coup",
    "shoe_of_excess",
    "shoe_of_place",
    "shoe_of_report",
    "with_shoe",
]

DRAWN_OUTSIDE: Final = "drawn_outside_game"
"""The reason of a report that a card outside the game is a card of its own. With any other reason
the shoe reports the fate of an earlier card."""

_DEALT: Final = (CardDrawn, CardUnreadable)


def shoe_of_place(state: TableState, hand: Hand, number: int) -> ShoeState:
    """Return the shoe that the card at a place of the coup came from."""
    shoe = _current(state)
    if has_reported_place(shoe, hand, number):
        return shoe
    told = [each for each in reversed(state.replaced) if has_reported_card(each, hand, number)]
    behind = [each for each in state.replaced if has_reported_later_card(each, hand, number)]
    return next(iter((*told, *behind)), shoe)


def shoe_of_excess(state: TableState) -> ShoeState:
    """Return the shoe that the overdrawn card came from."""
    shoe = _current(state)
    if shoe.extra is not None:
        return shoe
    return next((each for each in reversed(state.replaced) if each.extra is not None), shoe)


def shoe_of_coup(state: TableState) -> ShoeState:
    """Return the shoe that the coup's id names."""
    shoe = _current(state)
    if state.coup is None or not state.replaced:
        return shoe
    name = state.coup.id.partition("/")[0]
    return next((each for each in state.replaced if each.id == name), shoe)


def shoe_of_report(state: TableState, report: Report) -> ShoeState:
    """Return the shoe that a report's card came from."""
    if type(report) is CardRevealed:
        return shoe_of_place(state, report.hand, report.number)
    if type(report) is CardOutOfGame and report.reason != DRAWN_OUTSIDE:
        return shoe_of_excess(state)
    return _current(state)


def is_excess_card(state: TableState, hand: Hand, number: int, face: Card) -> bool:
    """Return whether a card that no shoe reported at its place is the one drawn in excess.

    It is, where that card can have this face and waits to be judged or to be this coup's first
    card.
    """
    shoe = _current(state)
    if not can_be_excess_card(shoe_of_excess(state), face) or has_reported_place(
        shoe, hand, number
    ):
        return False
    if state.link.carried:
        return (hand, number) == (Hand.PLAYER, 1)
    told = any(
        has_reported_card(each, hand, number) or has_reported_later_card(each, hand, number)
        for each in (shoe, *state.replaced)
    )
    return state.coup is not None and state.coup.excess_open and not told


def confirmed_entry(state: TableState, report: Report) -> ReportedCard | None:
    """Return the card that a person entered and that this report, which comes late, is about.

    Behind the coup's end it must be of that face, and the rest of the round must be on its way.
    """
    if not isinstance(report, _DEALT) or state.shoe is None:
        return None
    entered = entered_card(state.shoe, report.hand, report.number)
    if entered is None or state.in_progress:
        return entered
    same = getattr(report, "face", None) in {None, entered.face}
    return entered if same and state.link.residue else None


def add_card(state: TableState, hand: Hand, number: int, face: Card) -> TableState:
    """Record a person's card at a place: it is counted once, in the shoe it came from."""
    if not is_excess_card(state, hand, number, face):
        shoe = shoe_of_place(state, hand, number)
        return with_shoe(state, add_by_hand(shoe, hand, number, face))
    state = with_shoe(state, place_excess_card(shoe_of_excess(state), hand, number, face))
    return replace(state, coup=replace(state.coup, excess="")) if state.coup else state


def lay_cards(state: TableState, faces: Mapping[tuple[Hand, int], Card]) -> TableState:
    """Record the whole coup as a person gives it: every card counts once, in its own shoe.

    A reported card moves to the place where its face lies. Only where there is no such place was
    the card at that place misread. The cards left over have left their shoe, and lie at no place.
    """
    shoes = (*state.replaced, _current(state))
    lies = {(told.hand, told.number) for shoe in shoes for told in shoe.told if _lies(told, faces)}
    missing = {place: face for place, face in faces.items() if place not in lies}
    moved: list[list[ReportedCard | None]] = []
    for shoe in shoes:
        moved.append([])
        for told in shoe.told:
            place = next((place for place, face in missing.items() if face is told.face), None)
            moves = place is not None and told.hand is not None and not _lies(told, faces)
            moved[-1].append(ReportedCard(*place, missing.pop(place)) if place and moves else None)
    for shoe, moves_of_shoe in zip(shoes, moved, strict=True):
        pairs = zip(shoe.told, moves_of_shoe, strict=True)
        laid = tuple(move or _left_over(told, faces, missing) for told, move in pairs)
        state = with_shoe(state, replace(shoe, told=laid))
    for place, face in missing.items():
        shoe = shoe_of_place(state, *place)
        if has_reported_place(shoe, *place):
            state = with_shoe(state, set_face(shoe, *place, face))
        else:
            state = add_card(state, *place, face)
    return state


def _lies(told: ReportedCard, faces: Mapping[tuple[Hand, int], Card]) -> bool:
    """Return whether a card lies where the shoe reported it."""
    return any(
        (told.hand, told.number, told.face) == (*place, face) for place, face in faces.items()
    )


def _left_over(
    told: ReportedCard,
    faces: Mapping[tuple[Hand, int], Card],
    missing: Mapping[tuple[Hand, int], Card],
) -> ReportedCard:
    """Return a card that nobody moved: where it lies or was misread; else at no place."""
    misread = any((told.hand, told.number) == place for place in missing)
    return told if misread or _lies(told, faces) else ReportedCard(face=told.face)


def fold_report_into_shoes(state: TableState, report: Report, *, between: bool) -> TableState:
    """Return the state after a report about a card: see `fold_card_report`."""
    shoe = shoe_of_report(state, report)
    if state.replaced and type(report) is ShoeBooted and not between:
        # The new shoe's device counts its own places, though the coup has cards already.
        return with_shoe(state, replace(shoe, restarted=True))
    entered = confirmed_entry(state, report)
    if entered is not None:
        return with_shoe(state, confirm_entry(shoe, entered, getattr(report, "face", None)))
    return with_shoe(state, fold_card_report(shoe, report, between=between))


def with_shoe(state: TableState, shoe: ShoeState) -> TableState:
    """Return the state with this shoe updated: the one on the table, or a replaced one."""
    if state.shoe is None or state.shoe.id == shoe.id:
        return replace(state, shoe=shoe)
    replaced = tuple(shoe if each.id == shoe.id else each for each in state.replaced)
    return replace(state, replaced=replaced)


def _current(state: TableState) -> ShoeState:
    if state.shoe is None:
        raise OurBug("a card was asked for before the first shoe")
    return state.shoe
