"""Which side wagers won in each coup, whether or not anybody had placed them. Pure."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from events.cards import Card
from events.types import DealCompleted
from table_core.rules.draw import Outcome, judge_hands
from table_core.rules.rulebook import Bet
from table_core.rules.wagers import BET_KINDS, Judge

__all__ = ["side_wins"]

_MAIN: Final = frozenset({"player", "banker", "tie"})
_JUDGES: Final = tuple(
    dict.fromkeys(judge for kind in BET_KINDS.values() for judge in kind.judges.values())
)
_KEPT_DEALS: Final = 4_096


def side_wins(
    deals: Iterable[Outcome | DealCompleted], bets: Mapping[str, Bet]
) -> tuple[tuple[str, ...], ...]:
    """Return for each deal the ids of the side wagers that won, of those that a rulebook offers.

    A wager won if the first of its categories that the schedule lists has odds; a push is no win.
    """
    by_judge: dict[Judge, list[Bet]] = {}
    for bet in bets.values():
        if bet.offered and bet.id not in _MAIN:
            by_judge.setdefault(bet.judge, []).append(bet)
    return tuple(
        [
            tuple(
                [
                    bet.id
                    for judge, categories in _found(deal.player, deal.banker)
                    for bet in by_judge.get(judge, ())
                    if _wins(bet, categories)
                ]
            )
            for deal in deals
        ]
    )


def _wins(bet: Bet, categories: tuple[str, ...]) -> bool:
    listed = next((each for each in categories if each in bet.schedule), None)
    return listed is not None and bet.schedule[listed] is not None


@lru_cache(_KEPT_DEALS)
def _found(
    player: tuple[Card, ...], banker: tuple[Card, ...]
) -> tuple[tuple[Judge, tuple[str, ...]], ...]:
    """Return the judges that name a category for a deal, with what they name."""
    outcome = judge_hands(player, banker)
    judged = ((judge, judge(outcome)) for judge in _JUDGES)
    return tuple((judge, categories) for judge, categories in judged if categories)
