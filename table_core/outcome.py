"""What two hands amount to: totals, winner, natural."""

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from events.cards import Card, Hand, Winner, total
from events.errors import OurBug
from table_core.draw import NATURAL, due

__all__ = ["DealError", "Outcome", "deal", "judge"]

DealError = Literal["incomplete_coup", "excess_card"]
"""Why a row of cards is no coup: one was still due, or one came when none was."""

_TWO: Final = 2


class Outcome(Struct, frozen=True, kw_only=True):
    """The hands as they lie and what they are worth.

    Args:
        player: Player's cards in the order they came.
        banker: Banker's.
        player_total: Player's points.
        banker_total: Banker's points.
        winner: whose points are higher, as the cards lie.
        natural: one of the hands is 8 or 9 on two cards, which ended the deal.
        complete: by the draw table nothing more is due and nothing came undue. Without it only
            wagers on the initial deal may be settled (11A.6).
    """

    player: tuple[Card, ...]
    banker: tuple[Card, ...]
    player_total: int
    banker_total: int
    winner: Winner
    natural: bool
    complete: bool


def judge(player: Sequence[Card], banker: Sequence[Card]) -> Outcome:
    """The outcome of a deal, or of its first four cards.

    Raises:
        OurBug: a hand has fewer than two cards; there is nothing to judge yet.
    """
    if len(player) < _TWO or len(banker) < _TWO:
        raise OurBug(f"judged {len(player)} and {len(banker)} cards; a hand has at least two")
    hand, rules = due(player, banker)
    drawn = [rule.hand for rule in rules if rule.draws]
    player_total, banker_total = total(player), total(banker)
    return Outcome(
        player=tuple(player),
        banker=tuple(banker),
        player_total=player_total,
        banker_total=banker_total,
        winner=_winner(player_total, banker_total),
        natural=any(total(cards[:_TWO]) in NATURAL for cards in (player, banker)),
        complete=hand is None
        and (len(player), len(banker)) == (drawn.count(Hand.PLAYER), drawn.count(Hand.BANKER)),
    )


def deal(cards: Sequence[Card]) -> Outcome | DealError:
    """Give the cards, in dealing order, to the hands they are due to, and judge the coup.

    Returns:
        The outcome, or the code of what is wrong with the row of cards.
    """
    hands: dict[Hand, list[Card]] = {Hand.PLAYER: [], Hand.BANKER: []}
    for card in cards:
        hand, _ = due(hands[Hand.PLAYER], hands[Hand.BANKER])
        if hand is None:
            return "excess_card"
        hands[hand].append(card)
    if due(hands[Hand.PLAYER], hands[Hand.BANKER])[0] is not None:
        return "incomplete_coup"
    return judge(hands[Hand.PLAYER], hands[Hand.BANKER])


def _winner(player_total: int, banker_total: int) -> Winner:
    if player_total == banker_total:
        return Winner.TIE
    return Winner.PLAYER if player_total > banker_total else Winner.BANKER
