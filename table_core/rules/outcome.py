"""The outcome of two hands: totals, winner, natural. Pure."""

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from events.cards import Card, Hand, Winner, total
from events.errors import OurBug
from events.types.table import DrawRule
from table_core.rules.draw import hand_due

__all__ = ["DealError", "Outcome", "deal_cards", "judge_hands"]

DealError = Literal["incomplete_coup", "excess_card"]
"""Why a row of cards is no coup: a card was still due, or came when none was."""

_TWO: Final = 2
_FOUR: Final = 4


class Outcome(Struct, frozen=True, gc=False, kw_only=True):
    """The cards of both hands and their result.

    Args:
        player: Player's cards in the order they came.
        banker: Banker's.
        player_total: Player's points.
        banker_total: Banker's points.
        winner: the hand with more points, as the cards lie.
        natural: one of the hands is 8 or 9 on two cards, which ended the deal.
        complete: by the draw table no card is due and none came that was not. Else only wagers
            on the initial deal may be settled (11A.6).
    """

    player: tuple[Card, ...]
    banker: tuple[Card, ...]
    player_total: int
    banker_total: int
    winner: Winner
    natural: bool
    complete: bool


def judge_hands(player: Sequence[Card], banker: Sequence[Card]) -> Outcome:
    """Return the outcome of a deal, or of its first four cards.

    Raises:
        OurBug: a hand has fewer than two cards; there is nothing to judge yet.
    """
    if len(player) < _TWO or len(banker) < _TWO:
        raise OurBug(f"judged {len(player)} and {len(banker)} cards; a hand has at least two")
    hand, rules = hand_due(player, banker)
    drawn = [rule.hand for rule in rules if rule.draws]
    as_due = (len(player), len(banker)) == (drawn.count(Hand.PLAYER), drawn.count(Hand.BANKER))
    return _outcome(player, banker, rules, complete=hand is None and as_due)


def _outcome(
    player: Sequence[Card], banker: Sequence[Card], rules: Sequence[DrawRule], *, complete: bool
) -> Outcome:
    player_total, banker_total = total(player), total(banker)
    return Outcome(
        player=tuple(player),
        banker=tuple(banker),
        player_total=player_total,
        banker_total=banker_total,
        winner=_winner(player_total, banker_total),
        natural=rules[_FOUR].rule == "natural",  # the first rule after the initial deal's
        complete=complete,
    )


def deal_cards(cards: Sequence[Card]) -> Outcome | DealError:
    """Deal the cards, in dealing order, to the hands they are due to, and judge the coup.

    Returns:
        The outcome, or the code of the error in the row of cards.
    """
    # The first four alternate between the hands: `table_core.rules.draw.INITIAL`.
    player, banker = list(cards[:_FOUR:_TWO]), list(cards[1:_FOUR:_TWO])
    hand, rules = hand_due(player, banker)
    for card in cards[_FOUR:]:
        if hand is None:
            return "excess_card"
        (player if hand is Hand.PLAYER else banker).append(card)
        hand, rules = hand_due(player, banker)
    if hand is not None:
        return "incomplete_coup"
    return _outcome(player, banker, rules, complete=True)


def _winner(player_total: int, banker_total: int) -> Winner:
    if player_total == banker_total:
        return Winner.TIE
    return Winner.PLAYER if player_total > banker_total else Winner.BANKER
