"""The cards of a shoe that its coups have shown the table, in dealing order. Pure.

A burned card, or one that was carried over and burned, is no part of it: the table has not seen it.
"""

from collections.abc import Iterator

from events.cards import Card
from table_core.state.table import Coup, TableState

__all__ = ["dealt_cards", "dealt_faces"]


def dealt_cards(state: TableState, shoe: str) -> Iterator[tuple[Card, str]]:
    """Yield each known card of the coups of a shoe on the table, with the coup's id."""
    for coup in _coups(state, shoe):
        for dealt in coup.cards:
            if dealt.card is not None:
                yield dealt.card, coup.id


def dealt_faces(state: TableState, shoe: str) -> list[Card]:
    """Return the cards that `dealt_cards` yields."""
    return list(filter(None, [dealt.card for coup in _coups(state, shoe) for dealt in coup.cards]))


def _coups(state: TableState, shoe: str) -> list[Coup]:
    coups = [*state.past, state.coup] if state.in_progress else state.past
    prefix = f"{shoe}/"
    return [coup for coup in coups if coup is not None and coup.id.startswith(prefix)]
