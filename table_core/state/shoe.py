"""What the table knows of the shoe on it: counts, order, cut card, roads. Pure.

Every card that left the shoe is counted once, and its face once, however often it is told of: a
face may be disclosed again, or entered by hand and then disclosed; an overdrawn card is told of up
to three times (drawn outside the game, disclosed, carried over). So the shoe remembers the cards of
the round in progress by their places, and what is told of a place again is the same card.

A shoe that is replaced in mid-coup keeps its own cards: `table_core.state.shoe_of_card` finds whose
a card is.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card, Hand
from events.types.shoe_reports import (
    BurnCard,
    CardCarriedOver,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    CardUnreadable,
    FirstCard,
    Report,
    ShoeBooted,
)
from table_core.roads.columns import Roads

__all__ = [
    "OF_CARDS",
    "ORDERS_KEPT",
    "ShoeView",
    "Told",
    "add_by_hand",
    "can_be_aside",
    "face_told",
    "has_placed",
    "has_told",
    "has_told_behind",
    "hear_card",
    "new_round",
    "place_aside",
    "place_last",
    "put_aside",
    "set_face",
    "times_seen",
]

# So many earlier shoes are held against a new one at its end.
ORDERS_KEPT: Final = 12

_FACE: Final = 2  # letters of a face in the order
_BEGIN_A_ROUND: Final = frozenset({CardDrawn, CardUnreadable, CardCarriedOver})
_PLAYER: Final = Hand.PLAYER
_DRAWN_OUTSIDE: Final = "drawn_outside_game"  # each is a card of its own


class Told(Struct, frozen=True, gc=False):
    """A card of the round in progress.

    Args:
        hand: whose; None where the shoe does not say.
        number: 1, 2 or 3 within the hand, or None.
        face: as it is counted in the order; None while it is not known.
    """

    hand: Hand | None = None
    number: int | None = None
    face: Card | None = None


class ShoeView(Struct, frozen=True, gc=False, kw_only=True):
    """The shoe on the table.

    Args:
        id: `YYYYMMDD-NN`.
        decks: how many.
        coups: how many coups have begun from it, voids included.
        voids: of these, void.
        cards: how many cards have left it.
        order: the faces that are known, as they became known, two letters a card.
        told: the cards of the round in progress.
        begun: a round has begun with a card, and no coup has taken it for its own yet.
        restarted: the device has lost its power in the round: its places are its own from there.
        exposed: the first card.
        burned: how many cards the shoe has reported burned.
        burn_recorded: the burn is done, or a person has said what became of it.
        carried: how many overdrawn cards were carried over.
        discarded: how many overdrawn cards were burned by the house's policy.
        extra: the overdrawn card that lies beside the table, if one does.
        last_coup: the number of its last coup, once the cut card has come.
        ended: no more coups come from it.
        audited: its audit is on record.
        roads: of its coups.
    """

    id: str
    decks: int
    coups: int = 0
    voids: int = 0
    cards: int = 0
    order: str = ""
    told: tuple[Told, ...] = ()
    begun: bool = False
    restarted: bool = False
    exposed: Card | None = None
    burned: int = 0
    burn_recorded: bool = False
    carried: int = 0
    discarded: int = 0
    extra: Told | None = None
    last_coup: int | None = None
    ended: bool = False
    audited: bool = False
    roads: Roads = Roads()


def hear_card(shoe: ShoeView, report: Report, *, between: bool = False) -> ShoeView:
    """The shoe after a report, as far as it tells of cards.

    Args:
        shoe: before it.
        report: what the shoe says.
        between: no round is in progress, so that a card that is drawn begins one.
    """
    kind = type(report)
    if between and kind in _BEGIN_A_ROUND:
        shoe = replace(shoe, told=(), begun=True, restarted=False)
    hearer = _HEARERS.get(kind)
    if hearer is not None:
        return hearer(shoe, report)
    restarted = kind is ShoeBooted and shoe.told and not between
    return replace(shoe, restarted=True) if restarted else shoe


def new_round(shoe: ShoeView) -> ShoeView:
    """What is told from here on is told of other cards."""
    return replace(shoe, told=(), begun=False, restarted=False)


def times_seen(shoe: ShoeView, face: Card) -> int:
    """How many copies of a face are known to have left the shoe."""
    # Between two faces none can be found: no letter is a rank's and a suit's.
    return shoe.order.count(face.text)


def face_told(shoe: ShoeView, hand: Hand, number: int) -> Card | None:
    """The face that is counted for a place of the round in progress."""
    known = _find(shoe, hand, number)
    return known.face if known else None


def has_placed(shoe: ShoeView, hand: Hand, number: int) -> bool:
    """Whether the shoe has told of a card at this very place in the round in progress."""
    return _placed(shoe, hand, number) is not None


def has_told(shoe: ShoeView, hand: Hand, number: int) -> bool:
    """Whether the shoe has told of the card at a place, or of one without place and face."""
    return _find(shoe, hand, number) is not None


def has_told_behind(shoe: ShoeView, hand: Hand, number: int) -> bool:
    """Whether the shoe has told of a card that was dealt behind this place."""
    place = _dealing_order(hand, number)
    return any(each.hand and _dealing_order(each.hand, each.number) > place for each in shoe.told)


def set_face(shoe: ShoeView, hand: Hand, number: int, face: Card | None) -> ShoeView:
    """What is now known of a card that was told of; None when its face is not trusted.

    A card that this shoe has not told of is no card of this one.
    """
    known = _find(shoe, hand, number)
    if known is None:
        return shoe
    told = tuple(Told(hand, number, face) if each is known else each for each in shoe.told)
    return replace(shoe, told=told, order=_with(_without(shoe.order, known.face), face))


def add_by_hand(shoe: ShoeView, hand: Hand, number: int, face: Card) -> ShoeView:
    """A card at a place of which the shoe never told; where it did after all, the same card."""
    if _find(shoe, hand, number) is not None:
        return set_face(shoe, hand, number, face)
    alike = next((each for each in shoe.told if each.hand is None and each.face is face), None)
    told = tuple(each for each in shoe.told if each is not alike)
    if alike is None:
        shoe = _left(shoe, face)
    return replace(shoe, told=(*told, Told(hand, number, face)))


def can_be_aside(shoe: ShoeView, face: Card) -> bool:
    """Whether the overdrawn card can have this face, and no card without a place has it."""
    alike = any(each.hand is None and each.face is face for each in shoe.told)
    return shoe.extra is not None and shoe.extra.face in {None, face} and not alike


def place_aside(shoe: ShoeView, hand: Hand, number: int, face: Card) -> ShoeView:
    """The overdrawn card lies at a place after all."""
    shoe = _extra(shoe, face, again=True)
    return replace(shoe, told=(*shoe.told, Told(hand, number, face)), extra=None)


def place_last(shoe: ShoeView, hand: Hand, number: int) -> ShoeView:
    """The last card told of lies at this place, whatever the shoe said."""
    *others, last = shoe.told or (Told(),)
    begins = hand is _PLAYER and number == 1
    if not begins and _placed(shoe, hand, number) is last:
        return shoe  # as it mostly is
    return _at_place(shoe, Told(hand, number, last.face), others)


def put_aside(shoe: ShoeView) -> ShoeView:
    """The last card drawn was not due: it is the overdrawn card, and no hand's."""
    if shoe.extra is not None or not shoe.told:
        return shoe
    return replace(shoe, told=shoe.told[:-1], extra=Told(face=shoe.told[-1].face))


