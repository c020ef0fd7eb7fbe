"""Queries about the log's past over the bus: commands that append nothing.

The table answers them concurrently with play, from the log alone, in the answer's `shown`.
docs/reference/topics.md describes what each one shows.
"""

from typing import Literal

from msgspec import Struct

from events.cards import Card
from events.commands.base import Command

__all__ = [
    "CardInstead",
    "FindCoups",
    "ProveCoup",
    "Query",
    "ShowTable",
    "TellCoup",
    "WhatIfCard",
]


class Query(Command, frozen=True, kw_only=True):
    """The root of all queries about the past."""


class FindCoups(Query, frozen=True, kw_only=True):
    """Find the coups that fit every condition, the newest first.

    Args:
        shoe: of this shoe.
        number: with this number within its shoe.
        since: begun at this time or later, RFC 3339 in UTC.
        until: begun before this time, RFC 3339 in UTC.
        face: with this card in one of the hands.
        result: that ended so.
        seat: in which this seat had a wager.
        before: begun before this coup; None begins with the newest.
        limit: so many at the most, 1 to 50.
    """

    shoe: str | None = None
    number: int | None = None
    since: str | None = None
    until: str | None = None
    face: Card | None = None
    result: Literal["player", "banker", "tie", "void"] | None = None
    seat: int | None = None
    before: str | None = None
    limit: int = 20


class TellCoup(Query, frozen=True, kw_only=True):
    """Tell a coup that is over, step by step: people, bytes, rules and each wager's sums."""

    coup: str


class ShowTable(Query, frozen=True, kw_only=True):
    """Show the table's `state` at a position of the log."""

    position: int


class CardInstead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another face for the card that became known at a position of the log."""

    position: int
    face: Card


class WhatIfCard(Query, frozen=True, kw_only=True):
    """Compare a coup that is over with what it would have been with other cards."""

    coup: str
    changes: tuple[CardInstead, ...]


class ProveCoup(Query, frozen=True, kw_only=True):
    """Give the evidence for a coup, as the text of its file."""

    coup: str
