"""The state of the shoe on the table: counts, order, cut card, roads. Pure.

Every card that left the shoe is counted once, and its face once, however often the shoe reports it.
The shoe may disclose a face again, or disclose one that a person has entered. It may report an
overdrawn card up to three times (drawn outside the game, disclosed, carried over). So the state
keeps the cards of the round in progress by place, and another report of a place is about the same
card.

A shoe that is replaced in mid-coup keeps its own cards: `table_core.state.shoe_of_card` finds the
shoe that a card came from.

Audits the composition of a shoe that has ended. `table_core.shuffle` looks at its order.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card, Hand
from events.types import (
    BurnCard,
    BurnRecorded,
    CardCarriedOver,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    CardUnreadable,
    CutCardCame,
    CutPlace,
    FirstCard,
    Report,
    ShoeAudited,
    ShoeBooted,
)
from table_core.roads.columns import Roads
from table_core.rules.rulebook import Procedure
from table_core.state.coup import OVER, Phase

__all__ = [
    "BURN_ALARM",
    "CARD_REPORTS",
    "DAY_AND_NUMBER",
    "ORDERS_KEPT",
    "ReportedCard",
    "ShoeState",
    "add_by_hand",
    "audit_shoe",
    "burn_expected",
    "can_be_excess_card",
    "confirm_entry",
    "cut_card_event",
    "cut_place_of",
    "entered_card",
    "fold_card_report",
    "forget_entries",
    "has_reported_card",
    "has_reported_later_card",
    "has_reported_place",
    "move_last_card",
    "new_round",
    "place_excess_card",
    "reported_burn",
    "reported_face",
    "set_aside_last_card",
    "set_face",
    "times_seen",
]

ORDERS_KEPT: Final = 1000
"""The number of earlier shoes with whose orders a shoe is compared: those of some three months."""
_FACE: Final = 2  # letters of a face in the order
_BEGIN_A_ROUND: Final = frozenset({CardDrawn, CardUnreadable, CardCarriedOver})
_PLAYER: Final = Hand.PLAYER
_DRAWN_OUTSIDE: Final = "drawn_outside_game"  # each is a card of its own


class ReportedCard(Struct, frozen=True, gc=False):
    """A card of the round in progress, as the shoe reported it.

    Args:
        hand: its hand; None where the shoe does not report it.
        number: 1, 2 or 3 within the hand, or None.
        face: as counted in the order; None while it is not known.
        by_hand: a person entered it, and the shoe has not reported it yet.
    """

    hand: Hand | None = None
    number: int | None = None
    face: Card | None = None
    by_hand: bool = False


class ShoeState(Struct, frozen=True, gc=False, kw_only=True):
    """The shoe on the table.

    Args:
        id: `YYYYMMDD-NN`.
        decks: how many.
        coups: the number of coups that began from it, voids included.
        voids: the number of void coups among them.
        cards: the number of cards that have left it.
        order: the known faces, in the order in which they became known, two letters a card.
        told: the cards of the round in progress.
        begun: a round has begun with a card, and no coup has taken that card yet.
        restarted: the device lost power in the round, and counts its own places from there on.
        exposed: the first card.
        burned: the number of cards that the shoe has reported burned.
        burn_recorded: the burn is done, or a person has recorded it.
        carried: the number of overdrawn cards that were carried over.
        discarded: the number of overdrawn cards burned by the house's policy.
        extra: the overdrawn card that lies next to the table, if there is one.
        last_coup: the number of its last coup, once the cut card has come.
        ended: no more coups come from it.
        audited: its audit is on record.
        questioned: the kinds of doubt about its order that are on record, and their exponents.
        roads: of its coups.
    """

    id: str
    decks: int
    coups: int = 0
    voids: int = 0
    cards: int = 0
    order: str = ""
    told: tuple[ReportedCard, ...] = ()
    begun: bool = False
    restarted: bool = False
    exposed: Card | None = None
    burned: int = 0
    burn_recorded: bool = False
    carried: int = 0
    discarded: int = 0
    extra: ReportedCard | None = None
    last_coup: int | None = None
    ended: bool = False
    audited: bool = False
    questioned: tuple[tuple[str, int], ...] = ()
    roads: Roads = Roads()


def fold_card_report(shoe: ShoeState, report: Report, *, between: bool = False) -> ShoeState:
    """Return the shoe after a report about a card; other reports leave its cards alone.

    Args:
        shoe: before the report.
        report: from the shoe.
        between: no round is in progress, so a drawn card begins one.
    """
    kind = type(report)
    if between and kind in _BEGIN_A_ROUND:
        shoe = replace(shoe, told=(), begun=True, restarted=False)
    hearer = _REPORT_FOLDS.get(kind)
    if hearer is not None:
        return hearer(shoe, report)
    restarted = kind is ShoeBooted and shoe.told and not between
    return replace(shoe, restarted=True) if restarted else shoe


def new_round(shoe: ShoeState) -> ShoeState:
    """Forget the round's cards: later reports are about other cards."""
    return replace(shoe, told=(), begun=False, restarted=False)


