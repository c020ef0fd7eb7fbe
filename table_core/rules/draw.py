"""The draw table as data: which hand draws its third card, and by which row.

Seeds 2 and 3 print the table in two notations; `DRAW_TABLE` is their common content, a row a line.
Exactly one row applies to each hand in each situation, so the order of rows has no meaning. Nobody
has an option: "the dealer calls every play in accordance with the tables of play" (seed 2).
"""

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Final, Literal

from msgspec import Struct

from events.cards import Card, Hand, Winner, total
from events.errors import OurBug
from events.types import DrawRule

__all__ = [
    "DRAW_TABLE",
    "INITIAL",
    "NATURAL",
    "DealError",
    "DrawRow",
    "Due",
    "Outcome",
    "cards_due",
    "deal_cards",
    "hand_due",
    "hands_possibly_due",
    "judge_hands",
]

_ANY: Final = frozenset(range(10))
NATURAL: Final = frozenset({8, 9})
"""The two-card totals that end the deal on either hand."""
_NO_NATURAL: Final = _ANY - NATURAL
_STOOD: Final = frozenset({None})


def _points(text: str) -> frozenset[int]:
    return frozenset(map(int, text))


class DrawRow(Struct, frozen=True):
    """One row of the draw table.

    Args:
        rule: what it decides, for whom, and its stable name.
        player: totals of Player's first two cards to which it applies.
        banker: totals of Banker's first two cards to which it applies.
        third: points of Player's third card to which it applies, None among them where Player
            stood; Player's own rows ignore it.
    """

    rule: DrawRule
    player: frozenset[int]
    banker: frozenset[int]
    third: frozenset[int | None]


def _row(
    hand: Hand,
    draws: bool,
    rule: str,
    player: frozenset[int] = _NO_NATURAL,
    banker: frozenset[int] = _NO_NATURAL,
    third: frozenset[int] | frozenset[None] = _STOOD,
) -> DrawRow:
    """Return a row; by default neither hand has a natural and Player stood."""
    return DrawRow(DrawRule(hand=hand, draws=draws, rule=rule), player, banker, frozenset(third))


_P, _B = Hand.PLAYER, Hand.BANKER
DRAW_TABLE: Final = (
    _row(_P, False, "natural", NATURAL, _ANY),
    _row(_P, False, "natural", _NO_NATURAL, NATURAL),
    _row(_P, True, "player_0_5_draws", _points("012345")),
    _row(_P, False, "player_6_7_stands", _points("67")),
    _row(_B, False, "natural", NATURAL, _ANY),
    _row(_B, False, "natural", _NO_NATURAL, NATURAL),
    _row(_B, True, "banker_player_stood_0_5_draws", banker=_points("012345")),
    _row(_B, False, "banker_player_stood_6_7_stands", banker=_points("67")),
    _row(_B, True, "banker_0_2_draws", banker=_points("012"), third=_ANY),
    _row(_B, True, "banker_3_draws_unless_8", banker=_points("3"), third=_points("012345679")),
    _row(_B, False, "banker_3_stands_on_8", banker=_points("3"), third=_points("8")),
    _row(_B, True, "banker_4_draws_on_2_7", banker=_points("4"), third=_points("234567")),
    _row(_B, False, "banker_4_stands_on_0_1_8_9", banker=_points("4"), third=_points("0189")),
    _row(_B, True, "banker_5_draws_on_4_7", banker=_points("5"), third=_points("4567")),
    _row(_B, False, "banker_5_stands_on_0_3_8_9", banker=_points("5"), third=_points("012389")),
    _row(_B, True, "banker_6_draws_on_6_7", banker=_points("6"), third=_points("67")),
    _row(_B, False, "banker_6_stands_on_0_5_8_9", banker=_points("6"), third=_points("01234589")),
    _row(_B, False, "banker_7_stands", banker=_points("7"), third=_ANY),
)
"""Every rule about a third card: the seeds' tables in full."""
INITIAL: Final = tuple(DrawRule(hand=hand, draws=True, rule="initial") for hand in (_P, _B, _P, _B))
"""The first four cards: "first card to the Player, second card to the Bank", twice (seed 3)."""
_INITIAL_DUE: Final = tuple(
    (rule.hand, INITIAL[:came]) for came, rule in enumerate(INITIAL, start=1)
)
_ROWS: Final = {hand: tuple(r for r in DRAW_TABLE if r.rule.hand is hand) for hand in Hand}
_TWO: Final = 2


