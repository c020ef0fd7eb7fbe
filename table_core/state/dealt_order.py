"""The cards of a shoe that its coups have shown the table, in dealing order. Pure.

A burned card, or one that was carried over and burned, is no part of it: the table has not seen it.
"""

from collections.abc import Iterator

from events.cards import Card
from table_core.state.table import TableState

__all__ = ["dealt_cards"]


def dealt_cards(state: TableState, shoe: str) -> Iterator[tuple[Card, str]]:
    """Yield each known card of the coups of a shoe on the table, with the coup's id."""
    coups = [*state.past, state.coup] if state.in_progress else state.past
    prefix = f"{shoe}/"
    for coup in coups:
        if coup is not None and coup.id.startswith(prefix):
            for dealt in coup.cards:
                if dealt.card is not None:
                    yield dealt.card, coup.id