def forget_entries(shoe: ShoeState) -> ShoeState:
    """Await no more reports of cards that were entered by hand."""
    told = tuple(replace(each, by_hand=False) if each.by_hand else each for each in shoe.told)
    return replace(shoe, told=told)


def times_seen(shoe: ShoeState, face: Card) -> int:
    """Return the number of copies of a face that are known to have left the shoe."""
    # No match can straddle two faces, because no letter is both a rank and a suit.
    return shoe.order.count(face.text)


def reported_face(shoe: ShoeState, hand: Hand, number: int) -> Card | None:
    """Return the face that is counted for a place of the round in progress."""
    known = _find(shoe, hand, number)
    return known.face if known else None


def has_reported_place(shoe: ShoeState, hand: Hand, number: int) -> bool:
    """Return whether the shoe has reported a card at this very place in the round in progress."""
    return _placed(shoe, hand, number) is not None


def has_reported_card(shoe: ShoeState, hand: Hand, number: int) -> bool:
    """Return whether the shoe has reported the card at a place, or one without place and face."""
    return _find(shoe, hand, number) is not None


def entered_card(shoe: ShoeState, hand: Hand | None, number: int | None) -> ReportedCard | None:
    """Return the card at a place that a person entered and the shoe may still report.

    Its reports come in dealing order: behind one of a later place, none of this card comes.
    """
    if hand is None or shoe.restarted:
        return None
    for known in shoe.told:
        if known.by_hand and known.hand is hand and known.number == number:
            break
    else:
        return None
    place = _dealing_order(hand, number)
    told = (each for each in shoe.told if each.hand and not each.by_hand)
    later = any(_dealing_order(each.hand, each.number) > place for each in told if each.hand)
    return None if later else known


def confirm_entry(shoe: ShoeState, entered: ReportedCard, face: Card | None) -> ShoeState:
    """Return the shoe that has reported a card which was entered by hand; its own face counts."""
    others = tuple(each for each in shoe.told if each is not entered)
    card = ReportedCard(entered.hand, entered.number, face or entered.face)
    if face in {None, entered.face}:
        return replace(shoe, told=(*others, card))
    order = _with(_without(shoe.order, entered.face), face)
    return replace(shoe, told=(*others, card), order=order)


def has_reported_later_card(shoe: ShoeState, hand: Hand, number: int) -> bool:
    """Return whether the shoe has reported a card that was dealt after this place."""
    place = _dealing_order(hand, number)
    return any(each.hand and _dealing_order(each.hand, each.number) > place for each in shoe.told)


def set_face(shoe: ShoeState, hand: Hand, number: int, face: Card | None) -> ShoeState:
    """Set the face of a card that was reported; None when its face is not trusted.

    A card that this shoe has not reported is not from this shoe, and changes nothing.
    """
    known = _find(shoe, hand, number)
    if known is None:
        return shoe
    placed = ReportedCard(hand, number, face, known.by_hand)
    told = tuple(placed if each is known else each for each in shoe.told)
    return replace(shoe, told=told, order=_with(_without(shoe.order, known.face), face))


def add_by_hand(shoe: ShoeState, hand: Hand, number: int, face: Card) -> ShoeState:
    """Add a card at a place that the shoe never reported; if it did, it is the same card."""
    return _add(shoe, hand, number, face, by_hand=True)


def _add(shoe: ShoeState, hand: Hand, number: int, face: Card, *, by_hand: bool) -> ShoeState:
    if _find(shoe, hand, number) is not None:
        return set_face(shoe, hand, number, face)
    alike = next((each for each in shoe.told if each.hand is None and each.face is face), None)
    told = tuple(each for each in shoe.told if each is not alike)
    if alike is None:
        shoe = _left(shoe, face)
    card = ReportedCard(hand, number, face, by_hand and alike is None)
    return replace(shoe, told=(*told, card))


