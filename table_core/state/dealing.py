"""The draw table applied to a coup: where the next card belongs, and whether the deal is complete.

While every face is known, the draw table says which card is due. In deferred disclosure (squeeze)
the shoe's positions place the faceless cards, among the places that the faces known so far leave,
and the coup is judged when all are disclosed.
"""

from typing import Final

from msgspec import Struct

from events.cards import Card, Hand
from events.types import DealCompleted
from table_core.rules.draw import Outcome, cards_due, hand_due, hands_possibly_due, judge_hands
from table_core.state.table import Coup

__all__ = [
    "FIRST_PLACE",
    "INITIAL_CARDS",
    "CardPlace",
    "due_places",
    "judge_deal",
    "outcome_of",
]


class CardPlace(Struct, frozen=True, gc=False):
    """A card's place in the coup, with the rule that makes a card due there.

    Args:
        hand: whose card.
        number: 1, 2 or 3 within the hand.
        rule: None while faces are withheld and the rule cannot be judged yet.
    """

    hand: Hand
    number: int
    rule: str | None = None

    def __str__(self) -> str:
        return f"{self.hand.value} {self.number}"


# Until Python 3.12 to look a member up in its class costs as much as a call.
_PLAYER: Final = Hand.PLAYER
_INITIAL: Final = tuple(
    CardPlace(hand, number, "initial") for number in (1, 2) for hand in (Hand.PLAYER, Hand.BANKER)
)
FIRST_PLACE: Final = _INITIAL[0]
INITIAL_CARDS: Final = len(_INITIAL)
"""The number of cards that every deal has: two a hand."""
_NEXT: Final = tuple((place,) for place in _INITIAL)
_THIRD: Final = 3


def due_places(coup: Coup) -> tuple[CardPlace, ...]:
    """Return the places where the next card may come; none when the deal is complete."""
    came = len(coup.cards)  # the first four come in one order, whatever they are
    if came < INITIAL_CARDS:
        return _NEXT[came]
    faces = _faces(coup)
    if faces is None:
        hands = {hand: [dealt.card for dealt in coup.hand(hand)] for hand in Hand}
        due = hands_possibly_due(hands[Hand.PLAYER], hands[Hand.BANKER])
        return tuple(CardPlace(hand, _THIRD) for hand in due)
    hand, rules = hand_due(*faces)
    if hand is None:
        return ()
    number = len(faces[hand is Hand.BANKER]) + 1
    return (CardPlace(hand, number, rules[-1].rule),)


def judge_deal(coup: Coup) -> DealCompleted | str | None:
    """Return our own outcome, once every card due has come and is known; else None.

    Where a card contradicts the draw table, return what is wrong, for a person. This happens only
    where faces came late: with open faces, a card that is not due is never placed.
    """
    faces = _faces(coup) if len(coup.cards) >= INITIAL_CARDS else None
    if faces is None:
        return None
    hand, rules = due = hand_due(*faces)
    if len(coup.cards) > INITIAL_CARDS:  # only a third card can be wrong
        came = zip(("player", "banker"), faces, cards_due(due), strict=True)
        wrong = [name for name, cards, most in came if len(cards) > most]
        if wrong:
            return f"{' and '.join(wrong)} drew a third card that was not due ({rules[-1].rule})"
    if hand is not None:
        return None
    outcome = judge_hands(*faces, due)
    return DealCompleted(
        coup=coup.id,
        player=outcome.player,
        banker=outcome.banker,
        player_total=outcome.player_total,
        banker_total=outcome.banker_total,
        natural=outcome.natural,
        winner=outcome.winner,
        rules=rules,
    )


def outcome_of(completed: DealCompleted) -> Outcome:
    """Return the outcome that `judge_deal` gave as an event."""
    return Outcome(
        player=completed.player,
        banker=completed.banker,
        player_total=completed.player_total,
        banker_total=completed.banker_total,
        winner=completed.winner,
        natural=completed.natural,
        complete=True,
    )


def _faces(coup: Coup) -> tuple[tuple[Card, ...], tuple[Card, ...]] | None:
    """Return both hands' faces, or None while any is withheld."""
    player: list[Card] = []
    banker: list[Card] = []
    for dealt in coup.cards:
        if dealt.card is None:
            return None
        (player if dealt.hand is _PLAYER else banker).append(dealt.card)
    return tuple(player), tuple(banker)