def _on_card_drawn(shoe: ShoeView, report: CardDrawn) -> ShoeView:
    face = report.face
    card = Told(None, None, face) if shoe.restarted else Told(report.hand, report.number, face)
    told, extra = _laid(shoe, card, shoe.told)
    order = _with(shoe.order, face)
    return replace(shoe, cards=shoe.cards + 1, order=order, told=told, extra=extra)


def _on_card_unreadable(shoe: ShoeView, report: CardUnreadable) -> ShoeView:
    return _at_place(_left(shoe, None), Told(report.hand, report.number))


def _on_card_revealed(shoe: ShoeView, report: CardRevealed) -> ShoeView:
    known = _find(shoe, report.hand, report.number)
    if known and known.face:
        return shoe
    return add_by_hand(shoe, report.hand, report.number, report.face)


def _on_first_card(shoe: ShoeView, report: FirstCard) -> ShoeView:
    return replace(_left(shoe, report.face), exposed=report.face)


def _on_burn_card(shoe: ShoeView, report: BurnCard) -> ShoeView:
    return replace(_left(shoe, report.face), burned=shoe.burned + 1)


def _on_card_out_of_game(shoe: ShoeView, report: CardOutOfGame) -> ShoeView:
    return _extra(shoe, report.face, again=report.reason != _DRAWN_OUTSIDE)