def can_be_excess_card(shoe: ShoeState, face: Card) -> bool:
    """Return whether the overdrawn card can have this face, and no card without a place has it."""
    alike = any(each.hand is None and each.face is face for each in shoe.told)
    return shoe.extra is not None and shoe.extra.face in {None, face} and not alike


def place_excess_card(shoe: ShoeState, hand: Hand, number: int, face: Card) -> ShoeState:
    """Move the overdrawn card to a place."""
    shoe = _extra(shoe, face, again=True)
    return replace(shoe, told=(*shoe.told, ReportedCard(hand, number, face)), extra=None)


def move_last_card(shoe: ShoeState, hand: Hand, number: int) -> ShoeState:
    """Move the last reported card to this place, whatever the shoe reported."""
    last = shoe.told[-1] if shoe.told else ReportedCard()
    begins = hand is _PLAYER and number == 1
    if last.hand is hand and last.number == number and not begins:
        return shoe  # as in nearly all cases
    return _at_place(shoe, ReportedCard(hand, number, last.face), shoe.told[:-1])


def set_aside_last_card(shoe: ShoeState) -> ShoeState:
    """Make the last card drawn, which was not due, the overdrawn card: it belongs to no hand."""
    if shoe.extra is not None or not shoe.told:
        return shoe
    return replace(shoe, told=shoe.told[:-1], extra=ReportedCard(face=shoe.told[-1].face))


def _on_card_drawn(shoe: ShoeState, report: CardDrawn) -> ShoeState:
    face = report.face
    card = (
        ReportedCard(None, None, face)
        if shoe.restarted
        else ReportedCard(report.hand, report.number, face)
    )
    told, extra = _laid(shoe, card, shoe.told)
    order = _with(shoe.order, face)
    return replace(shoe, cards=shoe.cards + 1, order=order, told=told, extra=extra)


def _on_card_unreadable(shoe: ShoeState, report: CardUnreadable) -> ShoeState:
    return _at_place(_left(shoe, None), ReportedCard(report.hand, report.number))


def _on_card_revealed(shoe: ShoeState, report: CardRevealed) -> ShoeState:
    known = _find(shoe, report.hand, report.number)
    if known and known.face:
        return shoe
    return _add(shoe, report.hand, report.number, report.face, by_hand=False)


def _on_first_card(shoe: ShoeState, report: FirstCard) -> ShoeState:
    return replace(_left(shoe, report.face), exposed=report.face)


def _on_burn_card(shoe: ShoeState, report: BurnCard) -> ShoeState:
    return replace(_left(shoe, report.face), burned=shoe.burned + 1)


def _on_card_out_of_game(shoe: ShoeState, report: CardOutOfGame) -> ShoeState:
    return _extra(shoe, report.face, again=report.reason != _DRAWN_OUTSIDE)


def _on_card_carried_over(shoe: ShoeState, report: CardCarriedOver) -> ShoeState:
    shoe = _extra(shoe, report.face, again=True)
    card = ReportedCard(report.hand, report.number, shoe.extra.face if shoe.extra else None)
    return _at_place(replace(shoe, carried=shoe.carried + 1, extra=None), card)


def _at_place(
    shoe: ShoeState, card: ReportedCard, others: Sequence[ReportedCard] | None = None
) -> ShoeState:
    """Place a card in the round; Player's first card begins a round."""
    told, extra = _laid(shoe, card, shoe.told if others is None else others)
    return replace(shoe, told=told, extra=extra)


def _laid(
    shoe: ShoeState, card: ReportedCard, others: Sequence[ReportedCard]
) -> tuple[tuple[ReportedCard, ...], ReportedCard | None]:
    """Return the cards of the round with this one at its place, and the overdrawn card."""
    hand, number = card.hand, card.number
    if hand is _PLAYER and number == 1:
        return (card,), None
    if hand is not None:
        for at, each in enumerate(others):
            if each.hand is hand and each.number == number:
                others = (*others[:at], *others[at + 1 :])
                break
    return (*others, card), shoe.extra


def _left(shoe: ShoeState, face: Card | None) -> ShoeState:
    """Count one more card that has left the shoe."""
    return replace(shoe, cards=shoe.cards + 1, order=_with(shoe.order, face))


