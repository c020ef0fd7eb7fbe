"""Judges the order of a shoe against shoes of other tables, for the property's archive."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from events.cards import Card
from table_core.decide.shoe_doubts import order_text
from table_core.shuffle.examination import examine_elsewhere
from table_core.shuffle.orders import order_of

__all__ = ["order_alarm"]

_REMEMBERED: Final = 4_096


def order_alarm(
    shoe: str, coups: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]]
) -> str | None:
    """Return what the order of a shoe has in common with one of another table, or None.

    Args:
        shoe: its name.
        coups: id and cards of each of its coups; cards are two letters each.
        others: name and cards of other shoes.
    """
    dealt = [(card, coup) for coup, cards in coups for card in _cards(cards)]
    order = order_of(card for card, _ in dealt)
    found = examine_elsewhere(order, [(name, _order(cards)) for name, cards in others])
    return None if found is None else order_text(shoe, found, dealt)


def _cards(text: str) -> list[Card]:
    return [Card(text[at : at + 2]) for at in range(0, len(text), 2)]


@lru_cache(_REMEMBERED)
def _order(text: str) -> str:
    return order_of(_cards(text))