Due = tuple[Hand | None, tuple[DrawRule, ...]]
"""The hand that the next card is due to, None where the deal is complete, and the rules applied."""


def hand_due(player: Sequence[Card], banker: Sequence[Card]) -> Due:
    """Return the hand that the next card is due to, and the rules applied so far.

    Only the first two cards of each hand and Player's third card count. The caller checks for cards
    that were not due (`judge_hands`).

    Args:
        player: Player's cards so far, in the order they came.
        banker: Banker's.

    Returns:
        The hand, or None when the deal is complete, and the rules applied so far. Where a hand is
        due the last rule is the one that makes the card due.
    """
    if len(player) < _TWO or len(banker) < _TWO:
        return _INITIAL_DUE[min(len(player), _TWO) + min(len(banker), _TWO)]
    totals = _of_two(player[0], player[1]), _of_two(banker[0], banker[1])
    rules = _players_rules(*totals)
    third: int | None = None
    if rules[-1].draws:
        if len(player) == _TWO:
            return _P, rules
        third = player[_TWO].points
    rules = _all_rules(*totals, third)
    if rules[-1].draws and len(banker) == _TWO:
        return _B, rules
    return None, rules


def hands_possibly_due(
    player: Sequence[Card | None], banker: Sequence[Card | None]
) -> tuple[Hand, ...]:
    """Return the hands that the next card may be due to, whatever the faces not known yet are.

    Faces that are known count: a natural on either hand ends the deal whatever the other hand is,
    and Player's third card says that neither hand has one.

    Args:
        player: Player's cards, at least two; None for a face that is not known.
        banker: Banker's.
    """
    came = len(player) - _TWO, len(banker) - _TWO
    third = _points_of(player[_TWO]) if came[0] else _STOOD
    return _possibly_due(_totals(player), _totals(banker), came, third)


@cache
def _possibly_due(
    player: frozenset[int],
    banker: frozenset[int],
    came: tuple[int, int],
    players_third: frozenset[int] | frozenset[None],
) -> tuple[Hand, ...]:
    """Return the hands due by some totals of two cards, some third card, and how many came."""
    due: set[Hand] = set()
    for mine, other in product(player, banker):
        draws = _players_rules(mine, other)[-1].draws
        if came == (0, 0) and draws:
            due.add(_P)
        elif came not in {(0, 0), (1, 0)} or draws is not bool(came[0]):
            continue
        elif any(_all_rules(mine, other, third)[-1].draws for third in players_third):
            due.add(_B)
    return tuple(hand for hand in (_P, _B) if hand in due)


def _totals(hand: Sequence[Card | None]) -> frozenset[int]:
    first, second = hand[:_TWO]
    return _ANY if first is None or second is None else frozenset({_of_two(first, second)})


def _points_of(card: Card | None) -> frozenset[int]:
    return _ANY if card is None else frozenset({card.points})


def _of_two(first: Card, second: Card) -> int:
    return (first.points + second.points) % 10


# Cached: the table has about a thousand situations, and each is searched once.
@cache
def _players_rules(player: int, banker: int) -> tuple[DrawRule, ...]:
    return (*INITIAL, _rule(_P, player, banker, None))


@cache
def _all_rules(player: int, banker: int, third: int | None) -> tuple[DrawRule, ...]:
    return (*_players_rules(player, banker), _rule(_B, player, banker, third))


def _rule(hand: Hand, player: int, banker: int, third: int | None) -> DrawRule:
    for row in _ROWS[hand]:
        if player in row.player and banker in row.banker and third in row.third:
            return row.rule
    raise OurBug(f"no draw rule for {hand.value}: Player {player}, Banker {banker}, third {third}")