def _extra(shoe: ShoeState, face: Card | None, *, again: bool) -> ShoeState:
    """Set the overdrawn card; `again` where the report may be about the one that lies there."""
    known = shoe.extra
    if known is None or not again:
        return replace(_left(shoe, face), extra=ReportedCard(face=face))
    if known.face or face is None:
        return shoe
    return replace(shoe, order=_with(shoe.order, face), extra=ReportedCard(face=face))


def _find(shoe: ShoeState, hand: Hand, number: int) -> ReportedCard | None:
    """Return the card reported at a place, or else one without a place and without a face."""
    unplaced = next((each for each in shoe.told if each == ReportedCard()), None)
    return _placed(shoe, hand, number) or unplaced


def _placed(shoe: ShoeState, hand: Hand, number: int | None) -> ReportedCard | None:
    for each in shoe.told:
        if each.hand is hand and each.number == number:
            return each
    return None


def _dealing_order(hand: Hand, number: int | None) -> int:
    return 2 * (number or 0) + (hand is Hand.BANKER)


def _with(order: str, face: Card | None) -> str:
    return order + face.text if face else order


def _without(order: str, face: Card | None) -> str:
    """Return the order without the last copy of a face."""
    if face is None:
        return order
    at = order.rfind(face.text)
    return order if at < 0 else order[:at] + order[at + _FACE :]


_REPORT_FOLDS: Final[dict[type[Report], Callable[[ShoeState, Any], ShoeState]]] = {
    CardDrawn: _on_card_drawn,
    CardUnreadable: _on_card_unreadable,
    CardRevealed: _on_card_revealed,
    FirstCard: _on_first_card,
    BurnCard: _on_burn_card,
    CardOutOfGame: _on_card_out_of_game,
    CardCarriedOver: _on_card_carried_over,
}
CARD_REPORTS: Final = frozenset({*_REPORT_FOLDS, ShoeBooted})
"""The kinds of reports that can change a shoe's cards."""


_TEN: Final = 10
DAY_AND_NUMBER: Final = re.compile(r"[0-9]{8}-[0-9]{2}")
"""The id of a shoe or a float: the business day and a number."""

# Active from the first coup of a shoe without a reported burn, until a person records the burn.
BURN_ALARM: Final = "burn_missing"


def burn_expected(procedure: Procedure, exposed: Card | None) -> int | None:
    """Return the number of cards burned after the first one; None where it is not known."""
    rule, _, number = procedure.burn.partition(":")
    if rule == "none":
        return 0
    if rule == "fixed":
        return int(number)
    return None if exposed is None else exposed.points or _TEN


def reported_burn(shoe: ShoeState, procedure: Procedure) -> BurnRecorded:
    """Return the burn as the shoe has reported it."""
    return BurnRecorded(
        shoe=shoe.id,
        exposed=shoe.exposed,
        burned=shoe.burned,
        expected=burn_expected(procedure, shoe.exposed),
        by="shoe",
    )


def cut_place_of(phase: Phase) -> CutPlace:
    """Return where a cut card came out that the shoe reports in this phase."""
    if phase in OVER:
        return "between"
    return "first_card" if phase in {Phase.BETTING, Phase.CLOSED} else "mid_coup"


def cut_card_event(
    shoe: ShoeState, place: CutPlace, procedure: Procedure, *, by: str
) -> CutCardCame:
    """Return the event of a cut card at this place, with the last coup by the house's policy.

    In place of a coup's first card, that coup is the last under both policies. Otherwise the coup
    is finished, and one more is played or none. `between` means after the previous coup.
    """
    more = procedure.cut_card == "one_more" and place != "first_card"
    return CutCardCame(shoe=shoe.id, place=place, by=by, last_coup=max(1, shoe.coups + more))


def audit_shoe(shoe: ShoeState) -> ShoeAudited:
    """Return the audit of a shoe that has ended."""
    return ShoeAudited(
        shoe=shoe.id,
        decks=shoe.decks,
        seen=shoe.cards,
        known=len(shoe.order) // _FACE,
        burned=shoe.burned + (shoe.exposed is not None) + shoe.discarded,
        carried=shoe.carried,
        coups=shoe.coups,
        voids=shoe.voids,
        left={face: shoe.decks - times_seen(shoe, face) for face in Card},
    )