def _on_card_carried_over(shoe: ShoeView, report: CardCarriedOver) -> ShoeView:
    shoe = _extra(shoe, report.face, again=True)
    card = Told(report.hand, report.number, shoe.extra.face if shoe.extra else None)
    return _at_place(replace(shoe, carried=shoe.carried + 1, extra=None), card)


def _at_place(shoe: ShoeView, card: Told, others: Sequence[Told] | None = None) -> ShoeView:
    """The cards of the round with this one; Player's first begins a round."""
    told, extra = _laid(shoe, card, shoe.told if others is None else others)
    return replace(shoe, told=told, extra=extra)


def _laid(
    shoe: ShoeView, card: Told, others: Sequence[Told]
) -> tuple[tuple[Told, ...], Told | None]:
    """The cards of the round when this one has come to its place, and the overdrawn card."""
    hand, number = card.hand, card.number
    if hand is _PLAYER and number == 1:
        return (card,), None
    if hand is not None:
        for at, each in enumerate(others):
            if each.hand is hand and each.number == number:
                others = (*others[:at], *others[at + 1 :])
                break
    return (*others, card), shoe.extra


def _left(shoe: ShoeView, face: Card | None) -> ShoeView:
    """One card more has left the shoe."""
    return replace(shoe, cards=shoe.cards + 1, order=_with(shoe.order, face))


def _extra(shoe: ShoeView, face: Card | None, *, again: bool) -> ShoeView:
    """An overdrawn card, `again` where this may tell once more of the one that lies there."""
    known = shoe.extra
    if known is None or not again:
        return replace(_left(shoe, face), extra=Told(face=face))
    if known.face or face is None:
        return shoe
    return replace(shoe, order=_with(shoe.order, face), extra=Told(face=face))


def _find(shoe: ShoeView, hand: Hand, number: int) -> Told | None:
    """The card at a place: told of there, or else one without a place and without a face."""
    unplaced = next((each for each in shoe.told if each == Told()), None)
    return _placed(shoe, hand, number) or unplaced


def _placed(shoe: ShoeView, hand: Hand, number: int | None) -> Told | None:
    for each in shoe.told:
        if each.hand is hand and each.number == number:
            return each
    return None


def _dealing_order(hand: Hand, number: int | None) -> int:
    return 2 * (number or 0) + (hand is Hand.BANKER)


def _with(order: str, face: Card | None) -> str:
    return order + face.text if face else order


def _without(order: str, face: Card | None) -> str:
    """The order without the last copy of a face."""
    if face is None:
        return order
    at = order.rfind(face.text)
    return order if at < 0 else order[:at] + order[at + _FACE :]


_HEARERS: Final[dict[type[Report], Callable[[ShoeView, Any], ShoeView]]] = {
    CardDrawn: _on_card_drawn,
    CardUnreadable: _on_card_unreadable,
    CardRevealed: _on_card_revealed,
    FirstCard: _on_first_card,
    BurnCard: _on_burn_card,
    CardOutOfGame: _on_card_out_of_game,
    CardCarriedOver: _on_card_carried_over,
}

OF_CARDS: Final = frozenset({*_HEARERS, ShoeBooted})
"""The reports that can change what is known of a shoe's cards."""