DealError = Literal["incomplete_coup", "excess_card"]
"""Why a row of cards is no coup: a card was still due, or came when none was."""
_FOUR, _SIX = 4, 6


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


def judge_hands(player: Sequence[Card], banker: Sequence[Card], due: Due | None = None) -> Outcome:
    """Return the outcome of a deal, or of its first four cards.

    Args:
        player: Player's cards in the order they came.
        banker: Banker's.
        due: what `hand_due` returns for them, where the caller has asked it.

    Raises:
        OurBug: a hand has fewer than two cards; there is nothing to judge yet.
    """
    if len(player) < _TWO or len(banker) < _TWO:
        raise OurBug(f"judged {len(player)} and {len(banker)} cards; a hand has at least two")
    hand, rules = due = due or hand_due(player, banker)
    complete = hand is None and cards_due(due) == (len(player), len(banker))
    player_total, banker_total = total(player), total(banker)
    return Outcome(
        player=tuple(player),
        banker=tuple(banker),
        player_total=player_total,
        banker_total=banker_total,
        winner=_winner(player_total, banker_total),
        natural=_is_natural(rules),
        complete=complete,
    )


def cards_due(due: Due) -> tuple[int, int]:
    """Return how many cards of a deal that has four are Player's and Banker's by the draw table.

    Args:
        due: what `hand_due` returns for it. The card that it names has not come.
    """
    hand, rules = due
    players_third = hand is not _P and rules[_FOUR].draws
    bankers_third = hand is None and rules[-1].draws
    return _TWO + players_third, _TWO + bankers_third


def deal_cards(cards: Sequence[Card]) -> Outcome | DealError:
    """Deal the cards, in dealing order, to the hands they are due to, and judge the coup.

    Returns:
        The outcome, or the code of the error in the row of cards.
    """
    if not _FOUR <= len(cards) <= _SIX:
        return "incomplete_coup" if len(cards) < _FOUR else "excess_card"
    # The first four alternate between the hands: `table_core.rules.draw.INITIAL`.
    first, second, third, fourth, *more = cards
    two = first.points + third.points, second.points + fourth.points
    deal = _deal_of(*two, *[card.points for card in more]) if more else _deal_of(*two)
    if not isinstance(deal, _Deal):
        return deal
    return Outcome(
        player=(first, third, more[0]) if deal.player_draws else (first, third),
        banker=(second, fourth, more[-1]) if deal.banker_draws else (second, fourth),
        player_total=deal.player_total,
        banker_total=deal.banker_total,
        winner=deal.winner,
        natural=deal.natural,
        complete=True,
    )


class _Deal(Struct, frozen=True, gc=False):
    """What all deals with the same points come to."""

    player_draws: bool
    banker_draws: bool
    player_total: int
    banker_total: int
    winner: Winner
    natural: bool


# Cached: 361 pairs of sums with up to 110 ways to go on, most of which are no coup.
@cache
def _deal_of(player: int, banker: int, *more: int) -> _Deal | DealError:
    """Return the deal of two sums of two cards each, and the points of the cards after them."""
    player, banker = player % 10, banker % 10
    rules = _players_rules(player, banker)
    player_draws = rules[-1].draws
    third = more[0] if player_draws and more else None
    if player_draws and third is None:
        return "incomplete_coup"
    banker_draws = _all_rules(player, banker, third)[-1].draws
    due = player_draws + banker_draws
    if len(more) != due:
        return "incomplete_coup" if len(more) < due else "excess_card"
    player_total = (player + (third or 0)) % 10
    banker_total = (banker + (more[-1] if banker_draws else 0)) % 10
    winner = _winner(player_total, banker_total)
    natural = _is_natural(rules)
    return _Deal(player_draws, banker_draws, player_total, banker_total, winner, natural)


def _winner(player_total: int, banker_total: int) -> Winner:
    if player_total == banker_total:
        return Winner.TIE
    return Winner.PLAYER if player_total > banker_total else Winner.BANKER


def _is_natural(rules: Sequence[DrawRule]) -> bool:
    return rules[_FOUR].rule == "natural"  # the first rule after the initial deal's
