"""What the table knows of the shoe on it: counts, order, cut card, roads. Pure.

Every face that is known to have left the shoe is counted once, whatever became of the card: an
overdrawn card is told of up to three times (drawn outside the game, disclosed, carried over) and
stays one card.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card
from events.shoe import (
    BurnCard,
    CardCarriedOver,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    CardUnreadable,
    FirstCard,
    Report,
)
from table_core.roads import Roads

__all__ = ["ORDERS_KEPT", "ShoeView", "hear_card", "times_seen"]

# So many earlier shoes are held against a new one at its end.
ORDERS_KEPT: Final = 12

_LEAVES_THE_SHOE: Final = (CardDrawn, CardUnreadable, FirstCard, BurnCard)


class ShoeView(Struct, frozen=True, kw_only=True):
    """The shoe on the table.

    Args:
        id: `YYYYMMDD-NN`.
        decks: how many.
        coups: how many coups have begun from it, voids included.
        voids: of these, void.
        cards: how many cards have left it.
        order: the faces that are known, as they became known, two letters a card.
        exposed: the first card.
        burned: how many cards the shoe has reported burned.
        burn_recorded: the burn is done, or a person has said what became of it.
        carried: how many overdrawn cards were carried over.
        extra: an overdrawn card lies beside the table: None, or whether its face is counted.
        last_coup: the number of its last coup, once the cut card has come.
        ended: no more coups come from it.
        roads: of its coups.
    """

    id: str
    decks: int
    coups: int = 0
    voids: int = 0
    cards: int = 0
    order: str = ""
    exposed: Card | None = None
    burned: int = 0
    burn_recorded: bool = False
    carried: int = 0
    extra: bool | None = None
    last_coup: int | None = None
    ended: bool = False
    roads: Roads = Roads()


def hear_card(shoe: ShoeView, report: Report) -> ShoeView:
    """The shoe after a report, as far as it tells of cards."""
    if isinstance(report, _LEAVES_THE_SHOE):
        face = None if isinstance(report, CardUnreadable) else report.face
        shoe = _with_face(replace(shoe, cards=shoe.cards + 1), face)
        if isinstance(report, FirstCard):
            return replace(shoe, exposed=report.face)
        return replace(shoe, burned=shoe.burned + isinstance(report, BurnCard))
    if isinstance(report, CardRevealed):
        return _with_face(shoe, report.face)
    if isinstance(report, CardOutOfGame):
        return _with_extra(shoe, report.face)
    if isinstance(report, CardCarriedOver):
        shoe = _with_extra(shoe, report.face)
        return replace(shoe, carried=shoe.carried + 1, extra=None)
    return shoe


def times_seen(shoe: ShoeView, face: Card) -> int:
    """How many copies of a face are known to have left the shoe."""
    text = face.value
    return sum(shoe.order[at : at + 2] == text for at in range(0, len(shoe.order), 2))


def _with_face(shoe: ShoeView, face: Card | None) -> ShoeView:
    return replace(shoe, order=shoe.order + face.value) if face else shoe


def _with_extra(shoe: ShoeView, face: Card | None) -> ShoeView:
    """An overdrawn card: it leaves the shoe once, and its face counts once."""
    if shoe.extra is None:
        shoe = replace(shoe, cards=shoe.cards + 1, extra=False)
    if face is None or shoe.extra:
        return shoe
    return replace(_with_face(shoe, face), extra=True)
